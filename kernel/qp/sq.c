// SPDX-License-Identifier: GPL-2.0
/*
 * Copy work requests out of the send ring, and complete them in order. Runs in the send task.
 */
#include "qp/sq.h"

#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/slab.h>

#include "compat/ib.h"
#include "net/wire.h"
#include "qp/core.h"
#include "qp/cq.h"
#include "qp/opcode.h"
#include "qp/send_why.h"
#include "stats.h"
#include "trace.h"
#include "why.h"

/*
 * Each entry can hold the operand of an ATOMIC WRITE, which is inline, even if the queue was
 * created without inline data.
 */
#define BODY_MIN	sizeof(u64)

/**
 * smr_sq_create() - create a send queue
 * @sq: filled in
 * @user: its owner; its @info is filled in
 * @cap: requested capabilities; checked by the caller
 *
 * Context: process.
 * Return: 0 or -ENOMEM.
 */
int smr_sq_create(struct smr_sq *sq, const struct smr_ring_user *user,
		  const struct ib_qp_cap *cap)
{
	u32 body = max_t(u32, cap->max_send_sge * sizeof(struct smr_sge),
			 cap->max_inline_data);
	u32 depth = roundup_pow_of_two(max(cap->max_send_wr, 1U));
	int err;

	body = ALIGN(max_t(u32, body, BODY_MIN), sizeof(struct smr_sge));
	sq->wqe_size = offsetof(struct smr_swqe, sge) +
		       max_t(size_t, body, sizeof(struct smr_mw_bind));
	sq->wqes = kvcalloc(depth, sq->wqe_size, GFP_KERNEL_ACCOUNT);
	if (!sq->wqes)
		return -ENOMEM;
	err = smr_ring_create(&sq->ring, user, depth,
			      ALIGN(sizeof(struct smr_send_wqe) + body, 64),
			      depth * sq->wqe_size);
	if (err) {
		kvfree(sq->wqes);
		sq->wqes = NULL;
		return err;
	}
	spin_lock_init(&sq->post_lock);
	sq->max_wr = cap->max_send_wr;
	sq->max_sge = cap->max_send_sge;
	sq->max_inline = cap->max_inline_data;
	user->info->max_wr = sq->max_wr;
	user->info->max_sge = sq->max_sge;
	user->info->max_inline = sq->max_inline;
	return 0;
}

/**
 * smr_sq_destroy() - free a send queue
 * @sq: no longer used by a task; may be zeroed
 */
void smr_sq_destroy(struct smr_sq *sq)
{
	if (!sq->wqes)
		return;
	smr_ring_destroy(&sq->ring);
	kvfree(sq->wqes);
}

/* Sum up the lengths of a list. False: more than the maximum message. The sum cannot wrap. */
static bool wqe_length(struct smr_swqe *wqe)
{
	u64 len = 0;
	int i;

	for (i = 0; i < wqe->num_sge; i++)
		len += wqe->sge[i].length;
	wqe->len = len;
	return len <= SMR_MESSAGE_MAX;
}

/*
 * A bind has no list. Its fields are checked when it is executed. A fast
 * registration has the same fields.
 */
static u8 wqe_copy_bind(struct smr_swqe *wqe, const struct smr_send_wqe *user)
{
	wqe->num_sge = 0;
	wqe->len = 0;
	wqe->bind = (struct smr_mw_bind){
		.mw_rkey = user->bind_mw.mw_rkey,
		.new_rkey = user->bind_mw.new_rkey,
		.mr_lkey = user->bind_mw.mr_lkey,
		.access = user->bind_mw.access,
		.addr = user->bind_mw.addr,
		.length = user->bind_mw.length,
	};
	return IB_WC_SUCCESS;
}

