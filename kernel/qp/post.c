// SPDX-License-Identifier: GPL-2.0
/*
 * Posting by kernel consumers. They have the same rings as a process, but the rings are not
 * mapped. This file does what the provider does for a process.
 *
 * They post from any context, with any lock held, and their completion handlers may take the
 * same locks. So a task runs here only if the caller cannot hold a spinlock, and otherwise in
 * the workqueue.
 */
#include "qp/post.h"

#include <linux/preempt.h>
#include <linux/string.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "qp/srq.h"
#include "why.h"

/* Flags of a work request that have an effect; other flags are hints. */
#define POST_FLAGS	(IB_SEND_FENCE | IB_SEND_SIGNALED | \
			 IB_SEND_SOLICITED | IB_SEND_INLINE)

/*
 * On PREEMPT_RT, or without CONFIG_PREEMPT_COUNT, preemptible() cannot prove that no
 * spinlock is held. A completion handler is called with BH off, so a task never runs
 * nested in it.
 */
static void task_post(struct smr_task *task)
{
	if (preemptible() && !IS_ENABLED(CONFIG_PREEMPT_RT)) {
		guard(smr_bh)();
		smr_task_kick(task);
	} else {
		smr_task_defer(task);
	}
}

/* Only the caller changes the ring's producer index. */
static u32 ring_room(const struct smr_ring *ring, u32 max_wr)
{
	/* Pairs with the release when the task gives a slot back. */
	return max_wr - (ring->hdr->prod - smp_load_acquire(&ring->hdr->cons));
}

static void ring_publish(struct smr_ring *ring)
{
	/* Pairs with smr_ring_pending(): the entry is complete. */
	smp_store_release(&ring->hdr->prod, ring->hdr->prod + 1);
}

static void sges_copy(struct smr_sge *to, const struct ib_sge *from, int n)
{
	int i;

	for (i = 0; i < n; i++)
		to[i] = (struct smr_sge){
			.addr = from[i].addr,
			.length = from[i].length,
			.lkey = from[i].lkey,
		};
}

/* Copy inline data from kernel virtual addresses; keys are ignored. */
static int inline_copy(const struct smr_qp *qp, struct smr_send_wqe *wqe,
		       const struct ib_send_wr *wr)
{
	u32 max = qp->sq.max_inline;
	u8 *to = (u8 *)wqe->sge;
	u32 len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++) {
		if (wr->sg_list[i].length > max - len)
			return smr_qp_why(qp, POST_INLINE_LENGTH,
					  len + (u64)wr->sg_list[i].length, max);
		memcpy(to + len, (void *)(unsigned long)wr->sg_list[i].addr,
		       wr->sg_list[i].length);
		len += wr->sg_list[i].length;
	}
	wqe->num_sge = 0;
	wqe->inline_len = len;
	return 0;
}

static int body_copy(const struct smr_qp *qp, struct smr_send_wqe *wqe,
		     const struct ib_send_wr *wr)
{
	if (wr->num_sge < 0 || wr->num_sge > qp->sq.max_sge)
		return smr_qp_why(qp, POST_SGE, wr->num_sge, qp->sq.max_sge);
	if (wr->send_flags & IB_SEND_INLINE)
		return inline_copy(qp, wqe, wr);
	wqe->num_sge = wr->num_sge;
	sges_copy(wqe->sge, wr->sg_list, wr->num_sge);
	return 0;
}

/*
 * Copy iova and length now: the consumer may have changed the iova after mapping, and may
 * change the region again as soon as this returns.
 */
static void reg_copy(struct smr_send_wqe *wqe, const struct ib_reg_wr *wr)
{
	wqe->bind_mw.addr = wr->mr->iova;
	wqe->bind_mw.length = wr->mr->length;
	wqe->bind_mw.mr_lkey = wr->mr->lkey;
	wqe->bind_mw.new_rkey = wr->key;
	wqe->bind_mw.access = wr->access;
}

