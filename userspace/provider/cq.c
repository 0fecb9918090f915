// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Completion queues: create, poll, resize, destroy, and forgetting a QP.
 * ibv_poll_cq() and the iterator of the extended CQ share one cursor.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <infiniband/softmrdv.h>
#include <softmr-abi.h>

#include "abi.h"
#include "ring.h"

enum {
	SMR_CQ_COMP_MASK = IBV_CQ_INIT_ATTR_MASK_FLAGS |
			   IBV_CQ_INIT_ATTR_MASK_PD,
	SMR_CQ_FLAGS = IBV_CREATE_CQ_ATTR_SINGLE_THREADED |
		       IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN,
	SMR_CQ_WC_FLAGS = IBV_WC_STANDARD_FLAGS |
			  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP |
			  IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK |
			  IBV_WC_EX_WITH_CVLAN | IBV_WC_EX_WITH_FLOW_TAG,
};

static void lock_cq(struct smr_cq *cq)
{
	if (!cq->single_threaded)
		smr_lock(&cq->lock);
}

static void unlock_cq(struct smr_cq *cq)
{
	if (!cq->single_threaded)
		smr_unlock(&cq->lock);
}

/*
 * The kernel's producer index. The process can write to the ring, too: an index
 * out of range means that there is no completion. Caller holds the lock.
 */
static uint32_t kernel_prod(struct smr_cq *cq)
{
	uint32_t prod = smr_load_acquire(&cq->ring.hdr->prod);

	return prod - cq->cons <= cq->ring.depth ? prod : cq->cons;
}

/* Return the entries before cq->cons to the kernel. Caller holds the lock. */
static void release_entries(struct smr_cq *cq)
{
	smr_store_release(&cq->ring.hdr->cons, cq->cons);
}

/* -- polling */

/* The next completion, at cq->cons, or NULL. Caller holds the lock. */
static const struct smr_cqe *next_cqe(struct smr_cq *cq)
{
	if (cq->cons == cq->prod)
		cq->prod = kernel_prod(cq);
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
	wc->slid = cqe->slid;
	wc->pkey_index = cqe->pkey_index;
	wc->sl = cqe->sl;
	wc->dlid_path_bits = cqe->dlid_path_bits;
}

int smr_poll_cq(struct ibv_cq *ibcq, int num_entries, struct ibv_wc *wc)
{
	struct smr_cq *cq = to_smr_cq(ibcq);
	const struct smr_cqe *cqe;
	int n = 0;

	lock_cq(cq);
	while (n < num_entries && (cqe = next_cqe(cq))) {
		copy_wc(&wc[n++], cqe);
		cq->cons++;
	}
	if (n)
		release_entries(cq);
	unlock_cq(cq);
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
		return smr_refuse(cq->vcq.cq.context, 0, FIELDS_INVALID,
				  attr->comp_mask, attr->comp_mask);

	lock_cq(cq);
	ret = step(cq);
	if (ret)
		unlock_cq(cq);
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
	release_entries(cq);
	unlock_cq(cq);
}

#define READ_FIELD(type, name, field)                                          \
	static type read_##name(struct ibv_cq_ex *ibcq)                        \
	{                                                                      \
		return current_cq(ibcq)->cur->field;                           \
	}

READ_FIELD(enum ibv_wc_opcode, opcode, opcode)
READ_FIELD(uint32_t, vendor_err, vendor_err)
READ_FIELD(uint32_t, byte_len, byte_len)
READ_FIELD(uint32_t, qp_num, qp_num)
READ_FIELD(uint32_t, src_qp, src_qp)
READ_FIELD(unsigned int, wc_flags, wc_flags)
READ_FIELD(uint32_t, slid, slid)
READ_FIELD(uint8_t, sl, sl)
READ_FIELD(uint8_t, dlid_path_bits, dlid_path_bits)
READ_FIELD(uint16_t, cvlan, vlan_id)
/* The raw clock and the wall clock are the same: CLOCK_REALTIME in ns. */
READ_FIELD(uint64_t, timestamp, timestamp)
#undef READ_FIELD

/* Also returns the invalidated rkey, which libibverbs reads through this function. */
static __be32 read_imm_data(struct ibv_cq_ex *ibcq)
{
	return smr_imm_of_abi(current_cq(ibcq)->cur->imm_or_rkey);
}