/* A FLUSH has no payload, only a range. */
static u8 wqe_copy_flush(struct smr_swqe *wqe, const struct smr_send_wqe *user)
{
	wqe->num_sge = 0;
	wqe->len = 0;
	wqe->rkey = user->flush.rkey;
	if (!user->flush.type ||
	    user->flush.type & ~(IB_FLUSH_GLOBAL | IB_FLUSH_PERSISTENT) ||
	    user->flush.level > IB_FLUSH_MR)
		return IB_WC_LOC_QP_OP_ERR;
	if (user->flush.length > SMR_MESSAGE_MAX)
		return IB_WC_LOC_LEN_ERR;
	wqe->flush.len = user->flush.length;
	wqe->flush.feth = user->flush.type |
			  user->flush.level << SMR_FETH_LEVEL_SHIFT;
	return IB_WC_SUCCESS;
}

/* Inline data follows the entry in the ring. */
static u8 wqe_copy_inline(struct smr_qp *qp, u32 idx, struct smr_swqe *wqe,
			  const struct smr_wr_info *wr, u16 inline_len)
{
	u32 max = wr->flags & SMR_WR_ATOMIC_WRITE ? BODY_MIN :
						    qp->sq.max_inline;

	wqe->num_sge = 0;
	wqe->len = inline_len;
	if (wr->flags & SMR_WR_FETCHES || inline_len > max)
		return IB_WC_LOC_QP_OP_ERR;
	smr_ring_copy_at(&qp->sq.ring, idx, sizeof(struct smr_send_wqe),
			 wqe->data, inline_len);
	return IB_WC_SUCCESS;
}

/* A list of SGEs. */
static u8 wqe_copy_list(struct smr_qp *qp, u32 idx, struct smr_swqe *wqe)
{
	struct smr_sq *sq = &qp->sq;

	if (wqe->num_sge > sq->max_sge)
		return IB_WC_LOC_QP_OP_ERR;
	smr_ring_copy_at(&sq->ring, idx, sizeof(struct smr_send_wqe), wqe->sge,
			 wqe->num_sge * sizeof(wqe->sge[0]));
	return wqe_length(wqe) ? IB_WC_SUCCESS : IB_WC_LOC_LEN_ERR;
}

/* Copy the body: inline data or a list. The process may change the slot at any time. */
static u8 wqe_copy_body(struct smr_qp *qp, u32 idx, struct smr_swqe *wqe,
			const struct smr_wr_info *wr, const struct smr_send_wqe *user)
{
	u8 status;

	if (!wr || (wr->flags & SMR_WR_KERNEL && smr_ring_is_user(&qp->sq.ring)))
		return IB_WC_LOC_QP_OP_ERR;
	if (wr->flags & SMR_WR_BINDS)
		return wqe_copy_bind(wqe, user);
	if (wr->flags & SMR_WR_FLUSH)
		return wqe_copy_flush(wqe, user);
	if (wr->flags & SMR_WR_LOCAL) {
		wqe->num_sge = 0;
		wqe->len = 0;
		return IB_WC_SUCCESS;
	}
	status = wqe->send_flags & IB_SEND_INLINE ?
		 wqe_copy_inline(qp, idx, wqe, wr, user->inline_len) :
		 wqe_copy_list(qp, idx, wqe);
	if (status)
		return status;
	if (wr->len && wqe->len != wr->len)
		return IB_WC_LOC_LEN_ERR;
	return IB_WC_SUCCESS;
}

/* Copy one work request out of the ring. Only the copy is checked and used. */
static void wqe_copy(struct smr_qp *qp, u32 idx)
{
	struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, idx);
	const struct smr_wr_info *wr;
	struct smr_send_wqe user;

	smr_ring_copy_at(&qp->sq.ring, idx, 0, &user, sizeof(user));
	wqe->wr_id = user.wr_id;
	wqe->opcode = user.opcode;
	wqe->num_sge = user.num_sge;
	wqe->send_flags = user.send_flags;
	wqe->imm_or_rkey = (__force __be32)user.imm_or_rkey;
	wqe->xrc_srqn = user.xrc_srqn;
	/* The same offset in both layouts, see the static assertions. */
	wqe->remote_addr = user.rdma.remote_addr;
	wqe->rkey = user.rdma.rkey;
	wqe->state = SMR_SWQE_POSTED;
	wr = smr_wr_info(qp->ibqp.qp_type, wqe->opcode);
	if (wr && wr->flags & SMR_WR_ATOMIC) {
		wqe->rkey = user.atomic.rkey;
		wqe->compare_add = user.atomic.compare_add;
		wqe->swap = user.atomic.swap;
	}
	if (qp->service == SMR_TRANSPORT_UD) {
		wqe->ud.ah = user.ud.ah_handle;
		wqe->ud.qpn = user.ud.remote_qpn;
		wqe->ud.qkey = user.ud.remote_qkey;
	}
	wqe->status = wqe_copy_body(qp, idx, wqe, wr, &user);
	if (wqe->status)
		smr_qp_inc(qp, SMR_CNT_BAD_WQE);
}

