/* SPDX-License-Identifier: GPL-2.0 */
/* A disk of zeros on which reading a page takes long. */
#ifndef VT_DISK_H
#define VT_DISK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define VT_DISK "/dev/nullb0"

bool vt_disk_add(int delay_ms);
bool vt_disk_del(int ms);
uint8_t *vt_disk_map(int fd, size_t len);

#endif /* VT_DISK_H */
