/* SPDX-License-Identifier: GPL-2.0 */
/* A file whose pages never arrive: a FUSE server that does not answer READ. */
#ifndef VT_NEVER_H
#define VT_NEVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/**
 * struct vt_never - such a file
 * @dir: mount point of its file system
 * @fd: the file
 * @server: the process that does not answer; it is not the opener's child only
 *	as long as it lives
 * @asked: the server writes one byte here for each READ
 */
struct vt_never {
	char dir[32];
	int fd;
	pid_t server;
	int asked;
};

int vt_never_open(struct vt_never *n, size_t len);
bool vt_never_wait(const struct vt_never *n, int timeout_ms);
uint8_t *vt_never_map(const struct vt_never *n, size_t len);
bool vt_never_close(struct vt_never *n);

#endif /* VT_NEVER_H */
