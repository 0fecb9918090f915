// SPDX-License-Identifier: GPL-2.0
/*
 * Subcommands that are programs of their own: softmr mr is softmr-mr, since
 * that links with libibverbs and the provider, and softmr has to run where
 * these are missing; softmr run is softmr-run, which is static.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

/* Returns only if it cannot be run. */
static int run_program(const char *name, char **argv, const char *package)
{
	char *self = realpath("/proc/self/exe", NULL), *slash;

	argv[0] = (char *)name;
	/* the one beside this file first: it is of the same version */
	slash = self ? strrchr(self, '/') : NULL;
	if (slash) {
		char *beside = strf("%.*s/%s", (int)(slash - self), self, name);

		execv(beside, argv);
		free(beside);
	}
	free(self);
	execvp(name, argv);
	complain("cannot run %s: %s; it comes with the package %s", name,
		 strerror(errno), package);
	return EXIT_PROBLEM;
}

int cmd_mr(int argc, char **argv)
{
	(void)argc;
	return run_program("softmr-mr", argv, "softmr-tools");
}

int cmd_run(int argc, char **argv)
{
	(void)argc;
	return run_program("softmr-run", argv, "softmr-uml");
}