/* The tag shares its field with data that messages of other QPs may carry. */
static uint32_t read_flow_tag(struct ibv_cq_ex *ibcq)
{
	const struct smr_cqe *cqe = current_cq(ibcq)->cur;

	return cqe->wc_flags & (IBV_WC_WITH_IMM | IBV_WC_WITH_INV) ?
	       0 : cqe->flow_tag;
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

/* @wc_flags: what the application will read, enum ibv_create_cq_wc_flags */
static void set_poll_ops(struct smr_cq *cq, uint64_t wc_flags)
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
	if (wc_flags & IBV_WC_EX_WITH_FLOW_TAG)
		ibcq->read_flow_tag = read_flow_tag;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP)
		ibcq->read_completion_ts = read_timestamp;
	if (wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK)
		ibcq->read_completion_wallclock_ns = read_timestamp;
}

/* -- creating, resizing, destroying */

static int check_cq_attr(struct ibv_context *context,
			 const struct ibv_cq_init_attr_ex *attr)
{
	const uint64_t fields = SMR_CQ_WC_FLAGS;

	if (attr->comp_mask & ~SMR_CQ_COMP_MASK)
		return smr_refuse(context, 0, FIELDS_UNKNOWN, attr->comp_mask,
				  attr->comp_mask & ~SMR_CQ_COMP_MASK);
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
	    (attr->flags & ~SMR_CQ_FLAGS))
		return smr_refuse(context, 0, CQ_FLAGS, attr->flags);
	if (attr->wc_flags & ~fields)
		return smr_refuse(context, 0, CQ_WC_FLAGS, attr->wc_flags,
				  attr->wc_flags & ~fields);
	if (!attr->cqe || attr->cqe > INT32_MAX)
		return smr_refuse(context, 0, CQ_CQE, attr->cqe, INT32_MAX);
	/* a CQ needs a domain only for the allocators of a parent domain */
	if ((attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) &&
	    (!attr->parent_domain || !to_smr_pd(attr->parent_domain)->base))
		return smr_refuse(context, 0, CQ_PARENT, 0);
	return 0;
}

/*
 * Map the ring that the kernel described. On failure the CQ is empty until it
 * gets another ring: the kernel no longer uses the old one.
 */
static int use_ring(struct smr_cq *cq, const struct smr_ring_info *info,
		    struct smr_room *room)
{
	struct smr_ring ring;
	int ret;

	ret = smr_ring_map(&ring, &to_smr_context(cq->vcq.cq.context)->maps,
			   info, sizeof(struct smr_cqe), room);
	if (!ret && !ring.hdr)
		ret = EPROTO;
	if (ret) {
		smr_ring_lose(&cq->ring);
	} else {
		smr_ring_unmap(&cq->ring);
		cq->ring = ring;
	}
	cq->cons = smr_load_acquire(&cq->ring.hdr->cons);
	cq->prod = cq->cons;
	return smr_why_ring(cq->vcq.cq.context, ret);
}

static int create_cq(struct smr_cq *cq, struct ibv_context *context,
		     const struct ibv_cq_init_attr_ex *attr)
{
	struct usmr_create_cq_resp resp = {};
	int ret;

	ret = ibv_cmd_create_cq_ex(context, attr, NULL, &cq->vcq, NULL, 0,
				   &resp.ibv_resp, sizeof(resp), 0);
	if (ret)
		return ret;

	ret = use_ring(cq, &resp.drv_payload.cq, NULL);
	if (ret)
		ibv_cmd_destroy_cq(&cq->vcq.cq);
	return ret;
}

struct ibv_cq_ex *smr_create_cq_ex(struct ibv_context *context,
				   struct ibv_cq_init_attr_ex *attr)
{
	struct smr_home home;
	struct smr_cq *cq;
	int ret;

	ret = check_cq_attr(context, attr);
	if (ret)
		goto err;

	cq = smr_object_alloc(context,
			      attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_PD ?
				      attr->parent_domain : NULL,
			      sizeof(*cq), SOFTMRDV_RES_TYPE_CQ, &home);
	if (!cq)
		return NULL;
	cq->home = home;

