// SPDX-License-Identifier: GPL-2.0
/* softmr link: make, remove and list links. The commands for udev are in link_udev.c. */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "link.h"
#include "links.h"
#include "nldev.h"
#include "out.h"
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
	if (!*netdev || strpbrk(netdev, "/ \t\n") || !strcmp(netdev, ".") ||
	    !strcmp(netdev, ".."))
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
