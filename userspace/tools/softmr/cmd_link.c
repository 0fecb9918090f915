// SPDX-License-Identifier: GPL-2.0
/* softmr link: make, remove and list links, and explain failures */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "links.h"
#include "nldev.h"
#include "out.h"
#include "udp_port.h"
#include "util.h"

static const char help[] =
	"add makes an RDMA device of a netdev, and loads the module if need be; del removes it; list shows softmr's "
	"links. delete and show are del and list.\v"
	"A link that is there whenever its netdev is, also after a reboot: systemctl enable --now softmr-link@NETDEV";

/* The command line after "softmr link" */
struct link_args {
	char *words[6];	/* the arguments that are not options; @nr_words of them */
	size_t nr_words;
	bool json;
};

static int bad_usage(const char *what)
{
	complain("link: %s; see: softmr link --help", what);
	return EXIT_USAGE;
}

#define FAILS	"cannot make link %s on %s: "

/* -- why it fails */

static void explain_exists(struct nl_sock *sk, const char *name, const char *netdev)
{
	struct rdma_dev *devs = NULL;
	size_t n = 0, i = 0;

	if (!nldev_list_softmr(sk, &devs, &n))
		while (i < n && strcmp(devs[i].netdev, netdev))
			i++;
	if (i < n)
		complain(FAILS "%s has the softmr link %s already; to remove it: softmr link del %s",
			 name, netdev, netdev, devs[i].name, devs[i].name);
	else
		complain(FAILS "the netdev has a softmr link, or the name is in use; see: rdma link",
			 name, netdev);
	free(devs);
}

static void explain_port(const char *name, const char *netdev)
{
	struct udp_port port;

	udp_port_read(&port);
	if (port.holder == HOLDER_PROCESS)
		complain(FAILS "process %d (%s) has UDP port %d, which RoCEv2 needs; end it first",
			 name, netdev, port.pid, port.command ? port.command : "?",
			 ROCE_PORT);
	else if (exists("/sys/module/rdma_rxe"))
		complain(FAILS "rdma_rxe has UDP port %d; remove its links, and: modprobe -r rdma_rxe",
			 name, netdev, ROCE_PORT);
	else
		complain(FAILS "another driver has UDP port %d, which RoCEv2 needs; see: softmr doctor",
			 name, netdev, ROCE_PORT);
	udp_port_free(&port);
}

static void explain(struct nl_sock *sk, const char *name, const char *netdev, int err)
{
	static const struct {
		int err;
		const char *why;
	} reasons[] = {
		{ EPERM, "only root may (CAP_NET_ADMIN in the first user namespace); use sudo" },
		{ ENODEV, "there is no netdev of that name here; see: ip link" },
		{ ENOTUNIQ, "an RDMA device has that name already; see: rdma dev" },
		{ ENETUNREACH, "the netdev is in a VRF, whose packets reach softmr only after: sysctl net.ipv4.udp_l3mdev_accept=1" },
		{ EMEDIUMTYPE, "the netdev carries neither Ethernet frames nor plain IP packets, so RoCEv2 cannot be spoken over it" },
		{ EBUSY, "the netdev is busy; try again" },
		{ ENOMEM, "the kernel has no memory for it" },
		{ EOPNOTSUPP, "the netdev is a VLAN; make the link on its lower netdev (the kernel log names it), which has the VLAN's addresses, too" },
		{ EPROTONOSUPPORT, "the kernel's RDMA core is not there (CONFIG_INFINIBAND); see: softmr doctor" },
	};
	size_t i;

	if (err == EEXIST)
		return explain_exists(sk, name, netdev);
	if (err == EADDRINUSE)
		return explain_port(name, netdev);
	for (i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].err == err)
			break;
	complain(FAILS "%s", name, netdev,
		 i < ARRAY_SIZE(reasons) ? reasons[i].why : strerror(err));
}

/*
 * The kernel loads the module by itself, and only returns EINVAL if that fails.
 * modprobe says why. Returns 0 if the module is loaded now.
 */
static int load_module(const char *name, const char *netdev)
{
	char *argv[] = { (char *)"modprobe", (char *)LINK_TYPE, NULL };
	struct ran ran;

	run(&ran, argv);
	if (ran.status == 127)
		complain(FAILS "the module is not loaded, and there is no modprobe; install the package kmod",
			 name, netdev);
	else if (ran.status)
		complain(FAILS "the module cannot be loaded (%s); see: softmr doctor",
			 name, netdev, ran_says(&ran));
	ran_free(&ran);
	return ran.status;
}

/* -- make and remove */

