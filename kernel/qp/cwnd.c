// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion window. Loss is handled as in RFC 5681, in PSNs.
 *
 * Marks (ECN, RoCEv2 annex A17.9): as in DCQCN, a CNP says that some packets in flight were
 * marked, not how many. As in RFC 8257 (DCTCP), the frequency of marked windows decides how
 * much the window shrinks: with each window, @congestion moves by 1/16 towards 1 or 0. The
 * first mark halves the window. After that it grows by WINDOW_STEP with each window that is
 * acknowledged. DCQCN also increases its rate by the clock; that would grow faster where
 * packets queue for long, just when they should not.
 */
#include "qp/cwnd.h"

#include "net/wire.h"
#include "qp/ooo.h"

/*
 * PSNs that may be outstanding: the maximum on a path that is not far, and the initial value, for
 * an unknown path, on which all QPs may start at once
 */
#define WINDOW_MAX	1024
#define WINDOW_START	128

/*
 * If the minimum round-trip time of a path is at least FAR_US, in us, more must be in flight to
 * fill the path: up to FAR_MAX PSNs, and up to FAR_MAX_BYTES, since a responder that has to wait
 * keeps the packets
 */
#define FAR_US		5000
#define FAR_MAX		4096
#define FAR_MAX_BYTES	(4 * 1024 * 1024)

static_assert(FAR_MAX <= SMR_OOO_PSNS);

/* PSNs by which it grows after congestion or loss */
#define WINDOW_STEP	16

#define CONGESTION_SHIFT	4

/**
 * smr_cwnd_reset() - return the window to its initial size
 * @w: the window
 * @psn: the next PSN to send
 */
void smr_cwnd_reset(struct smr_cwnd *w, u32 psn)
{
	*w = (struct smr_cwnd){
		.size = WINDOW_START,
		.threshold = FAR_MAX,
		.loss_end = psn,
		.congestion = SMR_CONGESTION_FULL,
	};
}

/**
 * smr_cwnd_max() - the maximum window of a path
 * @least_us: the minimum round-trip time, in us
 * @mtu: maximum bytes per PSN
 *
 * Return: PSNs.
 */
u32 smr_cwnd_max(u32 least_us, u32 mtu)
{
	if (least_us < FAR_US)
		return WINDOW_MAX;
	return clamp_t(u32, FAR_MAX_BYTES / mtu, WINDOW_MAX, FAR_MAX);
}

/* A whole window was acknowledged. */
static void window_grow(struct smr_cwnd *w, u32 una, u32 max)
{
	u32 more = w->size < w->threshold ?
		   min(w->size, w->threshold - w->size) : WINDOW_STEP;

	w->growth = 0;
	w->size = min(w->size + more, max);
	if (!w->slowed)
		return;
	if (smr_psn_diff(una, w->slow_end) > 0)
		w->congestion -= w->congestion >> CONGESTION_SHIFT;
	if (w->size == max) {
		w->slowed = false;
		w->congestion = SMR_CONGESTION_FULL;
	}
}

/**
 * smr_cwnd_acked() - grow the window after an acknowledgment
 * @w: the window
 * @una: the new oldest unacknowledged PSN
 * @psns: number of PSNs acknowledged
 * @max: smr_cwnd_max()
 */
void smr_cwnd_acked(struct smr_cwnd *w, u32 una, u32 psns, u32 max)
{
	if (smr_psn_diff(una, w->loss_end) > 0)
		w->loss_end = una;
	w->growth += psns;
	if (w->growth >= w->size)
		window_grow(w, una, max);
}

/**
 * smr_cwnd_lost() - shrink the window after a loss, when everything is retransmitted
 * @w: the window
 * @max_psn: one past the highest PSN ever sent
 * @late: a timer has fired: packets may be lost, or queued in a slow network. Retransmissions
 *	may add to them, so the window becomes minimal
 */
void smr_cwnd_lost(struct smr_cwnd *w, u32 max_psn, bool late)
{
	w->growth = 0;
	w->loss_end = max_psn;
	w->threshold = max(w->size / 2, SMR_CWND_MIN);
	w->size = late ? SMR_CWND_MIN : w->threshold;
}

/**
 * smr_cwnd_lost_once() - shrink the window after a loss, when only the missing part is
 * requested again
 * @w: the window
 * @una: the oldest unacknowledged PSN
 * @max_psn: one past the highest PSN ever sent
 *
 * This shrinks the window once for all that was in flight together.
 *
 * Return: true if it did.
 */
bool smr_cwnd_lost_once(struct smr_cwnd *w, u32 una, u32 max_psn)
{
	if (smr_psn_diff(una, w->loss_end) < 0)
		return false;
	smr_cwnd_lost(w, max_psn, false);
	return true;
}

/**
 * smr_cwnd_marked() - shrink the window after a congestion mark
 * @w: the window
 * @una: the oldest unacknowledged PSN
 * @max_psn: one past the highest PSN ever sent
 *
 * The marks of one window have one effect. The window does not become smaller than by loss. So
 * an attacker that forges CNPs gains no more than by dropping packets.
 *
 * Return: true if it had an effect.
 */
bool smr_cwnd_marked(struct smr_cwnd *w, u32 una, u32 max_psn)
{
	if (w->slowed && smr_psn_diff(una, w->slow_end) < 0)
		return false;
	w->congestion += (SMR_CONGESTION_FULL - w->congestion) >>
			 CONGESTION_SHIFT;
	w->size = max(w->size - w->size * w->congestion /
				(2 * SMR_CONGESTION_FULL), SMR_CWND_MIN);
	w->threshold = w->size;
	w->growth = 0;
	w->slowed = true;
	w->slow_end = max_psn;
	return true;
}
