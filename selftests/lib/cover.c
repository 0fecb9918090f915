// SPDX-License-Identifier: GPL-2.0
#include "cover.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "system.h"

#define COVER	"/sys/module/softmr/parameters/cover"
#define PAUSE	"/sys/module/softmr/parameters/pause"
#define PAUSE_FAULT	"/sys/module/softmr/parameters/pause_fault"
#define TAINTED	"/proc/sys/kernel/tainted"

/**
 * vt_cover_open() - begin to count
 * @cover: filled in
 */
void vt_cover_open(struct vt_cover *cover)
{
	*cover = (struct vt_cover){ .fd = -1 };
	if (!vt_write_file(COVER, "1"))
		cover->fd = open(COVER, O_RDONLY);
}

/**
 * vt_cover_grows() - read the numbers
 * @cover: open
 *
 * Return: true if there is a new edge since the last call
 */
bool vt_cover_grows(struct vt_cover *cover)
{
	int blocks, edges, before = cover->edges;
	char text[64] = "";

	if (cover->fd < 0 || pread(cover->fd, text, sizeof(text) - 1, 0) <= 0 ||
	    sscanf(text, "%d %d", &blocks, &edges) != 2)
		return false;
	cover->blocks = blocks;
	cover->edges = edges;
	return edges > before;
}

void vt_cover_close(struct vt_cover *cover)
{
	if (cover->fd < 0)
		return;
	vt_write_file(COVER, "0");
	close(cover->fd);
	cover->fd = -1;
}

static bool set(const char *path, unsigned int us)
{
	char text[16];

	snprintf(text, sizeof(text), "%u", us);
	return !vt_write_file(path, text);
}

/**
 * vt_pause() - delay each access before and after it takes the reference of its key
 * @us: microseconds of each delay; 0: stop
 *
 * Return: false if this module does not support it
 */
bool vt_pause(unsigned int us)
{
	return set(PAUSE, us);
}

/**
 * vt_pause_faults() - have each fault of a page on demand wait before it stores what it has found
 * @us: for so many microseconds; 0: no more
 *
 * Return: false: this module cannot
 */
bool vt_pause_faults(unsigned int us)
{
	return set(PAUSE_FAULT, us);
}

/**
 * vt_fuzz_seconds() - seconds for a fuzzer to run
 * @usual: in a run of all tests
 * @brief: in a short run
 *
 * Return: SMR_FUZZ_SECONDS of the environment, if it is set
 */
int vt_fuzz_seconds(int usual, int brief)
{
	const char *given = getenv("SMR_FUZZ_SECONDS");

	if (given)
		return atoi(given);
	return getenv("SMR_SHORT") ? brief : usual;
}

/**
 * vt_tainted() - the kernel's taint flags, which a warning or a report of KASAN adds to
 */
unsigned long vt_tainted(void)
{
	static int fd = -1;
	char text[32] = "";

	if (fd < 0)
		fd = open(TAINTED, O_RDONLY);
	if (fd < 0 || pread(fd, text, sizeof(text) - 1, 0) <= 0)
		return 0;
	return strtoul(text, NULL, 10);
}