static int link_make(const char *name, const char *netdev)
{
	struct nl_sock *sk;
	int ret;

	ret = nldev_open(&sk);
	if (!ret) {
		ret = nldev_newlink(sk, name, netdev);
		if (ret == -EINVAL && !exists("/sys/module/" LINK_TYPE)) {
			if (load_module(name, netdev)) {
				nldev_close(sk);
				return EXIT_PROBLEM;
			}
			ret = nldev_newlink(sk, name, netdev);
		}
	}
	if (ret)
		explain(sk, name, netdev, -ret);
	nldev_close(sk);
	return ret ? EXIT_PROBLEM : EXIT_OK;
}

/* Print the existing links: the user may have meant one of them. */
static void explain_missing(struct nl_sock *sk, const char *name)
{
	struct rdma_dev *devs = NULL;
	char *names = copy("");
	size_t n = 0, i;

	if (!nldev_list_softmr(sk, &devs, &n))
		for (i = 0; i < n; i++) {
			char *longer = strf("%s%s%s", names, i ? ", " : "", devs[i].name);

			free(names);
			names = longer;
		}
	if (n)
		complain("there is no link %s; there are: %s", name, names);
	else
		complain("there is no link %s, nor any other of softmr", name);
	free(names);
	free(devs);
}

static int remove_one(struct nl_sock *sk, const char *name)
{
	struct rdma_dev dev;
	int ret = nldev_find(sk, name, &dev);

	if (ret == -ENODEV) {
		explain_missing(sk, name);
		return EXIT_PROBLEM;
	}
	if (!ret && !nldev_is_softmr(&dev)) {
		complain("%s is not a link of softmr; to remove it: rdma link del %s", name, name);
		return EXIT_PROBLEM;
	}
	if (!ret)
		ret = nldev_dellink(sk, dev.index);
	if (!ret)
		return EXIT_OK;
	complain("cannot remove link %s: %s%s", name, strerror(-ret),
		 ret == -EPERM ? "; only root may, use sudo" : "");
	return EXIT_PROBLEM;
}

static int link_remove(const char *name)
{
	struct nl_sock *sk;
	int ret = nldev_open(&sk);

	if (ret) {
		complain(ret == -EPROTONOSUPPORT ? "there is no link %s: the kernel's RDMA core is not loaded" :
						   "cannot remove link %s: %s", name, strerror(-ret));
		return EXIT_PROBLEM;
	}
	ret = remove_one(sk, name);
	nldev_close(sk);
	return ret;
}

/* -- for the udev rules */

static int link_udev_id(const char *name)
{
	struct rdma_dev dev;
	struct nl_sock *sk;
	int ret;

	ret = nldev_open(&sk);
	if (ret)
		return EXIT_PROBLEM;
	ret = nldev_find(sk, name, &dev);
	nldev_close(sk);
	if (ret || !nldev_is_softmr(&dev))
		return EXIT_PROBLEM;
	printf("SOFTMR_DEV_INDEX=%u\n", dev.index);
	return EXIT_OK;
}

static int restore(struct nl_sock *sk, unsigned int index, const char *name)
{
	struct rdma_dev *devs;
	size_t n, i;
	int ret = nldev_list_softmr(sk, &devs, &n);

	if (ret)
		return ret;
	/* it may have been removed meanwhile */
	for (i = 0; i < n; i++)
		if (devs[i].index == index && strcmp(devs[i].name, name))
			ret = nldev_rename(sk, index, name);
	free(devs);
	return ret;
}

static int link_udev_name(const char *index, const char *name)
{
	struct nl_sock *sk;
	char *end;
	unsigned long number = strtoul(index, &end, 10);
	int ret;

	if (end == index || *end) {
		complain("link: '%s' is not a device's index", index);
		return EXIT_USAGE;
	}
	ret = nldev_open(&sk);
	if (!ret)
		ret = restore(sk, (unsigned int)number, name);
	nldev_close(sk);
	if (!ret)
		return EXIT_OK;
	complain("cannot give link %s its name again: %s", name, strerror(-ret));
	return EXIT_PROBLEM;
}

/* -- add */

static int check_name(const char *name)
{
	if (!*name)
		return bad_usage("the link's name is empty");
	if (strlen(name) >= RDMA_NAME_SIZE)
		return bad_usage("the link's name is longer than 63 characters");
	if (strpbrk(name, "/% \t\n") || !strcmp(name, ".") || !strcmp(name, ".."))
		return bad_usage("the link's name must not have '/', '%' or blanks");
	return 0;
}

static int check_netdev(const char *netdev)
{
	if (!*netdev || strpbrk(netdev, "/ \t\n") || !strcmp(netdev, ".") || !strcmp(netdev, ".."))
		return bad_usage("that cannot be the name of a netdev");
	return 0;
}

