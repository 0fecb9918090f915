// SPDX-License-Identifier: GPL-2.0
/*
 * softmr link: make, remove and list links, also persistent ones. The commands
 * for systemd and udev are in link_auto.c.
 */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <net/if.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conf.h"
#include "link.h"
#include "links.h"
#include "nldev.h"
#include "out.h"
#include "util.h"

static const char usage[] =
	"Usage: softmr link add NAME netdev NETDEV [--persistent]\n"
	"       softmr link del NAME [--persistent]\n"
	"       softmr link list [NAME] [--json]\n"
	"       softmr link up-configured {NETDEV | --all}\n"
	"       softmr link down-configured {NETDEV | --all}\n"
	"\n"
	"  add   make an RDMA device of a netdev; it loads the module if need be\n"
	"  del   remove it\n"
	"  list  show softmr's links, and the persistent ones that are not there now;\n"
	"        show is the same, and delete is del\n"
	"  up-configured, down-configured\n"
	"        make or remove the persistent links of a netdev, or all of them; this is\n"
	"        what softmr-link@.service calls\n"
	"\n"
	"  -p, --persistent  also now and whenever the netdev appears: add writes\n"
	"                    " CONF_DIR "/NETDEV, del removes it\n"
	"  -j, --json        print JSON; softmr(8) describes the keys\n"
	"  -h, --help        show this\n";

/**
 * struct link_args - the command line after "softmr link"
 * @words: the arguments that are not options; @nr_words of them
 * @persistent: --persistent
 * @json: --json
 * @all: --all
 */