static void atomic_copy(struct smr_send_wqe *wqe, const struct ib_atomic_wr *wr)
{
	wqe->atomic.remote_addr = wr->remote_addr;
	wqe->atomic.compare_add = wr->compare_add;
	wqe->atomic.swap = wr->swap;
	wqe->atomic.rkey = wr->rkey;
}

static void rdma_copy(struct smr_send_wqe *wqe, const struct ib_rdma_wr *wr)
{
	wqe->rdma.remote_addr = wr->remote_addr;
	wqe->rdma.rkey = wr->rkey;
}

static void ud_copy(struct smr_send_wqe *wqe, const struct ib_ud_wr *wr)
{
	wqe->ud.ah_handle = to_smr_ah(wr->ah)->av->number;
	wqe->ud.remote_qpn = wr->remote_qpn;
	wqe->ud.remote_qkey = wr->remote_qkey;
}

/* Copy the fields that depend on the opcode. */
static void operation_copy(const struct smr_qp *qp, struct smr_send_wqe *wqe,
			   u32 flags, const struct ib_send_wr *wr)
{
	wqe->imm_or_rkey = (__force u32)wr->ex.imm_data;
	if (qp->service == SMR_TRANSPORT_UD)
		ud_copy(wqe, ud_wr(wr));
	else if (wr->opcode == IB_WR_REG_MR)
		reg_copy(wqe, reg_wr(wr));
	else if (flags & SMR_WR_ATOMIC)
		atomic_copy(wqe, atomic_wr(wr));
	else if (flags & (SMR_WR_WRITE | SMR_WR_READ))
		rdma_copy(wqe, rdma_wr(wr));
}

static int send_one(struct smr_qp *qp, const struct ib_send_wr *wr)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	const struct smr_wr_info *info;
	struct smr_sq *sq = &qp->sq;
	struct smr_send_wqe *wqe;
	int err = 0;

	lockdep_assert_held(&sq->post_lock);
	/* IBTA 10.8.3.1: allowed from RTS on; in an error state it is flushed. */
	if (state < IB_QPS_RTS)
		return smr_qp_why(qp, POST_STATE, state);
	info = wr->opcode <= U8_MAX ?
	       smr_wr_info(qp->ibqp.qp_type, wr->opcode) : NULL;
	if (!info || wr->opcode == (enum ib_wr_opcode)IB_UVERBS_WR_BIND_MW)
		return smr_qp_why(qp, POST_OPCODE, wr->opcode, qp->ibqp.qp_type);
	if (!ring_room(&sq->ring, sq->max_wr))
		return smr_qp_why(qp, POST_FULL, sq->max_wr);
	wqe = smr_ring_slot(&sq->ring, sq->ring.hdr->prod);
	*wqe = (struct smr_send_wqe){
		.wr_id = wr->wr_id,
		.opcode = wr->opcode,
		.send_flags = wr->send_flags & POST_FLAGS,
	};
	operation_copy(qp, wqe, info->flags, wr);
	if (!(info->flags & SMR_WR_LOCAL))
		err = body_copy(qp, wqe, wr);
	if (!err)
		ring_publish(&sq->ring);
	return err;
}

/* Set *@bad on failure only: some consumers (RDS) test it. */
static int send_list(struct smr_qp *qp, const struct ib_send_wr *wr,
		     const struct ib_send_wr **bad)
{
	int err;

	lockdep_assert_held(&qp->sq.post_lock);
	for (; wr; wr = wr->next) {
		err = send_one(qp, wr);
		if (err) {
			*bad = wr;
			return err;
		}
	}
	return 0;
}

/**
 * smr_post_send() - ib_device_ops.post_send
 * @qp: of a kernel consumer
 * @wr: the work requests
 * @bad: set to the first that was not posted, on failure only
 *
 * The work requests before @bad are posted.
 *
 * Context: any, with any lock held; takes the queue's post_lock.
 * Return: 0; -EINVAL (state, opcode, list or inline data), -ENOMEM (full).
 */
