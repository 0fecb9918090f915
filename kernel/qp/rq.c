// SPDX-License-Identifier: GPL-2.0
/* Copy receive work requests out of a ring. */
#include "qp/rq.h"

#include <linux/log2.h>
#include <linux/minmax.h>

/*
 * Create a receive queue. @user: its owner; its @info is filled in. @max_wr: maximum of outstanding
 * work requests; checked by the caller. @max_sge: maximum SGEs of each; checked by the caller.
 */
int smr_rq_create(struct smr_rq *rq, const struct smr_ring_user *user,
		  u32 max_wr, u32 max_sge)
{
	u32 depth = roundup_pow_of_two(max(max_wr, 1U));
	int err;

	err = smr_ring_create(&rq->ring, user, depth,
			      sizeof(struct smr_recv_wqe) +
			      max_sge * sizeof(struct smr_sge), 0);
	if (err)
		return err;
	spin_lock_init(&rq->post_lock);
	rq->max_wr = max_wr;
	rq->max_sge = max_sge;
	user->info->max_wr = max_wr;
	user->info->max_sge = max_sge;
	return 0;
}

/* Free a receive queue. @rq: no longer used; may be zeroed. */
void smr_rq_destroy(struct smr_rq *rq)
{
	if (rq->ring.hdr)
		smr_ring_destroy(&rq->ring);
}

/* Copy a receive work request. The process may change the slot at any time. */
static int rq_copy(struct smr_rq *rq, struct smr_rwqe *rwqe)
{
	struct smr_recv_wqe user;
	u32 i;

	smr_ring_copy(&rq->ring, rq->ring.idx, &user, sizeof(user));
	rwqe->wr_id = user.wr_id;
	rwqe->num_sge = user.num_sge;
	rwqe->len = 0;
	if (rwqe->num_sge > rq->max_sge) {
		rwqe->num_sge = 0;
		return -EINVAL;
	}
	smr_ring_copy_at(&rq->ring, rq->ring.idx, sizeof(user), rwqe->sge,
			 rwqe->num_sge * sizeof(rwqe->sge[0]));
	for (i = 0; i < rwqe->num_sge; i++)
		rwqe->len += rwqe->sge[i].length;
	return 0;
}

/*
 * Take the oldest receive work request. Context: any; called by the owner of the queue. Returns 0;
 * -ENOENT: there is none; -EINVAL: it is malformed, and only @rwqe->wr_id is valid; -EIO: the ring
 * is corrupt, and was skipped as a whole.
 */
int smr_rq_take(struct smr_rq *rq, struct smr_rwqe *rwqe)
{
	int pending, err;

	if (!rq->max_wr)
		return -ENOENT;
	pending = smr_ring_pending(&rq->ring);
	if (pending < 0) {
		rq->ring.idx = READ_ONCE(rq->ring.hdr->prod);
		return -EIO;
	}
	if (!pending)
		return -ENOENT;
	err = rq_copy(rq, rwqe);
	rq->ring.idx++;
	smr_ring_publish_cons(&rq->ring);
	return err;
}
