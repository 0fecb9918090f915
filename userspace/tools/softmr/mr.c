// SPDX-License-Identifier: GPL-2.0
/*
 * softmr mr is softmr-mr. A program of its own, since it links with libibverbs
 * and the provider, and softmr has to run where these are missing.
 */
#include "cmd.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>

#include "util.h"

#define PROGRAM	"softmr-mr"

int cmd_mr(int argc, char **argv)
{
	char self[PATH_MAX], *slash;
	ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - sizeof(PROGRAM));

	(void)argc;
	argv[0] = (char *)PROGRAM;
	/* the one beside this file first: it is of the same version */
	if (len > 0) {
		self[len] = '\0';
		slash = strrchr(self, '/');
		strcpy(slash ? slash + 1 : self, PROGRAM);
		execv(self, argv);
	}
	execvp(PROGRAM, argv);
	complain("cannot run " PROGRAM ": %s; it comes with softmr's tools",
		 strerror(errno));
	return EXIT_PROBLEM;
}
