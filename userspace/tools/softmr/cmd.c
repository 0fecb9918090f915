// SPDX-License-Identifier: GPL-2.0
#include "cmd.h"

#include <getopt.h>
#include <stdio.h>

#include "util.h"

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
