// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ibv_wr_*() interface. Entries are written in place in the ring. They
 * become visible all at once in ibv_wr_complete(), or not at all.
 */
#include "wqe.h"

#include <util/compiler.h>

static void fail(struct smr_qp *qp, int err)
{
	if (!qp->wr_err)
		qp->wr_err = err;
	qp->wr = NULL;
}

/* See begin_ud(). */
static void note_no_ah(const struct smr_qp *qp)
{
	if (qp->wr)
		smr_wq_refuse(&qp->sq, POST_NO_AH, 0);
}

/* Begin the next entry. Return: the entry, or NULL if the batch has failed. */
static struct smr_send_wqe *begin(struct ibv_qp_ex *qpx, uint8_t opcode)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	if (unlikely(qp->wr_err)) {
		/*
		 * Fields that are set from now on do not belong to the previous
		 * entry.
		 */
		note_no_ah(qp);
		qp->wr = NULL;
		return NULL;
	}
	if (unlikely(!(qp->send_ops & 1U << opcode))) {
		fail(qp, smr_wq_refuse(&qp->sq, POST_OPCODE, opcode, qpx->qp_base.qp_type));
		return NULL;
	}
	if (unlikely(qpx->wr_flags & ~(unsigned int)SMR_SEND_FLAGS)) {
		fail(qp, smr_wq_refuse(&qp->sq, POST_FLAGS, qpx->wr_flags,
				       qpx->wr_flags & ~(unsigned int)SMR_SEND_FLAGS));
		return NULL;
	}
	if (unlikely(smr_wq_full(&qp->sq))) {
		fail(qp, smr_wq_refuse_full(&qp->sq));
		return NULL;
	}

	qp->wr = smr_ring_entry(&qp->sq.ring, qp->sq.prod++);
	qp->wr_opcode = opcode;
	/*
	 * The function that sets the data decides whether it is inline; no flag
	 * does.
	 */
	smr_wqe_init(qp->wr, qpx->wr_id, opcode, qpx->wr_flags & ~(unsigned int)IBV_SEND_INLINE);
	return qp->wr;
}

static void rdma(struct ibv_qp_ex *qpx, uint8_t opcode, uint32_t rkey,
		 uint64_t remote_addr, uint32_t imm)
{
	struct smr_send_wqe *wqe = begin(qpx, opcode);

	if (!wqe)
		return;
	smr_wqe_set_rdma(wqe, rkey, remote_addr);
	wqe->imm_or_rkey = imm;
}

static void wr_rdma_write(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr)
{
	rdma(qpx, IBV_WR_RDMA_WRITE, rkey, remote_addr, 0);
}

static void wr_rdma_write_imm(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, __be32 imm_data)
{
	rdma(qpx, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, remote_addr, smr_imm_to_abi(imm_data));
}

static void wr_rdma_read(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t remote_addr)
{
	rdma(qpx, IBV_WR_RDMA_READ, rkey, remote_addr, 0);
}

static void wr_atomic_write(struct ibv_qp_ex *qpx, uint32_t rkey,
			    uint64_t remote_addr, const void *atomic_wr)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_ATOMIC_WRITE);
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	if (!wqe)
		return;
	/*
	 * This does not need max_inline_data of the QP: the operand takes the
	 * space of one SGE.
	 */
	if (qp->sq.ring.stride < sizeof(*wqe) + SMR_ATOMIC_WRITE_LEN) {
		fail(qp, smr_wq_refuse(&qp->sq, POST_ATOMIC_WRITE, 0));
		return;
	}
	smr_wqe_set_rdma(wqe, rkey, remote_addr);
	wqe->send_flags |= IBV_SEND_INLINE;
	wqe->inline_len = SMR_ATOMIC_WRITE_LEN;
	memcpy(wqe->sge, atomic_wr, SMR_ATOMIC_WRITE_LEN);
}

static void wr_atomic_cmp_swp(struct ibv_qp_ex *qpx, uint32_t rkey,
			      uint64_t remote_addr, uint64_t compare,
			      uint64_t swap)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_ATOMIC_CMP_AND_SWP);

	if (wqe)
		smr_wqe_set_atomic(wqe, rkey, remote_addr, compare, swap);
}

