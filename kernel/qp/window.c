// SPDX-License-Identifier: GPL-2.0
#include "qp/window.h"

#include <linux/log2.h>
#include <linux/minmax.h>

#include "net/wire.h"
#include "qp/core.h"
#include "stats.h"

/*
 * PSNs that may be outstanding: on a good path, after much loss, and in the
 * beginning, when nothing is known of the path and all may begin at once
 */
#define WINDOW_MAX	1024
#define WINDOW_MIN	16
#define WINDOW_START	128

/* By how many it grows where there may be trouble */
#define WINDOW_STEP	16

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
	req->threshold = WINDOW_MAX;
	req->growth = 0;
	req->rd_head = 0;
	req->rd_tail = 0;
}

/* A whole window was acknowledged. RFC 5681 is the model. */
static void window_grow(struct smr_requester *req)
{
	u32 more = req->window < req->threshold ?
		   min(req->window, req->threshold - req->window) : WINDOW_STEP;

	req->growth = 0;
	req->window = min(req->window + more, WINDOW_MAX);
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
	       smr_psn_diff(una, req->rd_end[req->rd_head %
					     SMR_MAX_RD_ATOMIC]) >= 0)
		req->rd_head++;
	if (smr_psn_diff(una, req->psn) > 0) {
		/* These PSNs were sent before a rewind and acknowledged after it. */
		req->psn = una;
		qp->sq.next = qp->sq.head;
	}
	req->growth += psns;
	if (req->growth >= req->window)
		window_grow(req);
}

/**
 * smr_window_rewind() - go back to the oldest unacknowledged PSN
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
	struct smr_requester *req = &qp->req;

	smr_stat_inc(qp->env->stats, SMR_CNT_RETRANSMITS);
	req->psn = qp->comp.una;
	qp->sq.next = qp->sq.head;
	req->rd_head = 0;
	req->rd_tail = 0;
	req->growth = 0;
	req->threshold = max(req->window / 2, WINDOW_MIN);
	req->window = late ? WINDOW_MIN : req->threshold;
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
	int used = smr_psn_diff(qp->req.psn, qp->comp.una);

	return used >= (int)qp->req.window ? 0 : qp->req.window - used;
}

/**
 * smr_window_part() - how many PSNs the next request of a READ asks for
 * @qp: the QP
 * @first: the first of them, counted from the READ's
 * @npsn: all of the READ's
 *
 * A repeated request must lie within one request that was sent before, or the
 * responder does not recognise it. So all parts end where the smallest parts do,
 * and repeated requests are of the smallest size.
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
	return min(npsn, (first | (part - 1)) + 1) - first;
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
