// SPDX-License-Identifier: GPL-2.0
#include "fail.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system.h"

static bool knob(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", name);
	return !vt_put(path, value);
}

/**
 * vt_fail_prepare() - let any allocation be one that fails, without a word
 *
 * Return: whether the kernel can do so
 */
bool vt_fail_prepare(void)
{
	return knob("failslab/ignore-gfp-wait", "N") &&
	       knob("failslab/verbose", "0") &&
	       knob("failslab/probability", "0") &&
	       knob("fail_page_alloc/ignore-gfp-wait", "N") &&
	       knob("fail_page_alloc/ignore-gfp-highmem", "N") &&
	       knob("fail_page_alloc/min-order", "0") &&
	       knob("fail_page_alloc/verbose", "0") &&
	       knob("fail_page_alloc/probability", "0");
}

/**
 * vt_fail_mark_workers() - mark the kernel's unbound workers, or none, as those
 * who may fail
 */
void vt_fail_mark_workers(bool mark)
{
	struct dirent *entry;
	char path[300], comm[32];
	DIR *proc = opendir("/proc");
	FILE *f;

	while (proc && (entry = readdir(proc))) {
		snprintf(path, sizeof(path), "/proc/%s/comm", entry->d_name);
		f = fopen(path, "r");
		if (!f)
			continue;
		if (fgets(comm, sizeof(comm), f) &&
		    !strncmp(comm, "kworker/u", 9)) {
			snprintf(path, sizeof(path), "/proc/%s/make-it-fail",
				 entry->d_name);
			vt_put(path, mark ? "1" : "0");
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
}

/**
 * vt_fail_some() - let one in five of marked workers' allocations fail; or none
 */
bool vt_fail_some(bool on)
{
	const char *percent = on ? "20" : "0";

	return knob("failslab/task-filter", "Y") &&
	       knob("fail_page_alloc/task-filter", "Y") &&
	       knob("failslab/times", "-1") &&
	       knob("fail_page_alloc/times", "-1") &&
	       knob("failslab/probability", percent) &&
	       knob("fail_page_alloc/probability", percent);
}

/**
 * vt_fail_nth() - let one allocation of this thread fail
 * @fd: /proc/thread-self/fail-nth, open for reading and writing
 * @n: which, counted from 1 at the next; 0: none
 *
 * Return: 0 or a negative errno
 */
int vt_fail_nth(int fd, int n)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", n);

	return pwrite(fd, text, len, 0) == len ? 0 : -errno;
}

/**
 * vt_fail_had() - has that come to pass? It does not, any more
 *
 * Return: 1, 0, or a negative errno
 */
int vt_fail_had(int fd)
{
	char text[16] = "";
	int ret;

	if (pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return -errno;
	ret = vt_fail_nth(fd, 0);
	return ret ? ret : !atoi(text);
}