static int add(struct link_args *args)
{
	char **word = args->words + 1;
	int ret;

	/* "type softmr" is accepted for people who are used to rdma(8) */
	if (args->nr_words == 6 && !strcmp(word[1], "type")) {
		if (strcmp(word[2], LINK_TYPE))
			return bad_usage("only links of type softmr are made here");
		word[2] = word[0];
		word += 2;
		args->nr_words -= 2;
	}
	if (args->nr_words != 4 || strcmp(word[1], "netdev"))
		return bad_usage("add needs: NAME netdev NETDEV");
	ret = check_name(word[0]);
	if (!ret)
		ret = check_netdev(word[2]);
	return ret ? ret : link_make(word[0], word[2]);
}

static int del(struct link_args *args)
{
	return args->nr_words == 2 ? link_remove(args->words[1]) : bad_usage("del needs: NAME");
}

/* -- list */

static struct json_object *link_json(const struct link *link)
{
	struct json_object *obj = out_object();

	out_string(obj, "name", link->dev.name);
	out_string(obj, "netdev", *link->dev.netdev ? link->dev.netdev : NULL);
	out_string(obj, "state", link_state(&link->dev));
	if (link->mtu)
		out_number(obj, "mtu", link->mtu);
	else
		out_add(obj, "mtu", NULL);
	return obj;
}

static void print_row(const struct link *link)
{
	char *mtu = link->mtu ? strf("%u", link->mtu) : copy("-");

	printf("%-15s %-15s %-8s %4s\n", link->dev.name, *link->dev.netdev ? link->dev.netdev : "-",
	       link_state(&link->dev), mtu);
	free(mtu);
}

/* Without RDMA there are no links, which is not an error. */
static int read_devs(struct rdma_dev **devs, size_t *n)
{
	struct nl_sock *sk;
	int ret = nldev_open(&sk);

	*devs = NULL;
	*n = 0;
	if (ret == -EPROTONOSUPPORT)
		return 0;
	if (!ret)
		ret = nldev_list_softmr(sk, devs, n);
	nldev_close(sk);
	if (ret)
		complain("cannot list RDMA devices: %s", strerror(-ret));
	return ret;
}

static int list(struct link_args *args)
{
	const char *name = args->nr_words > 1 ? args->words[1] : NULL;
	struct json_object *all;
	struct rdma_dev *devs;
	size_t nr_devs, i, shown = 0;
	struct link link;

	if (args->nr_words > 2)
		return bad_usage("list takes one NAME, or none");
	if (read_devs(&devs, &nr_devs))
		return EXIT_PROBLEM;
	all = out_array();
	for (i = 0; i < nr_devs; i++) {
		if (name && strcmp(name, devs[i].name))
			continue;
		link_read(&link, &devs[i]);
		if (!shown++ && !args->json)
			printf("%-15s %-15s %-8s %4s\n", "LINK", "NETDEV", "STATE", "MTU");
		if (args->json)
			json_object_array_add(all, link_json(&link));
		else
			print_row(&link);
		link_free(&link);
	}
	free(devs);
	if (name && !shown)
		complain("there is no link %s", name);
	if (!args->json)
		json_object_put(all);
	if (args->json ? out_print(all) : fflush(stdout) || ferror(stdout))
		return EXIT_PROBLEM;
	return name && !shown ? EXIT_PROBLEM : EXIT_OK;
}

/* -- the command line */

static int udev_id(struct link_args *args)
{
	return args->nr_words == 2 ? link_udev_id(args->words[1]) : bad_usage("udev-id needs: NAME");
}

static int udev_name(struct link_args *args)
{
	return args->nr_words == 3 ? link_udev_name(args->words[1], args->words[2]) :
				     bad_usage("udev-name needs: INDEX NAME");
}

static const struct {
	const char *name;
	int (*run)(struct link_args *args);
} verbs[] = {
	{ "add", add }, { "del", del }, { "delete", del }, { "list", list }, { "show", list },
	{ "udev-id", udev_id }, { "udev-name", udev_name },
};

static error_t take(int key, char *arg, struct argp_state *state)
{
	struct link_args *args = state->input;

	if (key == 'j') {
		args->json = true;
		return 0;
	}
	if (key != ARGP_KEY_ARG || args->nr_words == ARRAY_SIZE(args->words))
		return ARGP_ERR_UNKNOWN;
	args->words[args->nr_words++] = arg;
	return 0;
}

int cmd_link(int argc, char **argv)
{
	static const struct argp_option options[] = { OPTION_JSON, {} };
	struct link_args args = {};
	size_t i;

	cmd_parse("add NAME netdev NETDEV\ndel NAME\nlist [NAME]", help, options, take, argc, argv, &args);
	if (!args.nr_words)
		return list(&args);
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(args.words[0], verbs[i].name))
			return verbs[i].run(&args);
	return bad_usage("there are add, del and list");
}
