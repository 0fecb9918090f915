// SPDX-License-Identifier: GPL-2.0
#include "fail.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "system.h"

static bool knob(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/sys/kernel/debug/%s", name);
	return !vt_write_file(path, value);
}

/**
 * vt_fail_prepare() - make failures possible for every kind of allocation, and
 * silent
 *
 * Return: true if the kernel supports it
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
 * vt_fail_mark_workers() - mark the kernel's unbound workers as tasks whose
 * allocations may fail, or unmark them
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
			vt_write_file(path, mark ? "1" : "0");
		}
		fclose(f);
	}
	if (proc)
		closedir(proc);
}

/* More than can fail between two calls */
#define TIMES	1000000

static bool fail_probability(int percent)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", percent);
	return knob("failslab/probability", text) && knob("fail_page_alloc/probability", text);
}

/*
 * Let @percent of the allocations fail: with @filter "Y", only those of marked tasks; with
 * @no_sleep "Y", only those that may not sleep. The failures can be counted until this is
 * called again.
 */
static bool fail_begin(int percent, const char *filter, const char *no_sleep)
{
	char times[16];

	snprintf(times, sizeof(times), "%d", TIMES);
	return knob("failslab/times", times) && knob("fail_page_alloc/times", times) &&
	       knob("failslab/task-filter", filter) &&
	       knob("fail_page_alloc/task-filter", filter) &&
	       knob("failslab/ignore-gfp-wait", no_sleep) &&
	       knob("fail_page_alloc/ignore-gfp-wait", no_sleep) && fail_probability(percent);
}

/**
 * vt_fail_marked() - let allocations of marked workers fail
 * @percent: of them; 0: none
 */
bool vt_fail_marked(int percent)
{
	return percent ? fail_begin(percent, "Y", "N") : fail_probability(0);
}

/**
 * vt_fail_some() - let one in five allocations of marked workers fail, or let
 * none fail
 */
bool vt_fail_some(bool on)
{
	return vt_fail_marked(on ? 20 : 0);
}

/**
 * vt_fail_atomic() - let allocations that may not sleep fail, in any context: in softirqs and
 * timers, and under locks
 * @percent: of them; 0: none
 */
bool vt_fail_atomic(int percent)
{
	return percent ? fail_begin(percent, "N", "Y") : fail_probability(0);
}

/**
 * vt_fail_count() - how many allocations have failed since vt_fail_marked() or
 * vt_fail_atomic() has begun
 *
 * Return: the number, or -1 if it cannot be read
 */
int vt_fail_count(void)
{
	static const char * const files[] = {
		"/sys/kernel/debug/failslab/times", "/sys/kernel/debug/fail_page_alloc/times",
	};
	int i, left, n = 0;
	FILE *f;

	for (i = 0; i < 2; i++) {
		f = fopen(files[i], "r");
		if (!f)
			return -1;
		if (fscanf(f, "%d", &left) != 1)
			left = TIMES + 1;
		fclose(f);
		if (left > TIMES)
			return -1;
		n += TIMES - left;
	}
	return n;
}

/* The caches of accounted kmalloc() allocations */
static bool accounted_caches(const char *fail)
{
	DIR *slab = opendir("/sys/kernel/slab");
	struct dirent *entry;
	char path[300];
	bool ok = false;

	while (slab && (entry = readdir(slab))) {
		if (strncmp(entry->d_name, "kmalloc-cg-", 11))
			continue;
		snprintf(path, sizeof(path), "/sys/kernel/slab/%s/failslab",
			 entry->d_name);
		ok = !vt_write_file(path, fail);
		if (!ok)
			break;
	}
	if (slab)
		closedir(slab);
	return ok;
}

/**
 * vt_fail_accounted_begin() - let each kmalloc() that is charged to a process
 * fail
 *
 * Return: the descriptor for vt_fail_accounted_end(), or -1 if the kernel
 * cannot do so
 */
int vt_fail_accounted_begin(void)
{
	/* From here on opening a file fails. */
	int fd = open("/sys/kernel/debug/failslab/probability", O_WRONLY);

	if (fd < 0)
		return -1;
	if (accounted_caches("1") && knob("failslab/cache-filter", "Y") &&
	    knob("failslab/task-filter", "N") &&
	    knob("failslab/times", "-1") && write(fd, "100", 3) == 3)
		return fd;
	close(fd);
	return -1;
}

/**
 * vt_fail_accounted_end() - let allocations succeed again
 * @fd: from vt_fail_accounted_begin()
 *
 * Return: true on success
 */
bool vt_fail_accounted_end(int fd)
{
	bool ok = write(fd, "0", 1) == 1;

	close(fd);
	return knob("failslab/cache-filter", "N") && accounted_caches("0") && ok;
}

/**
 * vt_fail_nth() - let one allocation of this thread fail
 * @fd: /proc/thread-self/fail-nth, open for reading and writing
 * @n: which one; 1 is the next; 0: none
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
 * vt_fail_left() - how many allocations of this thread are left until one fails
 *
 * Return: the number, 0 if it has failed; or a negative errno
 */
int vt_fail_left(int fd)
{
	char text[16] = "";

	return pread(fd, text, sizeof(text) - 1, 0) > 0 ? atoi(text) : -errno;
}

/**
 * vt_fail_happened() - did the allocation fail? Also cancels a failure that did
 * not happen yet
 *
 * Return: 1, 0, or a negative errno
 */
int vt_fail_happened(int fd)
{
	int left = vt_fail_left(fd), ret;

	if (left < 0)
		return left;
	ret = vt_fail_nth(fd, 0);
	return ret ? ret : !left;
}
