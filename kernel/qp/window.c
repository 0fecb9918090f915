// SPDX-License-Identifier: GPL-2.0
#include "qp/window.h"

#include <linux/log2.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/core.h"
#include "stats.h"
#include "trace.h"

/*
 * PSNs that may be outstanding: on a good path, after much loss, and in the
 * beginning, when nothing is known of the path and all may begin at once
 */
#define WINDOW_MAX	1024
#define WINDOW_MIN	16
#define WINDOW_START	128

/*
 * On a path whose answers take so long even when no packets queue, in us, more have to be
 * under way to use it: PSNs, and their bytes, which a responder that waits has to keep
 */
#define FAR_US		5000
#define FAR_MAX		4096
#define FAR_MAX_BYTES	(4 * 1024 * 1024)

static_assert(FAR_MAX <= SMR_AHEAD_PSNS);

/* By how many it grows where there may be trouble */
#define WINDOW_STEP	16

/*
 * Marks (ECN, RoCEv2 annex A17.9). As DCQCN has it, a CNP says that something of what is
 * under way was marked, not how much. As in RFC 8257 (DCTCP), how often that is so decides
 * by how much the window narrows: @congestion moves by 1/16 with each window, towards all
 * or nothing. The first mark halves the window. After that it grows by WINDOW_STEP with
 * each window that is acknowledged. To grow by the clock, too, as DCQCN's rate does, would
 * be faster than that where packets queue for long, just when they should not.
 */
#define CONGESTION_SHIFT	4

/* PSNs that one READ request asks for at most, and at least; powers of two */
#define READ_PART_MAX	256
#define READ_PART_MIN	WINDOW_MIN

/**
 * smr_window_reset() - return the window to its initial size
 * @qp: the QP, paused
 */
void smr_window_reset(struct smr_qp *qp)
{
	struct smr_requester *req = &qp->req;

	req->window = WINDOW_START;
	req->threshold = FAR_MAX;
	req->growth = 0;
	req->loss_end = req->psn;
	req->slowed = false;
	req->congestion = SMR_CONGESTION_FULL;
	req->rd_head = 0;
	req->rd_tail = 0;
	req->rd_from = req->psn;
	req->mixed = req->psn;
}

/* Where an outstanding READ request or atomic ends */
static u32 window_read_end(const struct smr_requester *req, u32 i)
{
	return req->rd_end[i % SMR_MAX_RD_ATOMIC];
}

/* The outstanding READ request or atomic that a PSN belongs to, which is the oldest mostly */
static u32 window_read(const struct smr_requester *req, u32 psn)
{
	u32 i = req->rd_head;

	while (i != req->rd_tail &&
	       smr_psn_diff(psn, window_read_end(req, i)) >= 0)
		i++;
	return i;
}

static u32 window_max(const struct smr_qp *qp)
{
	if (qp->comp.early.least < FAR_US)
		return WINDOW_MAX;
	return clamp_t(u32, FAR_MAX_BYTES / qp->mtu, WINDOW_MAX, FAR_MAX);
}

/* A whole window was acknowledged. RFC 5681 is the model. */
static void window_grow(struct smr_qp *qp)
{
	struct smr_requester *req = &qp->req;
	u32 max = window_max(qp);
	u32 more = req->window < req->threshold ?
		   min(req->window, req->threshold - req->window) : WINDOW_STEP;

	req->growth = 0;
	req->window = min(req->window + more, max);
	if (!req->slowed)
		return;
	if (smr_psn_diff(qp->comp.una, req->slow_end) > 0)
		req->congestion -= req->congestion >> CONGESTION_SHIFT;
	if (req->window == max) {
		req->slowed = false;
		req->congestion = SMR_CONGESTION_FULL;
	}
}

/**
 * smr_window_acked() - the completer has moved the oldest PSN on
 * @qp: the QP
 * @psns: by how many
 *
 * Context: any; called by the send task.
 */
void smr_window_acked(struct smr_qp *qp, u32 psns)
{
	struct smr_requester *req = &qp->req;
	u32 una = qp->comp.una;

	while (req->rd_head != req->rd_tail &&
	       smr_psn_diff(una, window_read_end(req, req->rd_head)) >= 0) {
		req->rd_from = window_read_end(req, req->rd_head);
		req->rd_head++;
	}
	if (req->rd_head == req->rd_tail)
		req->rd_from = una;
	if (smr_psn_diff(una, req->mixed) > 0)
		req->mixed = una;
	if (smr_psn_diff(una, req->loss_end) > 0)
		req->loss_end = una;
	if (smr_psn_diff(una, req->psn) > 0) {
		/* These PSNs were sent before a rewind and acknowledged after it. */
		req->psn = una;
		qp->sq.next = qp->sq.head;
	}
	req->growth += psns;
	if (req->growth >= req->window)
		window_grow(qp);
}

