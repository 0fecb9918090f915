/* SPDX-License-Identifier: GPL-2.0 */
/* Work requests: post them, and check their completions. */
#ifndef VT_WORK_H
#define VT_WORK_H

#include <sched.h>
#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

#include "endpoint.h"

/* Longer than any operation takes on the slowest bed */
#define VT_TIMEOUT_MS	20000

uint64_t vt_now_us(void);
uint64_t vt_now_ms(void);

/* Wait until @cond holds. False: it does not for longer than any operation takes. */
#define VT_UNTIL(cond) ({						\
	uint64_t _end = vt_now_ms() + VT_TIMEOUT_MS;			\
	bool _holds;							\
									\
	while (!(_holds = (cond)) && vt_now_ms() < _end)		\
		sched_yield();						\
	_holds;								\
})

bool vt_qp_reaches(const struct ibv_qp *qp, enum ibv_qp_state state);

struct ibv_send_wr vt_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge);
struct ibv_send_wr vt_rdma_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge,
			      uint64_t addr, uint32_t rkey);
int vt_post(struct vt_ep *ep, struct ibv_send_wr *wr);
int vt_post_recv(struct vt_ep *ep, uint64_t wr_id, struct ibv_sge *sge, int n);

int vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n, int timeout_ms);
int vt_wait(struct ibv_cq *cq, struct ibv_wc *wc);
bool vt_no_completion(struct ibv_cq *cq, int ms);
bool vt_sq_quiet(struct vt_ep *ep);
bool vt_rq_quiet(struct vt_ep *ep, struct vt_ep *from);
int vt_status(struct ibv_cq *cq, uint64_t wr_id);
int vt_cq_event(struct vt_ep *ep, const struct ibv_cq *of, int timeout_ms);
int vt_outcome(struct vt_ep *ep, struct ibv_send_wr *wr);

bool vt_wc_send_ok(const struct vt_ep *ep, const struct ibv_wc *wc,
		   const struct ibv_send_wr *wr);
bool vt_wc_recv_ok(const struct vt_ep *ep, const struct ibv_wc *wc,
		   uint64_t wr_id, const struct ibv_send_wr *wr,
		   uint32_t src_qp);

/**
 * struct vt_xfer - one transfer from end to end
 * @op: opcode
 * @len: bytes
 * @src_sges: parts at the end where the data comes from
 * @dst_sges: parts where it goes to; one side of RDMA always has one part
 * @zeros: with empty parts in between
 * @flags: send flags; IBV_SEND_SIGNALED is added
 * @room: bytes the receive is longer than the message
 * @rkey: of a window over the whole buffer of the responder, by which RDMA
 *	reaches it; 0: by the buffer's own. What SEND_WITH_INV invalidates
 */
struct vt_xfer {
	enum ibv_wr_opcode op;
	size_t len;
	int src_sges;
	int dst_sges;
	bool zeros;
	unsigned int flags;
	size_t room;
	uint32_t rkey;
};

bool vt_op_receives(enum ibv_wr_opcode op);
bool vt_op_sends(enum ibv_wr_opcode op);
bool vt_op_has_imm(enum ibv_wr_opcode op);
const char *vt_op_name(enum ibv_wr_opcode op);
void vt_wr_to_peer(const struct vt_ep *ep, struct ibv_send_wr *wr);
bool vt_transfer(struct vt_pair *pair, const struct vt_xfer *x);
bool vt_transfer_lists(struct vt_pair *pair, const struct vt_xfer *model);
bool vt_pair_works(struct vt_pair *pair);

#endif /* VT_WORK_H */