static void wr_atomic_fetch_add(struct ibv_qp_ex *qpx, uint32_t rkey,
				uint64_t remote_addr, uint64_t add)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_ATOMIC_FETCH_AND_ADD);

	if (wqe)
		smr_wqe_set_atomic(wqe, rkey, remote_addr, add, 0);
}

static void wr_flush(struct ibv_qp_ex *qpx, uint32_t rkey,
		     uint64_t remote_addr, size_t len, uint8_t type,
		     uint8_t level)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_FLUSH);

	if (!wqe)
		return;
	wqe->flush.remote_addr = remote_addr;
	wqe->flush.length = len;
	wqe->flush.rkey = rkey;
	wqe->flush.type = type;
	wqe->flush.level = level;
	wqe->flush.rsvd = 0;
}

static void wr_bind_mw(struct ibv_qp_ex *qpx, struct ibv_mw *mw, uint32_t rkey,
		       const struct ibv_mw_bind_info *info)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_BIND_MW);
	struct smr_qp *qp = to_smr_qp_ex(qpx);
	int ret;

	if (!wqe)
		return;
	ret = smr_wqe_set_bind_mw(wqe, &qp->sq, mw, rkey, info);
	if (ret)
		fail(qp, ret);
}

static void wr_local_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_LOCAL_INV);

	if (wqe)
		wqe->imm_or_rkey = invalidate_rkey;
}

static void wr_send(struct ibv_qp_ex *qpx)
{
	begin(qpx, IBV_WR_SEND);
}

static void wr_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm_or_rkey = smr_imm_to_abi(imm_data);
}

static void wr_send_inv(struct ibv_qp_ex *qpx, uint32_t invalidate_rkey)
{
	struct smr_send_wqe *wqe = begin(qpx, IBV_WR_SEND_WITH_INV);

	if (wqe)
		wqe->imm_or_rkey = invalidate_rkey;
}

/*
 * A datagram without an address is an error: the entry may still have the
 * address of an earlier request in its place of the ring.
 */
static struct smr_send_wqe *begin_ud(struct ibv_qp_ex *qpx, uint8_t opcode)
{
	struct smr_send_wqe *wqe = begin(qpx, opcode);

	if (wqe)
		to_smr_qp_ex(qpx)->wr_err = EINVAL;
	return wqe;
}

static void wr_ud_send(struct ibv_qp_ex *qpx)
{
	begin_ud(qpx, IBV_WR_SEND);
}

static void wr_ud_send_imm(struct ibv_qp_ex *qpx, __be32 imm_data)
{
	struct smr_send_wqe *wqe = begin_ud(qpx, IBV_WR_SEND_WITH_IMM);

	if (wqe)
		wqe->imm_or_rkey = smr_imm_to_abi(imm_data);
}

static void wr_set_ud_addr(struct ibv_qp_ex *qpx, struct ibv_ah *ah,
			   uint32_t remote_qpn, uint32_t remote_qkey)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	if (!qp->wr)
		return;
	if (smr_wqe_set_ud(qp->wr, &qp->sq, ah, remote_qpn, remote_qkey))
		fail(qp, EINVAL);
	else
		qp->wr_err = 0;
}

static void wr_set_xrc_srqn(struct ibv_qp_ex *qpx, uint32_t remote_srqn)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	if (qp->wr)
		qp->wr->xrc_srqn = remote_srqn;
}

static void wr_set_inline_data_list(struct ibv_qp_ex *qpx, size_t num_buf,
				    const struct ibv_data_buf *bufs)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);
	size_t i;

	if (!qp->wr)
		return;
	if (unlikely(!(1U << qp->wr_opcode & SMR_INLINE_OPS))) {
		fail(qp, smr_wq_refuse(&qp->sq, POST_INLINE, qp->wr_opcode));
		return;
	}

	qp->wr->send_flags |= IBV_SEND_INLINE;
	qp->wr->inline_len = 0;
	for (i = 0; i < num_buf; i++) {
		if (smr_wqe_add_inline(qp->wr, &qp->sq, bufs[i].addr,
				       bufs[i].length)) {
			fail(qp, EINVAL);
			return;
		}
	}
}

static void wr_set_inline_data(struct ibv_qp_ex *qpx, void *addr, size_t length)
{
	const struct ibv_data_buf buf = { .addr = addr, .length = length };

	wr_set_inline_data_list(qpx, 1, &buf);
}