static_assert(offsetof(struct smr_send_wqe, rdma.remote_addr) ==
	      offsetof(struct smr_send_wqe, atomic.remote_addr));
static_assert(offsetof(struct smr_send_wqe, rdma.remote_addr) ==
	      offsetof(struct smr_send_wqe, flush.remote_addr));

/* Copy the next of @pending work requests out of the ring. */
static bool sq_take(struct smr_qp *qp, int pending)
{
	struct smr_sq *sq = &qp->sq;

	if (pending <= 0 || sq->ring.idx - sq->head >= sq->ring.depth)
		return false;
	wqe_copy(qp, sq->ring.idx);
	sq->ring.idx++;
	return true;
}

/* The QP gets the fatal event, and nothing more is taken from the ring. */
static void __cold ring_broken(struct smr_qp *qp)
{
	struct smr_sq *sq = &qp->sq;

	sq->ring.idx = READ_ONCE(sq->ring.hdr->prod);
	sq->head = sq->ring.idx;
	smr_snd_abandon(&qp->snd, sq->head);
	smr_qp_inc(qp, SMR_CNT_BAD_WQE);
	/* Only once: an event takes memory until the process reads it. */
	if (READ_ONCE(qp->state) != IB_QPS_ERR) {
		smr_qp_refused(qp, SMR_REASON(SEND_RING), IB_WC_LOC_QP_OP_ERR, 0, 0, 0);
		smr_qp_event(qp, IB_EVENT_QP_FATAL);
	}
	smr_qp_error(qp);
}

/**
 * smr_sq_fetch() - copy the next work request out of the ring, if there is one
 * @qp: the caller owns its send task
 *
 * A producer index beyond the size of the ring is an error of the process.
 *
 * Return: false if there is none.
 */
bool smr_sq_fetch(struct smr_qp *qp)
{
	struct smr_sq *sq = &qp->sq;
	int pending;

	if (!sq->max_wr)
		return false;
	pending = smr_ring_pending(&sq->ring);
	if (pending < 0) {
		ring_broken(qp);
		return false;
	}
	return sq_take(qp, pending);
}

/**
 * smr_sq_fetch_more() - copy one more work request while others are being sent
 * @qp: the caller owns its send task
 *
 * Return: false if there is none, or if the producer index is invalid: smr_sq_fetch() handles
 *	that after all fetched requests were sent.
 */
bool smr_sq_fetch_more(struct smr_qp *qp)
{
	return sq_take(qp, smr_ring_pending(&qp->sq.ring));
}

static bool wqe_is_signaled(const struct smr_qp *qp,
			    const struct smr_swqe *wqe)
{
	return qp->sig_all || wqe->send_flags & IB_SEND_SIGNALED;
}

/* Post the completion of a work request if it is signaled or has failed. */
static void send_done(struct smr_qp *qp, const struct smr_swqe *wqe,
		      enum ib_wc_status status, u32 why)
{
	const struct smr_wr_info *wr = smr_wr_info(qp->ibqp.qp_type,
						   wqe->opcode);
	struct smr_cqe cqe = {
		.wr_id = wqe->wr_id,
		.status = status,
		.opcode = wr ? wr->wc : IB_WC_SEND,
		.byte_len = status ? 0 : wqe->len,
		.vendor_err = why,
		.qp_num = qp->ibqp.qp_num,
	};

