// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * ibv_post_send() and ibv_bind_mw().
 */
#include "wqe.h"

enum {
	/* struct ibv_send_wr has no field for the type of flush */
	SMR_NOT_POSTABLE_OPS = 1 << IBV_WR_FLUSH,
};

static bool is_postable(const struct smr_qp *qp, enum ibv_wr_opcode opcode)
{
	return (unsigned int)opcode <= IBV_WR_ATOMIC_WRITE &&
	       1U << opcode & qp->send_ops & ~SMR_NOT_POSTABLE_OPS;
}

static int check_send(const struct smr_qp *qp, const struct ibv_send_wr *wr)
{
	const struct smr_wq *sq = &qp->sq;

	if (!is_postable(qp, wr->opcode))
		return smr_wq_refuse(sq, POST_OPCODE, wr->opcode,
				     qp->vqp.qp.qp_type);
	if (wr->send_flags & ~(unsigned int)SMR_SEND_FLAGS)
		return smr_wq_refuse(sq, POST_FLAGS, wr->send_flags,
				     wr->send_flags & ~(unsigned int)SMR_SEND_FLAGS);
	if ((wr->send_flags & IBV_SEND_INLINE) &&
	    !(1U << wr->opcode & SMR_INLINE_OPS))
		return smr_wq_refuse(sq, POST_INLINE, wr->opcode);
	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > sq->max_sge)
		return smr_wq_refuse(sq, POST_SGE, (uint32_t)wr->num_sge,
				     sq->max_sge);
	return 0;
}

static int write_op(const struct smr_qp *qp, struct smr_send_wqe *wqe,
		    const struct ibv_send_wr *wr)
{
	const struct smr_wq *sq = &qp->sq;

	switch (wr->opcode) {
	case IBV_WR_SEND:
	case IBV_WR_SEND_WITH_IMM:
	case IBV_WR_SEND_WITH_INV:
		if (qp->vqp.qp.qp_type != IBV_QPT_UD)
			return 0;
		return smr_wqe_set_ud(wqe, sq, wr->wr.ud.ah,
				      wr->wr.ud.remote_qpn,
				      wr->wr.ud.remote_qkey);
	case IBV_WR_ATOMIC_CMP_AND_SWP:
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		smr_wqe_set_atomic(wqe, wr->wr.atomic.rkey,
				   wr->wr.atomic.remote_addr,
				   wr->wr.atomic.compare_add,
				   wr->wr.atomic.swap);
		return 0;
	case IBV_WR_BIND_MW:
		wqe->imm_or_rkey = 0;
		return smr_wqe_set_bind_mw(wqe, sq, wr->bind_mw.mw,
					   wr->bind_mw.rkey,
					   &wr->bind_mw.bind_info);
	case IBV_WR_LOCAL_INV:
		return 0;
	default:
		smr_wqe_set_rdma(wqe, wr->wr.rdma.rkey,
				 wr->wr.rdma.remote_addr);
		return 0;
	}
}

static int write_payload(const struct smr_wq *sq, struct smr_send_wqe *wqe,
			 const struct ibv_send_wr *wr)
{
	int i, ret;

	if (!(wr->send_flags & IBV_SEND_INLINE))
		return smr_wqe_set_sges(wqe, sq, wr->num_sge, wr->sg_list);

	for (i = 0; i < wr->num_sge; i++) {
		const struct ibv_sge *sge = &wr->sg_list[i];

		ret = smr_wqe_add_inline(wqe, sq, (void *)(uintptr_t)sge->addr,
					 sge->length);
		if (ret)
			return ret;
	}
	return 0;
}