int smr_post_send(struct smr_qp *qp, const struct ib_send_wr *wr,
		  const struct ib_send_wr **bad)
{
	int err;

	scoped_guard(spinlock_irqsave, &qp->sq.post_lock)
		err = send_list(qp, wr, bad);
	task_post(&qp->send_task);
	return err;
}

/* Log why recv_list() did not post a work request. */
static void __cold recv_refused(struct smr_why_log *log, u32 qpn,
				const struct smr_rq *rq,
				const struct ib_recv_wr *bad, int err)
{
	if (err == -ENOMEM)
		smr_why_qp(log, qpn, POST_FULL, rq->max_wr);
	else
		smr_why_qp(log, qpn, POST_SGE, bad->num_sge, rq->max_sge);
}

static int recv_one(struct smr_rq *rq, const struct ib_recv_wr *wr)
{
	struct smr_recv_wqe *wqe;

	lockdep_assert_held(&rq->post_lock);
	if (wr->num_sge < 0 || wr->num_sge > rq->max_sge)
		return -EINVAL;
	if (!ring_room(&rq->ring, rq->max_wr))
		return -ENOMEM;
	wqe = smr_ring_slot(&rq->ring, rq->ring.hdr->prod);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	sges_copy(wqe->sge, wr->sg_list, wr->num_sge);
	ring_publish(&rq->ring);
	return 0;
}

static int recv_list(struct smr_rq *rq, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	int err;

	guard(spinlock_irqsave)(&rq->post_lock);
	for (; wr; wr = wr->next) {
		err = recv_one(rq, wr);
		if (err) {
			*bad = wr;
			return err;
		}
	}
	return 0;
}

/**
 * smr_post_recv() - ib_device_ops.post_recv
 * @qp: of a kernel consumer, without a shared receive queue
 * @wr: the work requests
 * @bad: set to the first that was not posted, on failure only
 *
 * Context: any, with any lock held; takes the queue's post_lock.
 * Return: 0; -EINVAL (state, or too long a list), -ENOMEM (full).
 */
int smr_post_recv(struct smr_qp *qp, const struct ib_recv_wr *wr,
		  const struct ib_recv_wr **bad)
{
	enum ib_qp_state state = READ_ONCE(qp->state);
	struct smr_ring *ring = &qp->rq.ring;
	int err;

	if (qp->srq || state == IB_QPS_RESET) {
		*bad = wr;
		return qp->srq ? smr_qp_why(qp, POST_NO_QUEUE, qp->ibqp.qp_type) :
				 smr_qp_why(qp, POST_STATE, state);
	}
	err = recv_list(&qp->rq, wr, bad);
	if (err)
		recv_refused(qp->whys, qp->ibqp.qp_num, &qp->rq, *bad, err);
	/* Pairs with smr_ring_set_flags(): one side sees the store of the other. */
	smp_mb();
	if (READ_ONCE(ring->hdr->flags) & SMR_RING_NEED_DOORBELL)
		task_post(&qp->resp_task);
	return err;
}

/**
 * smr_post_srq_recv() - ib_device_ops.post_srq_recv
 * @srq: of a kernel consumer
 * @wr: the work requests
 * @bad: set to the first that was not posted, on failure only
 *
 * Context: any, with any lock held; takes the queue's post_lock.
 * Return: 0; -EINVAL (too long a list), -ENOMEM (full).
 */
int smr_post_srq_recv(struct smr_srq *srq, const struct ib_recv_wr *wr,
		      const struct ib_recv_wr **bad)
{
	int err = recv_list(&srq->rq, wr, bad);

	if (err)
		recv_refused(to_smr_pd(srq->ibsrq.pd)->whys, 0, &srq->rq, *bad,
			     err);
	return err;
}
