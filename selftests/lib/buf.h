/* SPDX-License-Identifier: GPL-2.0 */
/* Registered buffers that detect bytes written outside of the message. */
#ifndef VT_BUF_H
#define VT_BUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* Guard bytes before and after the part of a buffer that a test uses. */
#define VT_GUARD	4096

#define VT_ACCESS_ALL	(IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | \
			 IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC)

/**
 * struct vt_buf - separate memory, completely registered
 * @p: the first byte; bytes not in use hold the pattern @seed
 * @len: bytes
 * @seed: the background
 * @mr: covers all of it
 */
struct vt_buf {
	uint8_t *p;
	size_t len;
	uint32_t seed;
	struct ibv_mr *mr;
};

int vt_buf_open(struct vt_buf *buf, struct ibv_pd *pd, size_t len, int access);
void vt_buf_close(struct vt_buf *buf);

struct ibv_sge vt_sge(const struct vt_buf *buf, size_t off, uint32_t len);
int vt_split(const struct vt_buf *buf, struct ibv_sge *sge, int n, size_t len,
	     bool zeros);
bool vt_buf_restore(struct vt_buf *buf, const struct ibv_sge *sge, int n,
		    size_t len);

#endif /* VT_BUF_H */
