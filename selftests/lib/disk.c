// SPDX-License-Identifier: GPL-2.0
#include "disk.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "region.h"
#include "work.h"

/**
 * vt_disk_add() - create the disk
 * @delay_ms: how long reading one page takes, in milliseconds
 *
 * Return: true if the disk exists; not all kernels have null_blk
 */
bool vt_disk_add(int delay_ms)
{
	char cmd[128];

	snprintf(cmd, sizeof(cmd), "modprobe null_blk nr_devices=1 gb=1"
		 " irqmode=2 completion_nsec=%d000000", delay_ms);
	return !system(cmd);
}

/**
 * vt_disk_del() - remove the disk
 * @ms: how long to wait for its last user: a process that has mapped the disk
 *	may end before the last user of that memory
 *
 * Return: true if the disk is removed
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
 * vt_disk_map() - map pages of the disk that were not read yet
 * @fd: the disk, or -1 for anonymous memory
 * @len: bytes
 *
 * Readahead is off: reading one page does not read its neighbours.
 *
 * Return: the address, or NULL
 */
uint8_t *vt_disk_map(int fd, size_t len)
{
	uint8_t *p = vt_map(len, getpagesize(), MAP_PRIVATE, fd);

	return p && !madvise(p, len, MADV_RANDOM) ? p : NULL;
}