	smr_lock_init(&cq->lock);
	cq->single_threaded =
		(attr->comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) &&
		(attr->flags & IBV_CREATE_CQ_ATTR_SINGLE_THREADED);

	ret = create_cq(cq, context, attr);
	if (ret)
		goto err_free;

	set_poll_ops(cq, attr->wc_flags);
	return &cq->vcq.cq_ex;

err_free:
	smr_lock_destroy(&cq->lock);
	smr_object_free(cq, SOFTMRDV_RES_TYPE_CQ, home);
err:
	errno = ret;
	return NULL;
}

struct ibv_cq *smr_create_cq(struct ibv_context *context, int cqe,
			     struct ibv_comp_channel *channel,
			     int comp_vector)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = cqe,
		.channel = channel,
		.comp_vector = comp_vector,
	};
	struct ibv_cq_ex *cq = smr_create_cq_ex(context, &attr);

	return cq ? ibv_cq_ex_to_cq(cq) : NULL;
}

/*
 * The kernel moves the completions that were not polled yet into the new ring, between the indices in the new ring's head,
 * and then produces there. Other pollers wait during that time. If the new ring cannot be mapped, the CQ is empty until
 * another resize succeeds.
 */
int smr_resize_cq(struct ibv_cq *ibcq, int cqe)
{
	struct usmr_resize_cq_resp resp = {};
	struct smr_cq *cq = to_smr_cq(ibcq);
	struct ibv_resize_cq cmd = {};
	struct smr_room room;
	int ret;

	if (cqe <= 0)
		return smr_refuse(ibcq->context, 0, CQ_CQE, (uint32_t)cqe,
				  INT32_MAX);

	if (!cq->single_threaded)
		smr_lock_for_long(&cq->lock);
	ret = smr_room_reserve(&room, cqe, cq->ring.stride);
	if (ret)
		goto unlock;
	ret = ibv_cmd_resize_cq(ibcq, cqe, &cmd, sizeof(cmd), &resp.ibv_resp,
				sizeof(resp));
	if (!ret)
		ret = use_ring(cq, &resp.drv_payload.cq, &room);
	smr_room_release(&room);
unlock:
	if (!cq->single_threaded)
		smr_unlock_after_long(&cq->lock);
	return ret;
}

int smr_modify_cq(struct ibv_cq *cq, struct ibv_modify_cq_attr *attr)
{
	struct ibv_modify_cq cmd = {};

	return ibv_cmd_modify_cq(cq, attr, &cmd, sizeof(cmd));
}

int smr_destroy_cq(struct ibv_cq *ibcq)
{
	struct smr_cq *cq = to_smr_cq(ibcq);
	int ret = smr_ended(ibcq->context, 0, SMR_KIND_CQ,
			    ibv_cmd_destroy_cq(ibcq));

	if (ret)
		return ret;
	smr_ring_unmap(&cq->ring);
	smr_lock_destroy(&cq->lock);
	smr_object_free(cq, SOFTMRDV_RES_TYPE_CQ, cq->home);
	return 0;
}

/*
 * Drop the completions of a QP that is reset or destroyed, for which the kernel makes no more. Entries between the indices
 * belong to the provider, so it can move the remaining ones together while the kernel produces. They move up, towards the
 * producer. So the freed entries are returned to the kernel: at once or, in the middle of a batch of a single-threaded CQ, at
 * the end of the batch. For other CQs a batch holds the lock.
 */
void smr_cq_forget_qp(struct ibv_cq *ibcq, uint32_t qp_num)
{
	struct smr_cq *cq;
	uint32_t from, to;

	if (!ibcq)
		return;

	cq = to_smr_cq(ibcq);
	lock_cq(cq);
	cq->prod = kernel_prod(cq);
	to = cq->prod;
	for (from = cq->prod; from != cq->cons; from--) {
		const struct smr_cqe *cqe = smr_ring_entry(&cq->ring, from - 1);

		if (cqe->qp_num == qp_num)
			continue;
		to--;
		if (to != from - 1)
			memcpy(smr_ring_entry(&cq->ring, to), cqe,
			       sizeof(*cqe));
	}
	cq->cons = to;
	if (!cq->cur)
		release_entries(cq);
	unlock_cq(cq);
}
