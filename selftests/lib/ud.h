/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Single datagrams between two UD endpoints. A test makes one thing of them
 * wrong.
 */
#ifndef VT_UD_H
#define VT_UD_H

#include <stdbool.h>

#include "endpoint.h"
#include "grh.h"

struct ibv_send_wr vt_ud_wr(const struct vt_ep *ep, struct ibv_sge *sge);
int vt_ud_recv(struct vt_ep *ep, uint64_t wr_id, uint32_t len);
int vt_ud_lost(struct vt_pair *pair, struct ibv_send_wr *wr);
int vt_qp_resume(struct vt_ep *ep);

#endif /* VT_UD_H */
