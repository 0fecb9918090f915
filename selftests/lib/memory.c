// SPDX-License-Identifier: GPL-2.0
#include "memory.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/swap.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "sizes.h"
#include "system.h"
#include "work.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT	21
#endif
#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE	25
#endif

#define KSM		"/sys/kernel/mm/ksm/"
#define SWAP_SIZE	"192M"

/**
 * vt_sysctl() - set a knob of /proc/sys
 */
bool vt_sysctl(const char *name, const char *value)
{
	char path[128];

	snprintf(path, sizeof(path), "/proc/sys/%s", name);
	return !vt_write_file(path, value);
}

/* User-Mode Linux: a process may continue to use pages that the kernel has migrated. */
static bool moves_lose_pages(void)
{
	char line[128] = "";
	bool user_mode;
	FILE *f = fopen("/proc/version", "r");

	if (!f)
		return false;
	user_mode = fgets(line, sizeof(line), f) && strstr(line, "uml");
	fclose(f);
	return user_mode && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

/**
 * vt_compact() - compact memory: the kernel moves pages of all processes
 *
 * Return: false if the kernel cannot do so, or if it would harm processes that
 * do not use RDMA: User-Mode Linux with several processors
 */
bool vt_compact(void)
{
	return !moves_lose_pages() && vt_sysctl("vm/compact_memory", "1");
}

static bool in_memory(const char *dir)
{
	struct statfs fs;

	return statfs(dir, &fs) || fs.f_type == TMPFS_MAGIC ||
	       fs.f_type == RAMFS_MAGIC || fs.f_type == OVERLAYFS_SUPER_MAGIC;
}

/**
 * vt_file() - create an empty file, without a name, on a real file system
 * @name: a name that it has until it is unlinked
 *
 * Return: a descriptor; -1 if no directory is on such a file system
 */
int vt_file(const char *name)
{
	static const char * const dirs[] = { "/mnt/share", "/var/tmp", "." };
	char path[128];
	unsigned int i;
	int fd;

	for (i = 0; i < sizeof(dirs) / sizeof(dirs[0]); i++) {
		if (in_memory(dirs[i]))
			continue;
		snprintf(path, sizeof(path), "%s/%s.%d", dirs[i], name,
			 (int)getpid());
		fd = open(path, O_RDWR | O_CREAT | O_EXCL, 0600);
		if (fd < 0)
			continue;
		unlink(path);
		/* 9p loses a file that no longer has a name. */
		if (!ftruncate(fd, 0))
			return fd;
		close(fd);
	}
	return -1;
}

static bool swap_is_on(void)
{
	FILE *f = fopen("/proc/swaps", "r");
	int c, lines = 0;

	while (f && (c = fgetc(f)) != EOF)
		lines += c == '\n';
	if (f)
		fclose(f);
	return lines > 1;
}

/**
 * vt_swap_on() - ensure that there is swap; if there is none, create it in compressed memory
 *
 * The swap stays until the guest ends: other tests use it, too.
 */
bool vt_swap_on(void)
{
	int lock = open("/run/softmr-test-swap", O_RDWR | O_CREAT, 0600);
	bool on;

	if (lock >= 0)
		flock(lock, LOCK_EX);
	on = swap_is_on() ||
	     !system("{ modprobe zram && echo " SWAP_SIZE
		     " >/sys/block/zram0/disksize && mkswap /dev/zram0 && "
		     "swapon /dev/zram0; } >/dev/null 2>&1");
	if (lock >= 0)
		close(lock);
	return on;
}

static size_t bytes_out(uint8_t *p, size_t len)
{
	uint64_t entry;
	size_t i, out = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);

	for (i = 0; fd >= 0 && i < len; i += PAGE)
		if (pread(fd, &entry, 8, ((uintptr_t)p + i) / PAGE * 8) == 8 &&
		    !(entry >> 63))
			out += PAGE;
	if (fd >= 0)
		close(fd);
	return out;
}

/**
 * vt_page_out() - let the kernel reclaim pages
 *
 * Return: number of bytes without a page of the process now
 */
size_t vt_page_out(void *p, size_t len)
{
	size_t out = 0;
	int i;

	/* Pages whose writeback has only begun are reclaimed the next time. */
	for (i = 0; i < 5 && out < len; i++) {
		if (madvise(p, len, MADV_PAGEOUT))
			return 0;
		out = bytes_out(p, len);
	}
	return out;
}

/**
 * vt_collapse() - let the kernel make huge pages of the memory
 */
bool vt_collapse(void *p, size_t len)
{
	int i;

	for (i = 0; i < 3; i++) {
		if (!madvise(p, len, MADV_COLLAPSE))
			return true;
		if (errno != EAGAIN && errno != ENOMEM && errno != EBUSY)
			break;
	}
	return false;
}

/**
 * vt_ksm_merge() - let KSM merge equal pages
 */
bool vt_ksm_merge(void *p, size_t len)
{
	uint64_t end = vt_now_ms() + VT_TIMEOUT_MS / 4;
	long scans = vt_number(KSM "full_scans", "");
	bool merged = false;

	if (scans < 0 || madvise(p, len, MADV_MERGEABLE))
		return false;
	vt_write_file(KSM "sleep_millisecs", "1");
	vt_write_file(KSM "pages_to_scan", "20000");
	vt_write_file(KSM "run", "1");
	/* The first scan only finds pages that do not change. */
	while (!merged && vt_now_ms() < end) {
		usleep(1000);
		merged = vt_number(KSM "full_scans", "") >= scans + 3;
	}
	merged = merged && vt_number(KSM "pages_sharing", "") > 0;
	vt_write_file(KSM "run", "0");
	return merged;
}

/**
 * vt_hugetlb_pages() - whether @n huge pages are free; reserves them if not
 */
bool vt_hugetlb_pages(int n)
{
	char text[16];

	if (vt_number("/proc/sys/vm/nr_hugepages", "") < 0)
		return false;
	snprintf(text, sizeof(text), "%d",
		 (int)vt_number("/proc/sys/vm/nr_hugepages", "") + n);
	if (vt_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "") < n)
		vt_sysctl("vm/nr_hugepages", text);
	return vt_number("/sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "") >= n;
}
