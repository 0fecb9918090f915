// SPDX-License-Identifier: GPL-2.0
/*
 * What all congestion controls have in common: the bounds of the window, its growth and its
 * reaction to loss, as in RFC 5681 but in PSNs; and the limit of the rate.
 */
#include "qp/cwnd.h"

#include <linux/bits.h>
#include <linux/limits.h>

#include "net/wire.h"

/*
 * PSNs that may be outstanding: the maximum on a path with a short round-trip time; and the initial
 * value, for an unknown path on which all QPs may start at once
 */
#define WINDOW_MAX	1024
#define WINDOW_START	128

/*
 * If the minimum round-trip time of a path is at least FAR_US, in us, more must be in flight to
 * fill the path: up to FAR_MAX PSNs. And up to FAR_MAX_BYTES, because a responder that waits for a
 * page queues them all.
 */
#define FAR_US		5000
#define FAR_MAX		4096
#define FAR_MAX_BYTES	(4 * 1024 * 1024)

/* PSNs by which it grows after congestion or loss */
#define WINDOW_STEP	16

/* Return the window to its initial size. @psn: the next PSN to send. */
void smr_cwnd_reset(struct smr_cwnd *w, u32 psn)
{
	*w = (struct smr_cwnd){
		.ops = w->ops,
		.size = WINDOW_START,
		.threshold = FAR_MAX,
		.loss_end = psn,
		.congestion = SMR_CONGESTION_FULL,
		.burst = U32_MAX,
	};
}

/*
 * The maximum window of a path. @least_us: the minimum round-trip time, in us. @mtu: maximum bytes
 * per PSN. Returns PSNs.
 */
u32 smr_cwnd_max(u32 least_us, u32 mtu)
{
	if (least_us < FAR_US)
		return WINDOW_MAX;
	return clamp_t(u32, FAR_MAX_BYTES / mtu, WINDOW_MAX, FAR_MAX);
}

/*
 * Grow the window after a whole window was acknowledged. It doubles until the size is
 * @w->threshold.
 */
void smr_cwnd_grow(struct smr_cwnd *w, u32 max)
{
	u32 more = w->size < w->threshold ?
		   min(w->size, w->threshold - w->size) : WINDOW_STEP;

	w->size = min(w->size + more, max);
}

/*
 * Shrink the window after a loss, when everything is retransmitted. @max_psn: one past the highest
 * PSN ever sent. @late: a timer has fired: packets may be lost, or queued in a slow network.
 * Retransmissions may add to them, so the window becomes minimal.
 */
void smr_cwnd_shrink(struct smr_cwnd *w, u32 max_psn, bool late)
{
	w->growth = 0;
	w->loss_end = max_psn;
	w->threshold = max(w->size / 2, SMR_CWND_MIN);
	w->size = late ? SMR_CWND_MIN : w->threshold;
}

/*
 * Set how fast a send side may send. @kbps: kbit/s; 0: without a limit. @mtu: maximum bytes per
 * PSN. In one burst it may send what the rate sends in a millisecond, and at least a packet.
 */
void smr_cwnd_set_rate(struct smr_cwnd *w, u32 kbps, u32 mtu)
{
	w->rate = kbps;
	w->burst = kbps ? max(kbps / BITS_PER_BYTE / mtu, 1U) : U32_MAX;
}
