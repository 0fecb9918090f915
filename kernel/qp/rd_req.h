/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Outstanding READ requests and atomics. A long READ is requested in parts, which look like
 * several READs to the responder.
 */
#ifndef SMR_RD_REQ_H
#define SMR_RD_REQ_H

#include <linux/types.h>

struct smr_cwnd;
struct smr_snd;

/* Maximum of outstanding READ requests and atomics, a power of two */
#define SMR_MAX_RD_ATOMIC	128

/**
 * struct smr_rd_req - outstanding READ requests and atomics
 * @end: the end of each: one past its last PSN
 * @head: the oldest of @end
 * @tail: one past the newest
 * @from: first PSN of the oldest outstanding READ request, if it is not the first of its work
 *	request
 * @least: the smallest part of a READ that may be in flight, in PSNs; a power of two
 * @mixed: PSNs before it may have been requested more than once. Their responses may be split
 *	as for any of these requests
 *
 * Owned by the send task.
 */
struct smr_rd_req {
	u32 end[SMR_MAX_RD_ATOMIC];
	u32 head;
	u32 tail;
	u32 from;
	u32 least;
	u32 mixed;
};

void smr_rd_req_reset(struct smr_rd_req *rd, u32 psn);
void smr_rd_req_rewind(struct smr_rd_req *rd, const struct smr_snd *snd);
void smr_rd_req_acked(struct smr_rd_req *rd, u32 una);

u32 smr_rd_req_part(struct smr_rd_req *rd, const struct smr_snd *snd,
		    const struct smr_cwnd *cwnd, u32 first, u32 npsn);
u32 smr_rd_req_middles(const struct smr_rd_req *rd, u32 psn);
bool smr_rd_req_fits(const struct smr_rd_req *rd, u32 start, u32 npsn, u32 psn,
		     u32 op_flags);

/* Add a READ request or atomic that was sent, up to @psn. */
static inline void smr_rd_req_add(struct smr_rd_req *rd, u32 psn)
{
	rd->end[rd->tail++ % SMR_MAX_RD_ATOMIC] = psn;
}

/* Number of outstanding requests */
static inline u32 smr_rd_req_count(const struct smr_rd_req *rd)
{
	return rd->tail - rd->head;
}

#endif /* SMR_RD_REQ_H */
