/* SPDX-License-Identifier: GPL-2.0 */
/* How a test gets devices if SMR_DEV names none. */
#ifndef VT_PATHS_H
#define VT_PATHS_H

#include <stdbool.h>

void vt_run_on_paths(char **argv);
bool vt_on_path(const char *path);

#endif /* VT_PATHS_H */
