// SPDX-License-Identifier: GPL-2.0
#include "paths.h"

#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/**
 * vt_run_on_paths() - replace this process by lib/paths.sh, which runs this
 * program again on each path
 *
 * Returns if the script is not beside the program. The test then uses the
 * devices that exist.
 */
void vt_run_on_paths(char **argv)
{
	char self[PATH_MAX] = "", script[PATH_MAX + 16], dir[PATH_MAX];
	char **args;
	int argc;

	if (readlink("/proc/self/exe", self, sizeof(self) - 1) < 0)
		return;
	strcpy(dir, self);
	snprintf(script, sizeof(script), "%s/lib/paths.sh", dirname(dir));
	for (argc = 0; argv[argc]; argc++)
		;
	/* one more, and NULL */
	args = calloc(argc + 2, sizeof(*args));
	if (!args)
		return;
	memcpy(args + 1, argv, argc * sizeof(*args));
	args[0] = script;
	args[1] = self;
	if (!access(script, X_OK))
		execv(script, args);
	free(args);
}

/**
 * vt_on_path() - whether the name of the path in use contains @part
 *
 * For tests that depend on the other driver: see the paths with "rxe".
 */
bool vt_on_path(const char *part)
{
	const char *now = getenv("SMR_PATH");

	return now && strstr(now, part);
}
