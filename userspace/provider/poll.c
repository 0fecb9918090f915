// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Polling completions, by ibv_poll_cq() and by the extended CQ's iterator.
 */
#include <errno.h>

#include "cq.h"

/* The next completion, at cq->cons, or NULL. Caller holds the lock. */
static const struct smr_cqe *next_cqe(struct smr_cq *cq)
{
	if (cq->cons == cq->prod)
		cq->prod = smr_cq_prod(cq);
	if (cq->cons == cq->prod)
		return NULL;
	return smr_ring_entry(&cq->ring, cq->cons);
}

static void copy_wc(struct ibv_wc *wc, const struct smr_cqe *cqe)
{
	wc->wr_id = cqe->wr_id;
	wc->status = cqe->status;
	wc->opcode = cqe->opcode;
	wc->vendor_err = cqe->vendor_err;
	wc->byte_len = cqe->byte_len;
	wc->invalidated_rkey = cqe->imm_or_rkey;
	wc->qp_num = cqe->qp_num;
	wc->src_qp = cqe->src_qp;
	wc->wc_flags = cqe->wc_flags;
	wc->pkey_index = cqe->pkey_index;
	wc->slid = cqe->slid;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

/**
 * smr_poll_cq - take completions from a CQ
 * @ibcq: the CQ
 * @num_entries: how many at most
 * @wc: where they go
 *
 * Return: how many there were; never an error.
 */
int smr_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct smr_cq *cq = to_smr_cq(ibcq);
	const struct smr_cqe *cqe;
	int n = 0;

	smr_cq_lock(cq);
	while (n < num_entries && (cqe = next_cqe(cq))) {
		copy_wc(&wc[n++], cqe);
		cq->cons++;
	}
	if (n)
		smr_cq_release(cq);
	smr_cq_unlock(cq);
	return n;
}

static struct smr_cq *current_cq(struct ibv_cq_ex *ibcq)
{
	return container_of(ibcq, struct smr_cq, vcq.cq_ex);
}

/* Make the next completion the current one. Caller holds the lock. */
static int step(struct smr_cq *cq)
{
	const struct smr_cqe *cqe = next_cqe(cq);

	if (!cqe)
		return ENOENT;
	cq->cur = cqe;
	cq->cons++;
	cq->vcq.cq_ex.status = cqe->status;
	cq->vcq.cq_ex.wr_id = cqe->wr_id;
	return 0;
}

static int start_poll(struct ibv_cq_ex *ibcq, struct ibv_poll_cq_attr *attr)
{
	struct smr_cq *cq = current_cq(ibcq);
	int ret;

	if (attr->comp_mask)
		return EINVAL;

	smr_cq_lock(cq);
	ret = step(cq);
	if (ret)
		smr_cq_unlock(cq);
	return ret;
}

static int next_poll(struct ibv_cq_ex *ibcq)
{
	return step(current_cq(ibcq));
}

static void end_poll(struct ibv_cq_ex *ibcq)
{
	struct smr_cq *cq = current_cq(ibcq);

	cq->cur = NULL;
	smr_cq_release(cq);
	smr_cq_unlock(cq);
}

static enum ibv_wc_opcode read_opcode(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->opcode;
}

static uint32_t read_vendor_err(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->vendor_err;
}

static uint32_t read_byte_len(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->byte_len;
}

/* Also the rkey that was invalidated, which libibverbs reads by this too. */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return smr_imm_of_abi(current_cq(ibcq)->cur->imm_or_rkey);
}

static uint32_t read_qp_num(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->qp_num;
}

static uint32_t read_src_qp(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->src_qp;
}

static unsigned int read_wc_flags(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->wc_flags;
}

static uint32_t read_slid(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->slid;
}

static uint8_t read_sl(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->sl;
}

static uint8_t read_dlid_path_bits(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->dlid_path_bits;
}

static uint16_t read_cvlan(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->vlan_id;
}

/* The raw clock and the wall clock are the same: CLOCK_REALTIME in ns. */
static uint64_t read_timestamp(struct ibv_cq_ex *ibcq)
{
	return current_cq(ibcq)->cur->timestamp;
}

static void set_standard_ops(struct ibv_cq_ex *cq, uint64_t wc_flags)
{
	if (wc_flags & IBV_WC_EX_WITH_BYTE_LEN)
		cq->read_byte_len = read_byte_len;
	if (wc_flags & IBV_WC_EX_WITH_IMM)
		cq->read_imm_data = read_imm_data;
	if (wc_flags & IBV_WC_EX_WITH_QP_NUM)
		cq->read_qp_num = read_qp_num;
	if (wc_flags & IBV_WC_EX_WITH_SRC_QP)
		cq->read_src_qp = read_src_qp;
	if (wc_flags & IBV_WC_EX_WITH_SLID)
		cq->read_slid = read_slid;
	if (wc_flags & IBV_WC_EX_WITH_SL)
		cq->read_sl = read_sl;
	if (wc_flags & IBV_WC_EX_WITH_DLID_PATH_BITS)
		cq->read_dlid_path_bits = read_dlid_path_bits;
}

/**
 * smr_cq_set_poll_ops - set up the extended CQ's iterator
 * @cq: a CQ that nobody uses yet
 * @wc_flags: what the application is going to read, enum
 *	ibv_create_cq_wc_flags
 */
void smr_cq_set_poll_ops(struct smr_cq *cq, uint64_t wc_flags)
{
	struct ibv_cq_ex *ibcq = &cq->vcq.cq_ex;

	ibcq->start_poll = start_poll;
	ibcq->next_poll = next_poll;
	ibcq->end_poll = end_poll;
	ibcq->read_opcode = read_opcode;
	ibcq->read_vendor_err = read_vendor_err;
	ibcq->read_wc_flags = read_wc_flags;

	set_standard_ops(ibcq, wc_flags);
	if (wc_flags & IBV_WC_EX_WITH_CVLAN)
		ibcq->read_cvlan = read_cvlan;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ibcq->read_completion_ts = read_timestamp;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ibcq->read_completion_wallclock_ns = read_timestamp;
}