/**
 * smr_window_restart() - send next what is the oldest unacknowledged PSN
 * @qp: the QP
 *
 * What has come ahead of it is not asked for again.
 *
 * Context: any; called by the send task.
 */
void smr_window_restart(struct smr_qp *qp)
{
	struct smr_requester *req = &qp->req;

	req->psn = qp->comp.una;
	qp->sq.next = qp->sq.head;
	req->rd_head = 0;
	req->rd_tail = 0;
	req->rd_from = qp->comp.una;
	req->mixed = req->max_psn;
	smr_ahead_rewind(&qp->comp.ahead, req->max_psn);
}

static void window_narrow(struct smr_qp *qp, bool late)
{
	struct smr_requester *req = &qp->req;

	req->growth = 0;
	req->loss_end = req->max_psn;
	req->threshold = max(req->window / 2, WINDOW_MIN);
	req->window = late ? WINDOW_MIN : req->threshold;
}

/**
 * smr_window_rewind() - go back to the oldest unacknowledged PSN after a loss
 * @qp: the QP
 * @late: the ack timer fired
 *
 * IBTA 9.7.5.1: go back N. Loss also narrows the window. After a timeout, packets may
 * be lost or wait in a slow network. What is sent again may add to them, so the
 * window becomes minimal.
 *
 * Context: any; called by the send task.
 */
void smr_window_rewind(struct smr_qp *qp, bool late)
{
	smr_qp_inc(qp, SMR_CNT_RETRANSMITS);
	smr_window_restart(qp);
	window_narrow(qp, late);
}

/**
 * smr_window_lost() - responses were lost, and only they are asked for again
 * @qp: the QP
 *
 * That narrows the window, once for what was under way together.
 *
 * Context: any; called by the send task.
 */
void smr_window_lost(struct smr_qp *qp)
{
	smr_qp_inc(qp, SMR_CNT_RETRANSMITS);
	if (smr_psn_diff(qp->comp.una, qp->req.loss_end) >= 0)
		window_narrow(qp, false);
}

/**
 * smr_window_slow() - the network has marked what was sent, or what was asked for
 * @qp: the QP
 *
 * The marks of one window have effect once. The window does not become smaller than loss
 * would make it. So whoever sends CNPs that the network did not cause gains no more by it
 * than by dropping packets.
 *
 * Context: any; called by the send task.
 */
void smr_window_slow(struct smr_qp *qp)
{
	struct smr_requester *req = &qp->req;
	u32 was = req->window;

	if (req->slowed && smr_psn_diff(qp->comp.una, req->slow_end) < 0)
		return;
	req->congestion += (SMR_CONGESTION_FULL - req->congestion) >>
			   CONGESTION_SHIFT;
	req->window = max(was - was * req->congestion /
				(2 * SMR_CONGESTION_FULL), WINDOW_MIN);
	req->threshold = req->window;
	req->growth = 0;
	req->slowed = true;
	req->slow_end = req->max_psn;
	trace_smr_slow(qp->ibqp.qp_num, qp->comp.una, req->max_psn, was,
		       req->window, req->congestion);
}

/* How many PSNs from @psn on may be under way. What has come is not any more. */
static u32 window_room_at(const struct smr_qp *qp, u32 psn)
{
	int used = smr_psn_diff(psn, qp->comp.una);
	u32 window = qp->req.window;

	if (unlikely(qp->comp.ahead.any))
		window = min(window + qp->comp.ahead.kept, window_max(qp));
	return used >= (int)window ? 0 : window - used;
}

/**
 * smr_window_room() - how many PSNs may be sent now
 * @qp: the QP
 *
 * Context: any; called by the send task.
 * Return: the number, or 0.
 */
u32 smr_window_room(const struct smr_qp *qp)
{
	return window_room_at(qp, qp->req.psn);
}

/* From @first to where parts of @part PSNs, a power of two, end */
static u32 part_left(u32 first, u32 part)
{
	return (first | (part - 1)) + 1 - first;
}

/**
 * smr_window_part() - how many PSNs the next request of a READ asks for
 * @qp: the QP
 * @first: the first of them, counted from the READ's
 * @npsn: all of the READ's
 *
 * A repeated request must lie within one request that was sent before, or the
 * responder does not recognise it. So all parts end where the smallest parts do,
 * and repeated requests are of the smallest size. What has come is not in them.
 *
 * Context: any; called by the send task.
 * Return: the number.
 */
u32 smr_window_part(const struct smr_qp *qp, u32 first, u32 npsn)
{
	const struct smr_requester *req = &qp->req;
	u32 part = READ_PART_MIN;

	if (req->psn == req->max_psn)
		part = clamp(rounddown_pow_of_two(req->window), READ_PART_MIN,
			     READ_PART_MAX);
	part = min(npsn - first, part_left(first, part));
	return smr_ahead_missing(&qp->comp.ahead, req->psn, part);
}

/**
 * smr_window_least() - how many PSNs may the smallest part of a READ take?
 * @first: its first PSN, counted from the READ's
 *
 * Return: so many as lie within one request that was sent before, if they are the READ's.
 */
