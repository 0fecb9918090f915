/* SPDX-License-Identifier: GPL-2.0 */
/* What a test changes of the kernel and of its own process; and a delay. */
#ifndef VT_SYSTEM_H
#define VT_SYSTEM_H

#include <stdbool.h>
#include <sys/resource.h>
#include <sys/types.h>

void vt_spin(long us);
int vt_write_file(const char *path, const char *text);
int vt_mappings(void);
long vt_number(const char *path, const char *key);
bool vt_number_wait(const char *path, long least);

/* A line of /proc/meminfo, in KiB; @key ends with the colon. */
static inline long vt_meminfo(const char *key)
{
	return vt_number("/proc/meminfo", key);
}

int vt_no_more_addresses(struct rlimit *was);
int vt_capability(int cap, bool may);
pid_t vt_child(int *sock, int (*child_main)(int sock, const void *arg),
	       const void *arg);

#endif /* VT_SYSTEM_H */
