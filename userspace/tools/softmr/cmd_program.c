// SPDX-License-Identifier: GPL-2.0
/*
 * Subcommands that are separate programs. softmr capture is softmr-capture, because it links with
 * libibverbs, and softmr has to run where that is missing. softmr run is softmr-run, which is static.
 */
#include "cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "packages.h"
#include "util.h"

/* Returns only if the program cannot be run. */
static int run_program(const char *name, char **argv, char *todo)
{
	char *self = realpath("/proc/self/exe", NULL), *slash;

	argv[0] = (char *)name;
	/* first the one in the directory of this program: it has the same version */
	slash = self ? strrchr(self, '/') : NULL;
	if (slash) {
		char *beside = strf("%.*s/%s", (int)(slash - self), self, name);

		execv(beside, argv);
		free(beside);
	}
	free(self);
	execvp(name, argv);
	complain("cannot run %s: %s; to have it: %s", name, strerror(errno), todo);
	free(todo);
	return EXIT_PROBLEM;
}

int cmd_capture(int argc, char **argv)
{
	(void)argc;
	return run_program("softmr-capture", argv, install_softmr("softmr-tools", "softmr-tools", false));
}

int cmd_run(int argc, char **argv)
{
	(void)argc;
#ifdef __x86_64__
	return run_program("softmr-run", argv, install_softmr("softmr-uml", NULL, false));
#else
	return run_program("softmr-run", argv, copy("an x86-64 machine; there is no guest for this one"));
#endif
}