struct link_args {
	char **words;
	int nr_words;
	bool persistent;
	bool json;
	bool all;
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

static int save(const char *name, const char *netdev, bool is_there)
{
	int ret = conf_write(netdev, name);

	if (ret) {
		complain("cannot write " CONF_DIR "/%s: %s", netdev, strerror(-ret));
		return EXIT_PROBLEM;
	}
	if (!is_there)
		printf("softmr: there is no netdev %s now; it gets the link %s when it appears\n",
		       netdev, name);
	return EXIT_OK;
}

/*
 * Does exactly this link exist? Then adding it persistently only has to save
 * it.
 */
static bool is_this_link(const char *name, const char *netdev)
{
	struct rdma_dev dev;
	struct nl_sock *sk;
	int ret;

	if (nldev_open(&sk))
		return false;
	ret = nldev_find(sk, name, &dev);
	nldev_close(sk);
	return !ret && nldev_is_softmr(&dev) && !strcmp(dev.netdev, netdev);
}

static int add(struct link_args *args)
{
	char **word = args->words, real[IF_NAMESIZE];
	const char *name, *netdev;
	unsigned int index;
	int ret;

	/* "type softmr" is accepted for people who are used to rdma(8) */
	if (args->nr_words == 5 && !strcmp(word[1], "type")) {
		if (strcmp(word[2], LINK_TYPE))
			return bad_usage("only links of type softmr are made here");
		word[2] = word[0];
		word += 2;
		args->nr_words -= 2;
	}
	if (args->nr_words != 3 || strcmp(word[1], "netdev"))
		return bad_usage("add needs: NAME netdev NETDEV");
	name = word[0];
	netdev = word[2];
	ret = check_name(name);
	if (!ret)
		ret = check_netdev(netdev);
	if (ret)
		return ret;
	/* when the netdev appears, an alternative name would not be found */
	index = if_nametoindex(netdev);
	if (index && if_indextoname(index, real))
		netdev = real;
	if (!args->persistent)
		return link_make(name, netdev);
	if (!conf_is_netdev(netdev))
		return bad_usage("no link of a netdev with such a name can be persistent, since " CONF_DIR
				 " takes its file for a backup");
	if (index && !is_this_link(name, netdev)) {
		ret = link_make(name, netdev);
		if (ret)
			return ret;
	}
	return save(name, netdev, index);
}

/* -- del */

/* Warn if the link will come back, which users do not expect after del. */
static void say_comes_back(const char *name)
{
	struct conf *confs;
	size_t n, i;

	if (conf_list(&confs, &n))
		return;
	for (i = 0; i < n; i++)
		if (confs[i].name && !strcmp(confs[i].name, name))
			printf("softmr: %s gets link %s again when it appears; to prevent that: softmr link del %s --persistent\n",
			       confs[i].netdev, name, name);
	conf_free(confs, n);
}

static int remove_confs(const char *name, bool *found)
{
	struct conf *confs;
	size_t n, i;
	int ret = conf_list(&confs, &n);

	if (ret) {
		complain("cannot read " CONF_DIR ": %s", strerror(-ret));
		return EXIT_PROBLEM;
	}
	for (i = 0; i < n; i++) {
		if (!confs[i].name || strcmp(confs[i].name, name))
			continue;
		*found = true;
		ret = conf_remove(confs[i].netdev);
		if (!ret)
			continue;
		complain("cannot remove " CONF_DIR "/%s: %s", confs[i].netdev,
			 strerror(-ret));
		ret = EXIT_PROBLEM;
		break;
	}
	conf_free(confs, n);
	return ret;
}

static int del(struct link_args *args)
{
	bool was_saved = false;
	int ret;

	if (args->nr_words != 1)
		return bad_usage("del needs: NAME");
	if (args->persistent) {
		ret = remove_confs(args->words[0], &was_saved);
		if (ret)
			return ret;
	}
	ret = link_remove(args->words[0], was_saved);
	if (!ret && !args->persistent)
		say_comes_back(args->words[0]);
	return ret;
}

/* -- list */

/**
 * struct row - a line of the list
 * @name: the link's name
 * @netdev: its netdev, or NULL
 * @state: its state; NULL: it does not exist
 * @mtu: path MTU, 0: unknown
 * @persistent: it is made whenever its netdev appears
 */
struct row {
	const char *name;
	const char *netdev;
	const char *state;
	unsigned int mtu;
	bool persistent;
};

static bool same(const char *a, const char *b)
{
	return a && b && !strcmp(a, b);
}

static size_t make_rows(struct row *rows, const struct link *links, size_t nr_links,
			const struct conf *confs, size_t nr_confs)
{
	size_t n = nr_links, i, k;

	for (i = 0; i < nr_links; i++)
		rows[i] = (struct row){
			.name = links[i].dev.name,
			.netdev = *links[i].dev.netdev ? links[i].dev.netdev : NULL,
			.state = link_state(&links[i].dev),
			.mtu = links[i].mtu,
		};
	for (k = 0; k < nr_confs; k++) {
		for (i = 0; i < nr_links; i++)
			if (same(rows[i].name, confs[k].name) &&
			    same(rows[i].netdev, confs[k].netdev))
				break;
		if (i == nr_links)
			i = n++;
		rows[i].name = confs[k].name;
		rows[i].netdev = confs[k].netdev;
		rows[i].persistent = true;
	}
	return n;
}

static int print_json(const struct row *rows, size_t n)
{
	struct json_object *list = out_array();
	size_t i;

	for (i = 0; i < n; i++) {
		struct json_object *obj = out_object();

		out_string(obj, "name", rows[i].name);
		out_string(obj, "netdev", rows[i].netdev);
		out_bool(obj, "present", rows[i].state);
		out_string(obj, "state", rows[i].state);
		if (rows[i].mtu)
			out_number(obj, "mtu", rows[i].mtu);
		else
			out_add(obj, "mtu", NULL);
		out_bool(obj, "persistent", rows[i].persistent);
		json_object_array_add(list, obj);
	}
	return out_print(list) ? EXIT_PROBLEM : EXIT_OK;
}

static int print_text(const struct row *rows, size_t n)
{
	size_t i;

	if (n)
		printf("%-15s %-15s %-8s %4s  %s\n", "LINK", "NETDEV", "STATE",
		       "MTU", "PERSISTENT");
	for (i = 0; i < n; i++) {
		printf("%-15s %-15s %-8s ", rows[i].name ? rows[i].name : "-",
		       rows[i].netdev ? rows[i].netdev : "-",
		       rows[i].state ? rows[i].state : "absent");
		if (rows[i].mtu)
			printf("%4u", rows[i].mtu);
		else
			printf("%4s", "-");
		printf("  %s\n", rows[i].persistent ? "yes" : "no");
	}
	return fflush(stdout) || ferror(stdout) ? EXIT_PROBLEM : EXIT_OK;
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

/* Keep the rows of one name. Returns how many remain. */
static size_t only_named(struct row *rows, size_t n, const char *name)
{
	size_t i, kept = 0;

	for (i = 0; i < n; i++)
		if (same(rows[i].name, name))
			rows[kept++] = rows[i];
	return kept;
}

static int list(struct link_args *args)
{
	const char *name = args->nr_words ? args->words[0] : NULL;
	struct conf *confs = NULL;
	struct rdma_dev *devs;
	struct link *links;
	size_t nr_devs, nr_confs, i, n;
	struct row *rows;
	int ret, unread;

	if (args->nr_words > 1)
		return bad_usage("list takes one NAME, or none");
	if (read_devs(&devs, &nr_devs))
		return EXIT_PROBLEM;
	unread = conf_list(&confs, &nr_confs);
	if (unread)
		complain("cannot read " CONF_DIR ": %s", strerror(-unread));
	links = zalloc((nr_devs + 1) * sizeof(*links));
	for (i = 0; i < nr_devs; i++)
		link_read(&links[i], &devs[i]);
	rows = zalloc((nr_devs + nr_confs + 1) * sizeof(*rows));
	n = make_rows(rows, links, nr_devs, confs, nr_confs);
	if (name) {
		n = only_named(rows, n, name);
		if (!n)
			complain("there is no link %s", name);
	}
	ret = args->json ? print_json(rows, n) : print_text(rows, n);
	if (unread || (name && !n))
		ret = EXIT_PROBLEM;
	for (i = 0; i < nr_devs; i++)
		link_free(&links[i]);
	free(rows);
	free(links);
	free(devs);
	conf_free(confs, nr_confs);
	return ret;
}

/* -- commands for systemd and udev */

static int up(struct link_args *args)
{
	if (args->all == (args->nr_words == 1) || args->nr_words > 1)
		return bad_usage("up-configured needs: NETDEV, or --all");
	return link_up_configured(args->all ? NULL : args->words[0]);
}

static int down(struct link_args *args)
{
	if (args->all == (args->nr_words == 1) || args->nr_words > 1)
		return bad_usage("down-configured needs: NETDEV, or --all");
	return link_down_configured(args->all ? NULL : args->words[0]);
}

static int udev_id(struct link_args *args)
{
	if (args->nr_words != 1)
		return bad_usage("udev-id needs: NAME");
	return link_udev_id(args->words[0]);
}

static int udev_name(struct link_args *args)
{
	if (args->nr_words != 2)
		return bad_usage("udev-name needs: INDEX NAME");
	return link_udev_name(args->words[0], args->words[1]);
}

static const struct {
	const char *name;
	int (*run)(struct link_args *args);
} verbs[] = {
	{ "add", add },
	{ "del", del },
	{ "delete", del },
	{ "list", list },
	{ "show", list },
	{ "up-configured", up },
	{ "down-configured", down },
	{ "udev-id", udev_id },
	{ "udev-name", udev_name },
};

static int parse(struct link_args *args, int argc, char **argv)
{
	static const struct option names[] = {
		{ "persistent", no_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "all", no_argument, NULL, 'a' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "pjah", names, NULL)) != -1) {
		switch (c) {
		case 'p':
			args->persistent = true;
			break;
		case 'j':
			args->json = true;
			break;
		case 'a':
			args->all = true;
			break;
		case 'h':
			fputs(usage, stdout);
			exit(EXIT_OK);
		default:
			return bad_usage("there is no such option");
		}
	}
	args->words = argv + optind;
	args->nr_words = argc - optind;
	return 0;
}

int cmd_link(int argc, char **argv)
{
	struct link_args args = {};
	const char *verb;
	size_t i;
	int ret;

	ret = parse(&args, argc, argv);
	if (ret)
		return ret;
	if (!args.nr_words)
		return list(&args);
	verb = *args.words++;
	args.nr_words--;
	for (i = 0; i < ARRAY_SIZE(verbs); i++)
		if (!strcmp(verb, verbs[i].name))
			return verbs[i].run(&args);
	return bad_usage("there are add, del, list, up-configured and down-configured");
}
