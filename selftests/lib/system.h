/* SPDX-License-Identifier: GPL-2.0 */
/* What a test changes of the kernel, and of its own process. */
#ifndef VT_SYSTEM_H
#define VT_SYSTEM_H

#include <stdbool.h>

int vt_put(const char *path, const char *text);
int vt_capability(int cap, bool may);

#endif /* VT_SYSTEM_H */
