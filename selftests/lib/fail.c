// SPDX-License-Identifier: GPL-2.0
#include "fail.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY);
	bool ok;

	if (fd < 0)
		return false;
	ok = write(fd, text, strlen(text)) > 0;
	close(fd);
	return ok;
}

static bool knob(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", name);
	return write_text(path, value);
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
			write_text(path, mark ? "1" : "0");
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
