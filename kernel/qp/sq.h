/* SPDX-License-Identifier: GPL-2.0 */
/* Send queues: the ring a process fills, and the kernel's copies of it. */
#ifndef SMR_SQ_H
#define SMR_SQ_H

#include <linux/spinlock.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "mw.h"
#include "qp/ring.h"

struct smr_qp;

enum smr_swqe_state {
	SMR_SWQE_POSTED,	/* copied and checked, nothing was sent */
	SMR_SWQE_STARTED,	/* has its PSNs, some of it was sent */
	SMR_SWQE_SENT,		/* all of it was sent */
};

/**
 * struct smr_flush - what a FLUSH is to flush
 * @len: bytes
 * @feth: the FETH: placement types and selectivity level
 */
struct smr_flush {
	u32 len;
	u32 feth;
};

/**
 * struct smr_swqe - the kernel's own copy of a send work request
 * @wr_id: the consumer's
 * @remote_addr: of WRITE, READ and atomics
 * @rkey: likewise
 * @compare_add: atomics
 * @swap: atomics
 * @ud: datagrams: the number of an address vector, the receiver's QP number
 *	and Q_Key
 * @imm_or_rkey: immediate data in network order, or the rkey to invalidate
 * @xrc_srqn: XRC: the receiving queue's number
 * @len: bytes of the message
 * @psn: its first PSN
 * @npsn: how many PSNs it takes
 * @send_flags: enum ib_uverbs send flags
 * @opcode: enum ib_wr_opcode
 * @num_sge: entries of @sge; 0 with inline data
 * @status: enum ib_wc_status, once it is known
 * @state: enum smr_swqe_state
 * @sge: the gather or scatter list
 * @data: inline data
 * @flush: how much to flush, and the FETH, of IB_WR_FLUSH
 * @bind: what to bind, of IB_UVERBS_WR_BIND_MW
 *
 * Owned by the QP's send task.
 */
struct smr_swqe {
	u64 wr_id;
	u64 remote_addr;
	union {
		struct {
			u64 compare_add;
			u64 swap;
		};
		struct {
			u32 ah;
			u32 qpn;
			u32 qkey;
		} ud;
	};
	u32 rkey;
	__be32 imm_or_rkey;
	u32 xrc_srqn;
	u32 len;
	u32 psn;
	u32 npsn;
	u32 send_flags;
	u8 opcode;
	u8 num_sge;
	u8 status;
	u8 state;
	union {
		struct smr_sge sge[SMR_MAX_SGE];
		u8 data[SMR_MAX_INLINE];
		struct smr_flush flush;
		struct smr_mw_bind bind;
	};
};

/**
 * struct smr_sq - a send queue
 * @ring: shared with the consumer; @ring.idx is the next to copy out
 * @wqes: the copies, see smr_sq_wqe()
 * @wqe_size: bytes from one copy to the next
 * @head: the oldest that is not retired
 * @next: the one to send next; head <= next <= ring.idx
 * @max_wr: how many may be outstanding
 * @max_sge: of each
 * @max_inline: bytes
 * @post_lock: a kernel consumer's posters, one at a time; IRQ-safe
 *
 * All owned by the send task but the constant maxima.
 */
struct smr_sq {
	/* the producer's side of @ring, see above */
	spinlock_t post_lock;
	struct smr_ring ring;
	void *wqes;
	size_t wqe_size;
	u32 head;
	u32 next;
	u32 max_wr;
	u32 max_sge;
	u32 max_inline;
};

static inline struct smr_swqe *smr_sq_wqe(const struct smr_sq *sq, u32 idx)
{
	return sq->wqes + (idx & (sq->ring.depth - 1)) * sq->wqe_size;
}

int smr_sq_create(struct smr_sq *sq, struct ib_ucontext *uctx,
		  const struct ib_qp_cap *cap, struct smr_ring_info *info);
void smr_sq_destroy(struct smr_sq *sq);
bool smr_sq_fetch(struct smr_qp *qp);

#endif /* SMR_SQ_H */