/* Write one entry. Caller holds the lock. */
static int write_send(struct smr_qp *qp, const struct ibv_send_wr *wr)
{
	struct smr_send_wqe *wqe;
	int ret;

	ret = check_send(qp, wr);
	if (ret)
		return ret;
	if (smr_wq_full(&qp->sq))
		return smr_wq_refuse_full(&qp->sq);

	wqe = smr_ring_entry(&qp->sq.ring, qp->sq.prod);
	smr_wqe_init(wqe, wr->wr_id, wr->opcode, wr->send_flags);
	wqe->imm_or_rkey = wr->invalidate_rkey;
	if (qp->vqp.qp.qp_type == IBV_QPT_XRC_SEND)
		wqe->xrc_srqn = wr->qp_type.xrc.remote_srqn;

	ret = write_op(qp, wqe, wr);
	if (!ret)
		ret = write_payload(&qp->sq, wqe, wr);
	if (ret)
		return ret;
	qp->sq.prod++;
	return 0;
}

/*
 * Publish the chain @wr up to its first bad request, which *@bad_wr names.
 * *@posted says whether any request came before it.
 */
static int write_send_chain(struct smr_qp *qp, struct ibv_send_wr *wr,
			    struct ibv_send_wr **bad_wr, bool *posted)
{
	uint32_t first;
	int ret = 0;

	smr_lock(&qp->sq.lock);
	first = qp->sq.prod;
	for (; wr; wr = wr->next) {
		ret = write_send(qp, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	*posted = qp->sq.prod != first;
	if (*posted)
		smr_wq_publish(&qp->sq);
	smr_unlock(&qp->sq.lock);
	return ret;
}

/**
 * smr_sq_ring - notify the kernel of published send requests
 * @qp: the QP; its SQ's lock is not held
 *
 * Return: 0, or the errno of the doorbell.
 */
int smr_sq_ring(const struct smr_qp *qp)
{
	return smr_ring_bell(&qp->vqp.qp, SMR_IOC_RING_SQ);
}

/**
 * smr_post_send - post send requests
 * @ibqp: a QP in RTS, SQD, SQE or ERR
 * @wr: a chain of requests
 * @bad_wr: on failure the first request that was not posted
 *
 * The doorbell runs the requests in this thread's context, without the lock: at
 * the same time other threads may post and ring. It fails only if the device is
 * gone, and then no request of the chain will complete.
 */
int smr_post_send(struct ibv_qp *ibqp, struct ibv_send_wr *wr,
		  struct ibv_send_wr **bad_wr)
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	bool posted;
	int ret, err;

	ret = smr_refuses_sends(qp);
	if (ret) {
		*bad_wr = wr;
		return ret;
	}

	ret = write_send_chain(qp, wr, bad_wr, &posted);
	if (!posted)
		return ret;

	err = smr_sq_ring(qp);
	if (err) {
		*bad_wr = wr;
		return err;
	}
	return ret;
}

/**
 * smr_bind_mw - bind or, with length 0, unbind a type 1 window
 * @ibqp: the QP whose send queue carries the bind
 * @mw: the window; libibverbs has checked its type and PD
 * @mw_bind: the range; its MR may be NULL to unbind
 *
 * @mw has the new rkey before the kernel can see the request: another thread
 * may find the completion, and use the key, before this function returns. If
 * the bind completes with an error, the window keeps its old rkey, which the
 * application must restore in @mw.
 */
int smr_bind_mw(struct ibv_qp *ibqp, struct ibv_mw *mw,
		struct ibv_mw_bind *mw_bind)
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	struct ibv_send_wr wr = {
		.wr_id = mw_bind->wr_id,
		.opcode = IBV_WR_BIND_MW,
		.send_flags = mw_bind->send_flags,
		.bind_mw = { .mw = mw, .bind_info = mw_bind->bind_info },
	};
	int ret;

	/* Only type 2 windows can be zero based. */
	if (mw_bind->bind_info.mw_access_flags & IBV_ACCESS_ZERO_BASED)
		return smr_wq_refuse(&qp->sq, POST_ZERO_BASED,
				     mw_bind->bind_info.mw_access_flags);
	ret = smr_refuses_sends(qp);
	if (ret)
		return ret;

	smr_lock(&qp->sq.lock);
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	ret = write_send(qp, &wr);
	if (!ret) {
		mw->rkey = wr.bind_mw.rkey;
		smr_wq_publish(&qp->sq);
	}
	smr_unlock(&qp->sq.lock);
	return ret ? ret : smr_sq_ring(qp);
}