static void wr_set_sge_list(struct ibv_qp_ex *qpx, size_t num_sge, const struct ibv_sge *sges)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	if (qp->wr && smr_wqe_set_sges(qp->wr, &qp->sq, num_sge, sges))
		fail(qp, EINVAL);
}

static void wr_set_sge(struct ibv_qp_ex *qpx, uint32_t lkey, uint64_t addr, uint32_t length)
{
	const struct ibv_sge sge = {
		.addr = addr,
		.length = length,
		.lkey = lkey,
	};

	wr_set_sge_list(qpx, 1, &sge);
}

static void wr_start(struct ibv_qp_ex *qpx)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	smr_lock(&qp->sq.lock);
	qp->wr = NULL;
	qp->wr_first = qp->sq.prod;
	qp->wr_err = smr_refuses_sends(qp);
}

static void wr_abort(struct ibv_qp_ex *qpx)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);

	qp->sq.prod = qp->wr_first;
	qp->wr = NULL;
	smr_unlock(&qp->sq.lock);
}

static int wr_complete(struct ibv_qp_ex *qpx)
{
	struct smr_qp *qp = to_smr_qp_ex(qpx);
	int err = qp->wr_err;

	if (err || qp->sq.prod == qp->wr_first) {
		if (err)
			note_no_ah(qp);
		wr_abort(qpx);
		return err;
	}

	smr_wq_publish(&qp->sq);
	qp->wr = NULL;
	smr_unlock(&qp->sq.lock);
	return smr_sq_ring(qp);
}

/* The opcodes that the application wants to build, as bits 1 << opcode */
static uint32_t requested_ops(uint64_t send_ops_flags)
{
	/* The flags up to here have the bit number of their opcode. */
	const uint64_t same = 2 * IBV_QP_EX_WITH_TSO - 1;
	uint32_t ops = send_ops_flags & same;

	if (send_ops_flags & IBV_QP_EX_WITH_FLUSH)
		ops |= 1 << IBV_WR_FLUSH;
	if (send_ops_flags & IBV_QP_EX_WITH_ATOMIC_WRITE)
		ops |= 1 << IBV_WR_ATOMIC_WRITE;
	return ops;
}

/* EOPNOTSUPP: this type of QP lacks one of the operations. */
int smr_qp_set_wr_ops(struct smr_qp *qp, enum ibv_qp_type type, uint64_t send_ops_flags)
{
	bool ud = type == IBV_QPT_UD;
	const uint64_t known = (2 * IBV_QP_EX_WITH_TSO - 1) |
			       IBV_QP_EX_WITH_FLUSH |
			       IBV_QP_EX_WITH_ATOMIC_WRITE;
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	if ((send_ops_flags & ~(known & smr_layout_send_ops())) ||
	    (requested_ops(send_ops_flags) & ~qp->send_ops))
		return EOPNOTSUPP;

	qpx->wr_start = wr_start;
	qpx->wr_complete = wr_complete;
	qpx->wr_abort = wr_abort;

	qpx->wr_send = ud ? wr_ud_send : wr_send;
	qpx->wr_send_imm = ud ? wr_ud_send_imm : wr_send_imm;
	qpx->wr_send_inv = wr_send_inv;
	qpx->wr_rdma_write = wr_rdma_write;
	qpx->wr_rdma_write_imm = wr_rdma_write_imm;
	qpx->wr_rdma_read = wr_rdma_read;
	qpx->wr_atomic_cmp_swp = wr_atomic_cmp_swp;
	qpx->wr_atomic_fetch_add = wr_atomic_fetch_add;
	smr_layout_set_wr_atomic_write(qpx, wr_atomic_write);
	smr_layout_set_wr_flush(qpx, wr_flush);
	qpx->wr_bind_mw = wr_bind_mw;
	qpx->wr_local_inv = wr_local_inv;

	qpx->wr_set_ud_addr = wr_set_ud_addr;
	qpx->wr_set_xrc_srqn = wr_set_xrc_srqn;
	qpx->wr_set_inline_data = wr_set_inline_data;
	qpx->wr_set_inline_data_list = wr_set_inline_data_list;
	qpx->wr_set_sge = wr_set_sge;
	qpx->wr_set_sge_list = wr_set_sge_list;
	return 0;
}
