/* SPDX-License-Identifier: GPL-2.0 */
/* How a test comes to devices when nobody made any for it. */
#ifndef VT_PATHS_H
#define VT_PATHS_H

void vt_run_on_paths(char **argv);

#endif /* VT_PATHS_H */
