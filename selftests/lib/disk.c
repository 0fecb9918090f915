// SPDX-License-Identifier: GPL-2.0
#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"
#include "work.h"

/**
 * vt_disk_add() - have the disk
 * @delay_ms: that each page takes, in milliseconds
 *
 * Return: whether it is there; not all kernels have null_blk
 */
bool vt_disk_add(int delay_ms)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "modprobe null_blk nr_devices=1 gb=1"
		 " irqmode=2 completion_nsec=%d000000", delay_ms);
	return !system(cmd);
}

/**
 * vt_disk_del() - have it no longer
 * @ms: that may pass until nobody uses it: a process that has it mapped may end
 *	before the last who uses its memory does
 *
 * Return: whether it is gone
 */
bool vt_disk_del(int ms)
{
	uint64_t start = vt_now_ms();

	while (system("modprobe -qr null_blk")) {
		if (vt_now_ms() - start >= (uint64_t)ms)
			return false;
		usleep(100000);
	}
	return true;
}

/**
 * vt_disk_map() - pages of the disk that nobody has read yet
 * @fd: the disk, or -1 for memory
 * @len: bytes
 *
 * Who reads one does not read its neighbours, too.
 *
 * Return: where, or NULL
 */
uint8_t *vt_disk_map(int fd, size_t len)
{
	uint8_t *p = vt_map(len, getpagesize(), MAP_PRIVATE, fd);

	return p && !madvise(p, len, MADV_RANDOM) ? p : NULL;
}
