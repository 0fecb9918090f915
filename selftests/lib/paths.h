/* SPDX-License-Identifier: GPL-2.0 */
/* Selects the devices of a test if SMR_DEV is not set. */
#ifndef VT_PATHS_H
#define VT_PATHS_H

#include <stdbool.h>

void vt_run_on_paths(char **argv);
bool vt_on_path(const char *path);

#endif /* VT_PATHS_H */
