/* SPDX-License-Identifier: GPL-2.0 */
/*
 * How much a send side may have under way, which adapts to the network. It knows no QP: its
 * users say what has happened, and how far the path is.
 */
#ifndef SMR_CWND_H
#define SMR_CWND_H

#include <linux/minmax.h>
#include <linux/types.h>

/* All of it was marked */
#define SMR_CONGESTION_FULL	1024

/* A window is never smaller; a power of two */
#define SMR_CWND_MIN		16

/**
 * struct smr_cwnd - a congestion window
 * @size: PSNs that may be outstanding
 * @threshold: up to here the window grows fast
 * @growth: acknowledged since the window last grew
 * @loss_end: losses of PSNs before it have had their effect
 * @slowed: marks have narrowed the window, and it has not recovered
 * @slow_end: marks of PSNs before it have had their effect
 * @congestion: how much of what was sent lately was marked, of SMR_CONGESTION_FULL
 *
 * Owned by the send task.
 */
struct smr_cwnd {
	u32 size;
	u32 threshold;
	u32 growth;
	u32 loss_end;
	bool slowed;
	u32 slow_end;
	u32 congestion;
};

void smr_cwnd_reset(struct smr_cwnd *w, u32 psn);
u32 smr_cwnd_max(u32 least_us, u32 mtu);
void smr_cwnd_acked(struct smr_cwnd *w, u32 una, u32 psns, u32 max);
void smr_cwnd_lost(struct smr_cwnd *w, u32 max_psn, bool late);
bool smr_cwnd_lost_once(struct smr_cwnd *w, u32 una, u32 max_psn);
bool smr_cwnd_marked(struct smr_cwnd *w, u32 una, u32 max_psn);

/* How many more PSNs may be under way, if @used are, of which @kept have come */
static inline u32 smr_cwnd_room(const struct smr_cwnd *w, int used, u32 kept,
				u32 max)
{
	u32 size = kept ? min(w->size + kept, max) : w->size;

	return used >= (int)size ? 0 : size - used;
}

#endif /* SMR_CWND_H */
