/* SPDX-License-Identifier: GPL-2.0 */
/* Allocations that fail: the kernel's fault injection. */
#ifndef VT_FAIL_H
#define VT_FAIL_H

#include <stdbool.h>

bool vt_fail_prepare(void);
bool vt_fail_some(bool on);
bool vt_fail_marked(int percent);
bool vt_fail_atomic(int percent);
int vt_fail_count(void);
int vt_fail_accounted_begin(void);
bool vt_fail_accounted_end(int fd);
void vt_fail_mark_workers(bool mark);
int vt_fail_nth(int fd, int n);
int vt_fail_left(int fd);
int vt_fail_happened(int fd);

#endif /* VT_FAIL_H */