	if (!status && !wqe_is_signaled(qp, wqe))
		return;
	trace_smr_send_done(&qp->ibqp, cqe.wr_id, status, cqe.byte_len);
	if (unlikely(!smr_cq_post(qp->scq, &cqe, &qp->ibqp, status != IB_WC_SUCCESS)))
		smr_qp_overrun(qp, qp->scq, &cqe);
}

/*
 * Return the slot of the oldest work request to the consumer. The consumer must see that before
 * the completion. The kernel's copy stays valid until the next one is fetched.
 */
static void send_pop(struct smr_qp *qp)
{
	struct smr_sq *sq = &qp->sq;

	sq->head++;
	smr_snd_popped(&qp->snd, sq->head);
	/* Pairs with the producer, which may now reuse the slot. */
	smp_store_release(&sq->ring.hdr->cons, sq->head);
}

/**
 * smr_send_begin() - trace the start of a message of the send queue
 * @qp: the caller owns its send task
 * @wqe: the work request
 * @psn: its first PSN; 0 for frames
 * @npsn: the number of its PSNs; 1 for datagrams and frames
 */
void smr_send_begin(struct smr_qp *qp, const struct smr_swqe *wqe, u32 psn,
		    u32 npsn)
{
	trace_smr_send_start(&qp->ibqp, wqe->wr_id, wqe->opcode,
			     wqe->len, psn, npsn);
}

/**
 * smr_send_retire() - complete the oldest send work request with success
 * @qp: the caller owns its send task
 */
void smr_send_retire(struct smr_qp *qp)
{
	struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);
	struct smr_sent *sent = &qp->req.sent;

	send_pop(qp);
	smr_tally(&sent->messages, 1);
	smr_tally(&sent->bytes, wqe->len);
	if (wqe_is_signaled(qp, wqe))
		send_done(qp, wqe, IB_WC_SUCCESS, 0);
}

/* Successful requests are not counted here, so this costs them nothing. */
static void count_error(const struct smr_qp *qp, enum ib_wc_status status)
{
	smr_qp_inc(qp, SMR_CNT_REQ_ERROR);
	switch (status) {
	case IB_WC_WR_FLUSH_ERR:
		smr_qp_inc(qp, SMR_CNT_REQ_FLUSH);
		break;
	case IB_WC_REM_ACCESS_ERR:
		smr_qp_inc(qp, SMR_CNT_REQ_ACCESS);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		smr_qp_inc(qp, SMR_CNT_REQ_INVALID);
		break;
	default:
		break;
	}
}

/**
 * smr_send_fail() - complete the oldest send work request with an error
 * @qp: the caller owns its send task
 * @status: the error
 *
 * IBTA 10.3.1: the error stops the QP, or its send queue. Later work requests are flushed.
 */
void smr_send_fail(struct smr_qp *qp, enum ib_wc_status status)
{
	const struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);
	struct smr_reason why = smr_send_why(qp, wqe, status);

	smr_qp_refused(qp, why, status, wqe->wr_id, wqe->opcode,
		       wqe->state == SMR_SWQE_POSTED ? 0 : wqe->psn);
	send_pop(qp);
	/*
	 * The state changes first, so that a consumer that sees the completion also sees the
	 * state.
	 */
	smr_qp_send_error(qp);
	count_error(qp, status);
	send_done(qp, wqe, status, why.id);
	/* Not earlier, or flushed receives could complete before the error. */
	smr_qp_flush(qp);
}

/**
 * smr_send_flush() - complete the oldest send work request as flushed
 * @qp: the QP, in error
 *
 * Context: any; called by the send task.
 */
void smr_send_flush(struct smr_qp *qp)
{
	const struct smr_swqe *wqe = smr_sq_wqe(&qp->sq, qp->sq.head);

	send_pop(qp);
	count_error(qp, IB_WC_WR_FLUSH_ERR);
	send_done(qp, wqe, IB_WC_WR_FLUSH_ERR, SMR_WHY_WR_FLUSHED);
}
