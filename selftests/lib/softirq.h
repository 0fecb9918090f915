/* SPDX-License-Identifier: GPL-2.0 */
/* The number of softirqs, and the work that one of them may do for many receivers. */
#ifndef VT_SOFTIRQ_H
#define VT_SOFTIRQ_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Copies of packets that one softirq may make: 256 in its budget and 4096 beyond that, and
 * those of the packet that uses this up
 */
#define VT_COPIES_MAX	(4096 + 256 + 300)

/* Of one kind, as /proc/softirqs names it with a colon; on all CPUs */
static inline long vt_softirqs(const char *kind)
{
	FILE *f = fopen("/proc/softirqs", "r");
	char line[4096], *at;
	long n = 0;

	while (f && fgets(line, sizeof(line), f)) {
		at = strstr(line, kind);
		if (!at)
			continue;
		at += strlen(kind);
		while (*at && *at != '\n')
			n += strtol(at, &at, 10);
	}
	if (f)
		fclose(f);
	return n;
}

#endif /* VT_SOFTIRQ_H */
