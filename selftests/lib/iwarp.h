/* SPDX-License-Identifier: GPL-2.0 */
/* Connections of iWARP devices, which only rdma_cm can set up. */
#ifndef VT_IWARP_H
#define VT_IWARP_H

#include <infiniband/verbs.h>

struct vt_iwarp;

int vt_iwarp_connect(struct vt_iwarp **iwarp, const struct ibv_qp *a,
		     const struct ibv_qp *b, uint8_t rd_atomic);
void vt_iwarp_close(struct vt_iwarp **iwarp);

#endif /* VT_IWARP_H */
