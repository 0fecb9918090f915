// SPDX-License-Identifier: GPL-2.0
/*
 * softmr: one tool with subcommands. A new one is a file with its run()
 * function, cmd_NAME.c, and a line in the table below.
 */
#include "cmd.h"

#include <stdio.h>
#include <string.h>

#include "util.h"

static const struct command commands[] = {
	{ "status", "[--json]",
	  "show module, provider, libibverbs and links", cmd_status },
	{ "doctor", "[--json]",
	  "look for what keeps softmr from working, and say what to do", cmd_doctor },
	{ "why", "[CODE] [OPTION...]",
	  "say why something was refused, and what to do", cmd_why },
	{ "top", "[OPTION...]",
	  "show what queue pairs and regions do, as top(1) shows processes", cmd_top },
	{ "trace", "[OPTION...] COMMAND",
	  "run a program, and record what happens on links", cmd_trace },
	{ "capture", "[OPTION...] LINK",
	  "write packets, also those of one host, and why a NAK was sent", cmd_capture },
	{ "link", "add|del|list ...",
	  "make, remove and list links", cmd_link },
	{ "run", "[OPTION...] COMMAND",
	  "run a program in a guest that has a link (softmr-run)", cmd_run },
};

static void usage(FILE *to)
{
	size_t i;

	fputs("Usage: softmr COMMAND [ARGUMENT...]\n\n", to);
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		fprintf(to, "  %-7s %-19s  %s\n", commands[i].name,
			commands[i].args, commands[i].summary);
	fputs("\n"
	      "  -j, --json     print JSON (status, doctor, why, top, link)\n"
	      "  -h, --help     show this; softmr COMMAND --help says more\n"
	      "  -V, --version  show the version\n"
	      "\n"
	      "Exits with 0 if all is well, 1 if not, 2 if the command line is wrong.\n",
	      to);
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
	/* as with ip(8) and rdma(8) */
	if (argc > 2 && (!strcmp(argv[1], "--json") || !strcmp(argv[1], "-j"))) {
		argv[1] = argv[2];
		argv[2] = (char *)"--json";
	}
	for (i = 0; i < ARRAY_SIZE(commands); i++)
		if (!strcmp(argv[1], commands[i].name))
			return commands[i].run(argc - 1, argv + 1);
	complain("there is no command '%s'; see: softmr --help", argv[1]);
	return EXIT_USAGE;
}
