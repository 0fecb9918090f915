// SPDX-License-Identifier: GPL-2.0
/*
 * The congestion control "window": marks shrink the window, as loss does, but by less when few
 * packets are marked.
 *
 * Marks (ECN, RoCEv2 annex A17.9): as in DCQCN, a CNP says that some packets in flight were
 * marked, not how many. As in RFC 8257 (DCTCP), the frequency of marked windows decides how
 * much the window shrinks: with each window, @congestion moves by 1/16 towards 1 or 0. The
 * first mark halves the window. After that it grows as after a loss, with each window that is
 * acknowledged. DCQCN also raises its rate with time. This does not, because it would then grow
 * faster than windows are acknowledged where packets queue for long.
 */
#include "qp/cwnd.h"

#define CONGESTION_SHIFT	4

/**
 * struct window - its state in smr_cwnd.priv
 * @slow_end: marks of PSNs before this one were handled
 * @slowed: marks have reduced the window, and it has not recovered
 */
struct window {
	u32 slow_end;
	bool slowed;
};

static void window_grow(struct smr_cwnd *w, u32 una, u32 max)
{
	struct window *own = SMR_CC_PRIV(w, struct window);

	smr_cwnd_grow(w, max);
	if (!own->slowed)
		return;
	if (smr_psn_diff(una, own->slow_end) > 0)
		w->congestion -= w->congestion >> CONGESTION_SHIFT;
	if (w->size == max) {
		own->slowed = false;
		w->congestion = SMR_CONGESTION_FULL;
	}
}

/*
 * The marks of one window have one effect. The window does not become smaller than by loss. So
 * an attacker that forges CNPs gains no more than by dropping packets.
 */
static bool window_marked(struct smr_cwnd *w, const struct smr_cc_event *event)
{
	struct window *own = SMR_CC_PRIV(w, struct window);

	if (own->slowed && smr_psn_diff(event->una, own->slow_end) < 0)
		return false;
	w->congestion += (SMR_CONGESTION_FULL - w->congestion) >>
			 CONGESTION_SHIFT;
	w->size = max(w->size - w->size * w->congestion /
				(2 * SMR_CONGESTION_FULL), SMR_CWND_MIN);
	w->threshold = w->size;
	w->growth = 0;
	own->slowed = true;
	own->slow_end = event->max_psn;
	return true;
}

const struct smr_cc_ops smr_cc_window = {
	.name = "window",
	.grow = window_grow,
	.lost = smr_cwnd_shrink,
	.marked = window_marked,
};
