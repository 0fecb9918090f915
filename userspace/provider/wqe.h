/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Writing entries of a send queue: the common part of ibv_post_send() and ibv_wr_*(). All functions
 * need the send queue's lock.
 */
#ifndef SMR_PROVIDER_WQE_H
#define SMR_PROVIDER_WQE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <softmr-abi.h>

#include "softmr.h"

enum {
	SMR_SEND_FLAGS = IBV_SEND_FENCE | IBV_SEND_SIGNALED |
			 IBV_SEND_SOLICITED | IBV_SEND_INLINE,
	/* opcodes that send a payload, which can be inline */
	SMR_INLINE_OPS = 1 << IBV_WR_SEND | 1 << IBV_WR_SEND_WITH_IMM |
			 1 << IBV_WR_SEND_WITH_INV | 1 << IBV_WR_RDMA_WRITE |
			 1 << IBV_WR_RDMA_WRITE_WITH_IMM |
			 1 << IBV_WR_ATOMIC_WRITE,
	/* the operand of an ATOMIC WRITE, which is inline */
	SMR_ATOMIC_WRITE_LEN = 8,
};

/* Sends are accepted from RTS on; in SQE and ERR they complete with an error. Return: an errno. */
static inline int smr_refuses_sends(const struct smr_qp *qp)
{
	enum ibv_qp_state state = qp->vqp.qp.state;

	if (!qp->sq.ring.hdr)
		return smr_wq_refuse(&qp->sq, POST_NO_QUEUE,
				     qp->vqp.qp.qp_type);
	if (state == IBV_QPS_RESET || state == IBV_QPS_INIT ||
	    state == IBV_QPS_RTR)
		return smr_wq_refuse(&qp->sq, POST_STATE, state);
	return 0;
}

/* Fill the fields of an entry that do not depend on its opcode. */
static inline void smr_wqe_init(struct smr_send_wqe *wqe, uint64_t wr_id,
				uint8_t opcode, uint32_t send_flags)
{
	wqe->wr_id = wr_id;
	wqe->opcode = opcode;
	wqe->num_sge = 0;
	wqe->inline_len = 0;
	wqe->send_flags = send_flags;
	wqe->imm_or_rkey = 0;
	wqe->xrc_srqn = 0;
}

static inline void smr_wqe_set_rdma(struct smr_send_wqe *wqe, uint32_t rkey,
				    uint64_t remote_addr)
{
	wqe->rdma.remote_addr = remote_addr;
	wqe->rdma.rkey = rkey;
	wqe->rdma.rsvd = 0;
}

static inline void smr_wqe_set_atomic(struct smr_send_wqe *wqe, uint32_t rkey,
				      uint64_t remote_addr,
				      uint64_t compare_add, uint64_t swap)
{
	wqe->atomic.remote_addr = remote_addr;
	wqe->atomic.compare_add = compare_add;
	wqe->atomic.swap = swap;
	wqe->atomic.rkey = rkey;
	wqe->atomic.rsvd = 0;
}

static inline int smr_wqe_set_ud(struct smr_send_wqe *wqe,
				 const struct smr_wq *sq, struct ibv_ah *ah,
				 uint32_t remote_qpn, uint32_t remote_qkey)
{
	if (!ah)
		return smr_wq_refuse(sq, POST_NO_AH, 0);
	wqe->ud.ah_handle = to_smr_ah(ah)->number;
	wqe->ud.remote_qpn = remote_qpn;
	wqe->ud.remote_qkey = remote_qkey;
	wqe->ud.rsvd = 0;
	return 0;
}

/*
 * Without an MR (unbinding a type 1 window) the lkey is 0. The program chooses the low byte of the
 * key; the other bits are those of the window, whatever the program passes.
 */
static inline int smr_wqe_set_bind_mw(struct smr_send_wqe *wqe,
				      const struct smr_wq *sq,
				      const struct ibv_mw *mw, uint32_t rkey,
				      const struct ibv_mw_bind_info *info)
{
	if (!mw)
		return smr_wq_refuse(sq, POST_NO_WINDOW, 0);
	wqe->bind_mw.addr = info->addr;
	wqe->bind_mw.length = info->length;
	wqe->bind_mw.mr_lkey = info->mr ? info->mr->lkey : 0;
	wqe->bind_mw.mw_rkey = mw->rkey;
	wqe->bind_mw.new_rkey = (mw->rkey & ~0xffu) | (rkey & 0xff);
	wqe->bind_mw.access = info->mw_access_flags;
	return 0;
}

static inline int smr_wqe_set_sges(struct smr_send_wqe *wqe,
				   const struct smr_wq *sq, size_t num_sge,
				   const struct ibv_sge *sges)
{
	if (num_sge > sq->max_sge)
		return smr_wq_refuse(sq, POST_SGE, num_sge, sq->max_sge);
	wqe->num_sge = (uint8_t)num_sge;
	if (num_sge)
		memcpy(wqe->sge, sges, num_sge * sizeof(*sges));
	return 0;
}

/* Add @length bytes at @addr to the entry's inline data. */
static inline int smr_wqe_add_inline(struct smr_send_wqe *wqe,
				     const struct smr_wq *sq, const void *addr,
				     size_t length)
{
	uint8_t *data = (uint8_t *)wqe->sge + wqe->inline_len;

	if (length > sq->max_inline ||
	    wqe->inline_len > sq->max_inline - length)
		return smr_wq_refuse(sq, POST_INLINE_LENGTH,
				     wqe->inline_len + (uint64_t)length,
				     sq->max_inline);
	if (length)
		memcpy(data, addr, length);
	wqe->inline_len += (uint16_t)length;
	return 0;
}

#endif /* SMR_PROVIDER_WQE_H */