u32 smr_window_least(u32 first)
{
	return part_left(first, READ_PART_MIN);
}

/**
 * smr_window_request_left() - how much of its READ request or atomic begins with a PSN?
 * @qp: the QP
 * @psn: an outstanding READ's or atomic's that is before the next PSN to send
 *
 * After everything was sent again that is a repeated request, which lies within an earlier
 * one.
 *
 * Context: any; called by the send task.
 * Return: the number of PSNs, at least 1.
 */
u32 smr_window_request_left(const struct smr_qp *qp, u32 psn)
{
	const struct smr_requester *req = &qp->req;

	return smr_psn_off(window_read_end(req, window_read(req, psn)), psn);
}

/**
 * smr_window_reads() - how many READ requests and atomics are outstanding
 * @qp: the QP
 *
 * Context: any; called by the send task.
 * Return: the number.
 */
u32 smr_window_reads(const struct smr_qp *qp)
{
	return qp->req.rd_tail - qp->req.rd_head;
}

/**
 * smr_window_response_fits() - is a READ response where its opcode says?
 * @qp: the QP
 * @wqe: the READ
 * @psn: the response's
 * @op_flags: enum smr_op_flags of its opcode
 *
 * IBTA 9.4.4: the answer to a request of one packet is an ONLY. Other answers begin with
 * a FIRST, end with a LAST, and have MIDDLEs between. A READ may have been asked for in
 * several requests, see smr_window_part(). What was asked for again may be answered as
 * the earlier request says, or as the later one. Then only the ends of the READ are sure.
 *
 * Context: any; called by the send task.
 * Return: false: no request would be answered like this.
 */
bool smr_window_response_fits(const struct smr_qp *qp,
			      const struct smr_swqe *wqe, u32 psn, u32 op_flags)
{
	const struct smr_requester *req = &qp->req;
	bool first = psn == wqe->psn;
	bool last = smr_psn_off(psn, wqe->psn) + 1 == wqe->npsn;
	u32 read;

	if (smr_psn_diff(psn, req->mixed) < 0)
		return (!first || op_flags & SMR_OP_FIRST) &&
		       (!last || op_flags & SMR_OP_LAST);
	read = window_read(req, psn);
	first |= psn == (read == req->rd_head ? req->rd_from :
					window_read_end(req, read - 1));
	last |= smr_psn_add(psn, 1) == window_read_end(req, read);
	return first == !!(op_flags & SMR_OP_FIRST) &&
	       last == !!(op_flags & SMR_OP_LAST);
}

/**
 * smr_window_middles() - how many MIDDLEs may follow a READ response that is one
 * @qp: the QP
 * @psn: the response's; smr_window_response_fits()
 *
 * Context: any; called by the send task.
 * Return: so many that the answer to the same request has at least one packet behind them;
 * 0 where it is not sure how that answer is cut.
 */
u32 smr_window_middles(const struct smr_qp *qp, u32 psn)
{
	const struct smr_requester *req = &qp->req;
	u32 read = window_read(req, psn);
	int left;

	if (read == req->rd_tail || smr_psn_diff(psn, req->mixed) < 0)
		return 0;
	left = smr_psn_diff(window_read_end(req, read), psn);
	return left > 2 ? left - 2 : 0;
}

/**
 * smr_window_add_read() - count a READ or atomic that has just been sent
 * @qp: the QP
 *
 * Context: any; called by the send task.
 */
void smr_window_add_read(struct smr_qp *qp)
{
	struct smr_requester *req = &qp->req;

	req->rd_end[req->rd_tail++ % SMR_MAX_RD_ATOMIC] = req->psn;
}

/**
 * smr_window_may_repeat() - may a part of a READ be asked for again now?
 * @qp: the QP
 * @psn: where the part begins
 * @n: its length in PSNs
 *
 * Of what one request asked for, one part is under way at once: the responder has agreed
 * to so many requests as were sent, and rdma_rxe cannot answer a part before another one
 * that it has answered again. What is repeated is bounded by the window, too. The oldest
 * part may always be.
 *
 * Context: any; called by the send task.
 * Return: false: it has to wait for answers.
 */
bool smr_window_may_repeat(const struct smr_qp *qp, u32 psn, u32 n)
{
	const struct smr_ahead *ahead = &qp->comp.ahead;

	if (ahead->waits && window_read(&qp->req, psn) ==
			    window_read(&qp->req, ahead->last))
		return false;
	return psn == qp->comp.una || n <= window_room_at(qp, psn);
}

/**
 * smr_window_mix() - a part of a READ is asked for again
 * @qp: the QP
 * @psn: where the part ends
 *
 * Context: any; called by the send task.
 */
void smr_window_mix(struct smr_qp *qp, u32 psn)
{
	if (smr_psn_diff(psn, qp->req.mixed) > 0)
		qp->req.mixed = psn;
}
