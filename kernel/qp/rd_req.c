// SPDX-License-Identifier: GPL-2.0
#include "qp/rd_req.h"

#include <linux/log2.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/cwnd.h"
#include "qp/ooo.h"
#include "qp/snd.h"

/* PSNs that one READ request asks for at most, and at least; powers of two */
#define READ_PART_MAX	256
#define READ_PART_MIN	SMR_CWND_MIN

/**
 * smr_rd_req_reset() - none is outstanding
 * @rd: the requests
 * @psn: the next PSN to send
 */
void smr_rd_req_reset(struct smr_rd_req *rd, u32 psn)
{
	rd->head = 0;
	rd->tail = 0;
	rd->from = psn;
	rd->mixed = psn;
}

/**
 * smr_rd_req_rewind() - all that are outstanding will be sent again
 * @rd: the requests
 * @snd: which has been rewound
 */
void smr_rd_req_rewind(struct smr_rd_req *rd, const struct smr_snd *snd)
{
	smr_rd_req_reset(rd, snd->una);
	rd->mixed = snd->max_psn;
}

static u32 read_end(const struct smr_rd_req *rd, u32 i)
{
	return rd->end[i % SMR_MAX_RD_ATOMIC];
}

/* The outstanding request that a PSN belongs to, which is the oldest mostly */
static u32 read_find(const struct smr_rd_req *rd, u32 psn)
{
	u32 i = rd->head;

	while (i != rd->tail && smr_psn_diff(psn, read_end(rd, i)) >= 0)
		i++;
	return i;
}

/**
 * smr_rd_req_acked() - the oldest unacknowledged PSN has moved on
 * @rd: the requests
 * @una: it is this one now
 */
void smr_rd_req_acked(struct smr_rd_req *rd, u32 una)
{
	while (rd->head != rd->tail &&
	       smr_psn_diff(una, read_end(rd, rd->head)) >= 0)
		rd->from = read_end(rd, rd->head++);
	if (rd->head == rd->tail)
		rd->from = una;
	smr_rd_req_mix(rd, una);
}

/**
 * smr_rd_req_mix() - a part is asked for again, or nothing before it counts any more
 * @rd: the requests
 * @psn: where the part ends
 */
void smr_rd_req_mix(struct smr_rd_req *rd, u32 psn)
{
	if (smr_psn_diff(psn, rd->mixed) > 0)
		rd->mixed = psn;
}

/* From @first to where parts of @part PSNs, a power of two, end */
static u32 part_left(u32 first, u32 part)
{
	return (first | (part - 1)) + 1 - first;
}

/**
 * smr_rd_req_part() - how many PSNs the next request of a READ asks for
 * @snd: what was sent
 * @cwnd: the window
 * @ooo: what has come, and is not asked for again
 * @first: the first of them, counted from the READ's
 * @npsn: all of the READ's
 *
 * A repeated request must lie within one request that was sent before, or the
 * responder does not recognise it. So all parts end where the smallest parts do,
 * and repeated requests are of the smallest size.
 *
 * Return: the number.
 */
u32 smr_rd_req_part(const struct smr_snd *snd, const struct smr_cwnd *cwnd,
		    const struct smr_ooo *ooo, u32 first, u32 npsn)
{
	u32 part = READ_PART_MIN;

	if (smr_snd_is_fresh(snd))
		part = clamp(rounddown_pow_of_two(cwnd->size), READ_PART_MIN,
			     READ_PART_MAX);
	part = min(npsn - first, part_left(first, part));
	return smr_ooo_missing(ooo, snd->psn, part);
}

/**
 * smr_rd_req_least() - how many PSNs may the smallest part of a READ take?
 * @first: its first PSN, counted from the READ's
 *
 * Return: so many as lie within one request that was sent before, if they are the READ's.
 */
u32 smr_rd_req_least(u32 first)
{
	return part_left(first, READ_PART_MIN);
}

/**
 * smr_rd_req_left() - how much of its request begins with a PSN?
 * @rd: the requests
 * @psn: an outstanding READ's or atomic's that is before the next PSN to send
 *
 * After everything was sent again that is a repeated request, which lies within an earlier
 * one.
 *
 * Return: the number of PSNs, at least 1.
 */
u32 smr_rd_req_left(const struct smr_rd_req *rd, u32 psn)
{
	return smr_psn_off(read_end(rd, read_find(rd, psn)), psn);
}

/**
 * smr_rd_req_fits() - is a READ response where its opcode says?
 * @rd: the requests
 * @start: the READ's first PSN
 * @npsn: how many it takes
 * @psn: the response's
 * @op_flags: enum smr_op_flags of its opcode
 *
 * IBTA 9.4.4: the answer to a request of one packet is an ONLY. Other answers begin with
 * a FIRST, end with a LAST, and have MIDDLEs between. A READ may have been asked for in
 * several requests, see smr_rd_req_part(). What was asked for again may be answered as
 * the earlier request says, or as the later one. Then only the ends of the READ are sure.
 *
 * Return: false: no request would be answered like this.
 */
bool smr_rd_req_fits(const struct smr_rd_req *rd, u32 start, u32 npsn, u32 psn,
		     u32 op_flags)
{
	bool first = psn == start;
	bool last = smr_psn_off(psn, start) + 1 == npsn;
	u32 read;

	if (smr_psn_diff(psn, rd->mixed) < 0)
		return (!first || op_flags & SMR_OP_FIRST) &&
		       (!last || op_flags & SMR_OP_LAST);
	read = read_find(rd, psn);
	first |= psn == (read == rd->head ? rd->from : read_end(rd, read - 1));
	last |= smr_psn_add(psn, 1) == read_end(rd, read);
	return first == !!(op_flags & SMR_OP_FIRST) &&
	       last == !!(op_flags & SMR_OP_LAST);
}

/**
 * smr_rd_req_middles() - how many MIDDLEs may follow a READ response that is one
 * @rd: the requests
 * @psn: the response's; smr_rd_req_fits()
 *
 * Return: so many that the answer to the same request has at least one packet behind them;
 * 0 where it is not sure how that answer is cut.
 */
u32 smr_rd_req_middles(const struct smr_rd_req *rd, u32 psn)
{
	u32 read = read_find(rd, psn);
	int left;

	if (read == rd->tail || smr_psn_diff(psn, rd->mixed) < 0)
		return 0;
	left = smr_psn_diff(read_end(rd, read), psn);
	return left > 2 ? left - 2 : 0;
}

/**
 * smr_rd_req_same() - were two PSNs asked for by one request?
 * @rd: the requests
 * @a: one
 * @b: the other
 *
 * Return: whether they were.
 */
bool smr_rd_req_same(const struct smr_rd_req *rd, u32 a, u32 b)
{
	return read_find(rd, a) == read_find(rd, b);
}
