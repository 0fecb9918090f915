// SPDX-License-Identifier: GPL-2.0
/*
 * softmr: one tool with subcommands. A new one is a file with its run()
 * function and a line in the table below.
 */
#include "cmd.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "util.h"

static const struct command commands[] = {
	{ "status", "[--json]",
	  "show module, provider, libibverbs and links", cmd_status },
	{ "doctor", "[--json]",
	  "look for what keeps softmr from working, and say what to do", cmd_doctor },
	{ "link", "add|del|list ...",
	  "make, remove and list links, also those that outlive a reboot", cmd_link },
	{ "mr", "[OPTION...] DEVICE",
	  "show which memory windows keep a region (softmr-mr)", cmd_mr },
	{ "run", "[OPTION...] COMMAND",
	  "run a program in a guest that has a link (softmr-run)", cmd_run },
};

static void usage(FILE *to)
{
	size_t i;

	fputs("Usage: softmr COMMAND [ARGUMENT...]\n\n", to);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-6s %-19s  %s\n", commands[i].name,
			commands[i].args, commands[i].summary);
	fputs("\n"
	      "  -h, --help     show this; softmr COMMAND --help says more\n"
	      "  -V, --version  show the version\n"
	      "\n"
	      "Exits with 0 if all is well, 1 if not, 2 if the command line is wrong.\n",
	      to);
}

int parse_json_option(int argc, char **argv, const char *text, int *json,
		      int *status)
{
	static const struct option names[] = {
		{ "json", no_argument, NULL, 'j' },
		{ "help", no_argument, NULL, 'h' },
		{},
	};
	int c;

	opterr = 0;
	optind = 1;
	while ((c = getopt_long(argc, argv, "jh", names, NULL)) != -1) {
		if (c == 'j') {
			*json = 1;
		} else if (c == 'h') {
			fputs(text, stdout);
			*status = EXIT_OK;
			return -1;
		} else {
			*status = EXIT_USAGE;
			complain("%s has no option '%s'; see: softmr %s --help",
				 argv[0], argv[optind - 1], argv[0]);
			return -1;
		}
	}
	if (optind == argc)
		return 0;
	complain("%s takes no argument, but '%s' was given; see: softmr %s --help",
		 argv[0], argv[optind], argv[0]);
	*status = EXIT_USAGE;
	return -1;
}

int main(int argc, char **argv)
{
	size_t i;

	if (argc < 2) {
		usage(stderr);
		return EXIT_USAGE;
	}
	if (!strcmp(argv[1], "--help") || !strcmp(argv[1], "-h") ||
	    !strcmp(argv[1], "help")) {
		usage(stdout);
		return EXIT_OK;
	}
	if (!strcmp(argv[1], "--version") || !strcmp(argv[1], "-V")) {
		puts("softmr " SMR_TOOL_VERSION);
		return EXIT_OK;
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	complain("there is no command '%s'; see: softmr --help", argv[1]);
	return EXIT_USAGE;
}
