/* SPDX-License-Identifier: GPL-2.0 */
/* Memory management that moves, reclaims or merges a process's pages. */
#ifndef VT_MEMORY_H
#define VT_MEMORY_H

#include <stdbool.h>
#include <stddef.h>

bool vt_sysctl(const char *name, const char *value);
bool vt_compact(void);
int vt_file(const char *name);
bool vt_swap_on(void);
size_t vt_page_out(void *p, size_t len);
bool vt_collapse(void *p, size_t len);
bool vt_ksm_merge(void *p, size_t len);
bool vt_hugetlb_pages(int n);

#endif /* VT_MEMORY_H */
