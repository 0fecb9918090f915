// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Posting receive work requests, to a QP and to an SRQ.
 */
#include "softmr.h"

#include <errno.h>
#include <string.h>

/* Write one entry. Caller holds the lock. */
static int write_recv(struct smr_wq *rq, const struct ibv_recv_wr *wr)
{
	struct smr_recv_wqe *wqe;

	if (wr->num_sge < 0 || (uint32_t)wr->num_sge > rq->max_sge)
		return smr_wq_refuse(rq, POST_SGE, (uint32_t)wr->num_sge,
				     rq->max_sge);
	/* If max_wr is 0 there is no ring: see smr_wq_use_ring(). */
	if (smr_wq_full(rq))
		return rq->max_wr ? smr_wq_refuse_full(rq) : EINVAL;

	wqe = smr_ring_entry(&rq->ring, rq->prod);
	wqe->wr_id = wr->wr_id;
	wqe->num_sge = wr->num_sge;
	if (wr->num_sge)
		memcpy(wqe->sge, wr->sg_list,
		       wr->num_sge * sizeof(struct smr_sge));
	rq->prod++;
	return 0;
}

/*
 * Publish the chain @wr up to its first bad request, which *@bad_wr names.
 * *@posted says whether any request came before it.
 */
static int write_recv_chain(struct smr_wq *rq, struct ibv_recv_wr *wr,
			    struct ibv_recv_wr **bad_wr, bool *posted)
{
	uint32_t first;
	int ret = 0;

	smr_lock(&rq->lock);
	first = rq->prod;
	for (; wr; wr = wr->next) {
		ret = write_recv(rq, wr);
		if (ret) {
			*bad_wr = wr;
			break;
		}
	}
	*posted = rq->prod != first;
	if (*posted)
		smr_wq_publish(rq);
	smr_unlock(&rq->lock);
	return ret;
}

/**
 * smr_post_recv - post receive requests to a QP
 * @ibqp: a QP that is not in RESET and has a receive queue
 * @wr: a chain of requests
 * @bad_wr: on failure the first request that was not posted
 *
 * The doorbell is rung only if the kernel waits for receive requests, or has to
 * flush them.
 */
int smr_post_recv(struct ibv_qp *ibqp, struct ibv_recv_wr *wr,
		  struct ibv_recv_wr **bad_wr)
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	bool posted;
	int ret, err;

	if (!qp->rq.ring.hdr) {
		*bad_wr = wr;
		return smr_wq_refuse(&qp->rq, POST_NO_QUEUE, ibqp->qp_type);
	}
	if (ibqp->state == IBV_QPS_RESET) {
		*bad_wr = wr;
		return smr_wq_refuse(&qp->rq, POST_STATE, ibqp->state);
	}
	ret = write_recv_chain(&qp->rq, wr, bad_wr, &posted);
	if (!posted || !(smr_ring_flags(&qp->rq.ring) & SMR_RING_NEED_DOORBELL))
		return ret;

	err = smr_ring_bell(ibqp, SMR_IOC_RING_RQ);
	if (err) {
		*bad_wr = wr;
		return err;
	}
	return ret;
}

/**
 * smr_post_srq_recv - post receive requests to an SRQ
 * @wr: a chain of requests
 * @bad_wr: on failure the first request that was not posted
 */
int smr_post_srq_recv(struct ibv_srq *ibsrq, struct ibv_recv_wr *wr,
		      struct ibv_recv_wr **bad_wr)
{
	struct smr_srq *srq = to_smr_srq(ibsrq);
	bool posted;

	return write_recv_chain(&srq->rq, wr, bad_wr, &posted);
}
