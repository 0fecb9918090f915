// SPDX-License-Identifier: GPL-2.0
/*
 * Ring of outstanding READ requests and atomics, and the split of a long READ into parts. Runs
 * in the send task.
 */
#include "qp/rd_req.h"

#include <linux/log2.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/cwnd.h"
#include "qp/snd.h"

/* Maximum and minimum PSNs of one READ request; powers of two */
#define READ_PART_MAX	256
#define READ_PART_MIN	SMR_CWND_MIN

/* Reset; no request is outstanding. @psn: the next PSN to send. */
void smr_rd_req_reset(struct smr_rd_req *rd, u32 psn)
{
	rd->head = 0;
	rd->tail = 0;
	rd->from = psn;
	rd->least = READ_PART_MAX;
	rd->mixed = psn;
}

/* All outstanding requests will be sent again. */
void smr_rd_req_rewind(struct smr_rd_req *rd, const struct smr_snd *snd)
{
	u32 least = rd->least;

	smr_rd_req_reset(rd, snd->una);
	rd->least = least;
	rd->mixed = snd->max_psn;
}

static u32 read_end(const struct smr_rd_req *rd, u32 i)
{
	return rd->end[i % SMR_MAX_RD_ATOMIC];
}

/* The outstanding READ or atomic that covers a PSN; usually the oldest */
static u32 read_find(const struct smr_rd_req *rd, u32 psn)
{
	u32 i = rd->head;

	while (i != rd->tail && smr_psn_diff(psn, read_end(rd, i)) >= 0)
		i++;
	return i;
}

/* Retire acknowledged requests. @una: the new oldest unacknowledged PSN. */
void smr_rd_req_acked(struct smr_rd_req *rd, u32 una)
{
	while (rd->head != rd->tail &&
	       smr_psn_diff(una, read_end(rd, rd->head)) >= 0)
		rd->from = read_end(rd, rd->head++);
	if (rd->head == rd->tail)
		rd->from = una;
	if (smr_psn_diff(una, rd->mixed) > 0)
		rd->mixed = una;
}

/* PSNs from @first to the end of its part; parts have @part PSNs, a power of two */
static u32 part_left(u32 first, u32 part)
{
	return (first | (part - 1)) + 1 - first;
}

/*
 * Number of PSNs of the next request of a READ. @first: its first PSN, relative to that of the
 * READ. @npsn: number of PSNs of the READ. A repeated request must lie within one request that was
 * sent before, or the responder does not recognise it. All parts end at a multiple of their size.
 * So a repeated request is at most as large as @rd->least, the smallest part that was sent since
 * all PSNs were last acknowledged.
 */
u32 smr_rd_req_part(struct smr_rd_req *rd, const struct smr_snd *snd,
		    const struct smr_cwnd *cwnd, u32 first, u32 npsn)
{
	u32 part = clamp(rounddown_pow_of_two(min(cwnd->size, cwnd->burst)),
			 READ_PART_MIN, READ_PART_MAX);

	if (!smr_snd_is_fresh(snd))
		part = min(part, rd->least);
	else if (smr_snd_is_settled(snd) || part < rd->least)
		rd->least = part;
	return min(npsn - first, part_left(first, part));
}

/*
 * Does the opcode of a READ response match its PSN? @start: the READ's first PSN. @npsn: number of
 * its PSNs. @psn: PSN of the response. @op_flags: enum smr_op_flags of its opcode. IBTA 9.4.4: the
 * answer to a request of one packet is an ONLY. Other answers begin with a FIRST, end with a LAST,
 * and have MIDDLEs between. A READ may have been requested in several parts, see smr_rd_req_part().
 * PSNs that were requested again may be answered as parts of the earlier or of the later request,
 * so for these only the two ends of the READ are certain. Returns false if no request has such a
 * response.
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

/*
 * Number of MIDDLEs that may follow a MIDDLE of a READ response. @psn: PSN of the response, for
 * which smr_rd_req_fits() is true. Returns a number that leaves at least one more packet of the
 * same answer after them; 0 if it is unknown how that answer is split.
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
