// SPDX-License-Identifier: GPL-2.0
/* softmr show: queue pairs, regions and completion queues, as ss(8) shows sockets. */
#include "cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "objects.h"
#include "out.h"
#include "util.h"
#include "view.h"

static const char usage[] =
	"Usage: softmr show [qp] [mr] [cq] [OPTION...]\n"
	"\n"
	"Shows queue pairs, memory regions and completion queues of all links: what they have\n"
	"done so far, what they wait for, and whose they are.\n"
	"\n"
	"  -d, --details    all that is known of each, in a second line\n"
	"  -l, --link LINK  only of this link\n"
	"  -p, --pid PID    only of this process\n"
	"  -j, --json       print JSON; softmr(8) describes the keys\n"
	"  -h, --help       show this\n";

/**
 * struct options - the objects to show
 * @kinds: bits of enum object_kind; 0: all
 * @link: NULL: of all
 * @pid: 0: of all
 */
struct options {
	unsigned int kinds;
	const char *link;
	uint32_t pid;
	bool details;
	bool json;
};

static bool wanted(const struct options *opt, enum object_kind kind)
{
	return !opt->kinds || opt->kinds & 1u << kind;
}

static void print_kind(const struct options *opt, const struct view *view, enum object_kind kind)
{
	size_t i, n = 0;

	for (i = 0; i < view->now->nr; i++) {
		const struct object *object = &view->now->list[i];
		char *line, *details;

		if (!view_has(view, kind, object))
			continue;
		if (!n++) {
			line = view_head(view, kind);
			puts(line);
			free(line);
		}
		line = view_line(view, object);
		puts(line);
		free(line);
		details = opt->details ? view_details(object) : NULL;
		if (details)
			puts(details);
		free(details);
	}
}

static int print_json(const struct options *opt, const struct view *view)
{
	struct json_object *all = out_object();
	enum object_kind kind;
	size_t i;

	for (kind = 0; kind < OBJECT_KINDS; kind++) {
		struct json_object *list = out_array();

		for (i = 0; i < view->now->nr; i++)
			if (view_has(view, kind, &view->now->list[i]))
				json_object_array_add(list, view_json(view, &view->now->list[i]));
		if (wanted(opt, kind))
			out_add(all, object_kind_name(kind), list);
		else
			json_object_put(list);
	}
	return out_print(all) ? EXIT_PROBLEM : EXIT_OK;
}

static int show(const struct options *opt)
{
	struct objects now;
	struct view view = { .now = &now, .pid = opt->pid };
	enum object_kind kind;
	int ret;

	ret = objects_read(&now, opt->link);
	if (ret) {
		objects_complain(ret, opt->link);
		return EXIT_PROBLEM;
	}
	objects_add_reasons(&now);
	if (opt->json) {
		ret = print_json(opt, &view);
	} else {
		for (kind = 0; kind < OBJECT_KINDS; kind++)
			if (wanted(opt, kind))
				print_kind(opt, &view, kind);
		ret = fflush(stdout) ? EXIT_PROBLEM : EXIT_OK;
	}
	objects_free(&now);
	return ret;
}

static bool take_kind(struct options *opt, const char *word)
{
	enum object_kind kind;

	for (kind = 0; kind < OBJECT_KINDS; kind++) {
		if (strcmp(word, object_kind_name(kind)))
			continue;
		opt->kinds |= 1u << kind;
		return true;
	}
	return false;
}

int cmd_show(int argc, char **argv)
{
	static const struct option names[] = {
		{ "details", no_argument, NULL, 'd' },
		{ "link", required_argument, NULL, 'l' },
		{ "pid", required_argument, NULL, 'p' },
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	struct options opt = {};
	bool good = true;
	int c;

	opterr = 0;
	optind = 1;
	while (good && (c = getopt_long(argc, argv, "dl:p:jh", names, NULL)) != -1) {
		switch (c) {
		case 'd':
			opt.details = true;
			break;
		case 'l':
			opt.link = optarg;
			break;
		case 'p':
			good = parse_number(optarg, &opt.pid);
			break;
		case 'j':
			opt.json = true;
			break;
		case 'h':
			fputs(usage, stdout);
			return EXIT_OK;
		default:
			good = false;
		}
	}
	while (good && optind < argc)
		good = take_kind(&opt, argv[optind++]);
	if (good)
		return show(&opt);
	complain("show cannot make anything of '%s'; see: softmr show --help", argv[optind - 1]);
	return EXIT_USAGE;
}
