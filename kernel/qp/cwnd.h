/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The congestion window: how much a send side may have in flight. It does not use the QP: its
 * callers report events, and the round-trip time of the path.
 */
#ifndef SMR_CWND_H
#define SMR_CWND_H

#include <linux/minmax.h>
#include <linux/types.h>

/* Value of @congestion if all packets were marked */
#define SMR_CONGESTION_FULL	1024

/* The minimum window; a power of two */
#define SMR_CWND_MIN		16

/**
 * struct smr_cwnd - a congestion window
 * @size: PSNs that may be outstanding
 * @threshold: up to this size the window grows fast (slow start)
 * @growth: PSNs acknowledged since the window last grew
 * @loss_end: losses of PSNs before this one were handled
 * @slowed: marks have reduced the window, and it has not recovered
 * @slow_end: marks of PSNs before this one were handled
 * @congestion: the marked fraction of recent packets, in 1/SMR_CONGESTION_FULL
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

/*
 * The number of further PSNs that may be in flight, if @used PSNs are unacknowledged and the
 * responses of @kept of these have arrived
 */
static inline u32 smr_cwnd_room(const struct smr_cwnd *w, int used, u32 kept,
				u32 max)
{
	u32 size = kept ? min(w->size + kept, max) : w->size;

	return used >= (int)size ? 0 : size - used;
}

#endif /* SMR_CWND_H */
