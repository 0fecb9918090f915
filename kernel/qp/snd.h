/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What a send side has sent, and what of that is acknowledged. Only the functions in this file
 * write it.
 */
#ifndef SMR_SND_H
#define SMR_SND_H

#include <linux/bug.h>
#include <linux/types.h>

#include "net/wire.h"

/**
 * struct smr_snd - the sequence numbers of a send side
 * @una: oldest PSN that is not acknowledged
 * @psn: next PSN to send
 * @max_psn: one past the highest PSN ever sent
 * @next: index in the send queue of the request that @psn belongs to: the next to send
 * @wire: packets were sent on the wire, and may still be in flight
 *
 * @una <= @psn <= @max_psn, and @next is never before the oldest request in the queue.
 *
 * Owned by the send task.
 */
struct smr_snd {
	u32 una;
	u32 psn;
	u32 max_psn;
	u32 next;
	bool wire;
};

/* Reset for an empty queue that begins at index 0. */
static inline void smr_snd_reset(struct smr_snd *snd)
{
	*snd = (struct smr_snd){};
}

/* Start with @psn as the first; nothing has been sent. */
static inline void smr_snd_start(struct smr_snd *snd, u32 psn)
{
	snd->una = psn;
	snd->psn = psn;
	snd->max_psn = psn;
	snd->wire = false;
}

static inline u32 smr_snd_in_flight(const struct smr_snd *snd)
{
	return smr_psn_off(snd->psn, snd->una);
}

/* Is all that was ever sent acknowledged? */
static inline bool smr_snd_is_settled(const struct smr_snd *snd)
{
	return snd->una == snd->max_psn;
}

/* Is the next PSN one that has never been sent before? */
static inline bool smr_snd_is_fresh(const struct smr_snd *snd)
{
	return snd->psn == snd->max_psn;
}

/* Skip @n PSNs that need not be sent, or sent again, on the wire. */
static inline void smr_snd_pass(struct smr_snd *snd, u32 n)
{
	snd->psn = smr_psn_add(snd->psn, n);
	if (smr_psn_diff(snd->psn, snd->max_psn) > 0)
		snd->max_psn = snd->psn;
}

/* Account for @n PSNs that were sent on the wire. */
static inline void smr_snd_sent(struct smr_snd *snd, u32 n)
{
	snd->wire = true;
	smr_snd_pass(snd, n);
}

/* Nothing is in flight on the wire, so the next message may use the same-host shortcut. */
static inline void smr_snd_leave_wire(struct smr_snd *snd)
{
	snd->wire = false;
}

/* IBTA 9.8.2: an unreliable service gets no acknowledgments. */
static inline void smr_snd_settle(struct smr_snd *snd)
{
	snd->una = snd->psn;
}

/* The next request was sent completely. */
static inline void smr_snd_next(struct smr_snd *snd)
{
	snd->next++;
}

/* The oldest request of the queue is now @head. */
static inline void smr_snd_popped(struct smr_snd *snd, u32 head)
{
	if ((int)(snd->next - head) < 0)
		snd->next = head;
}

/* All requests in the queue are dropped. The next one will be @head. */
static inline void smr_snd_abandon(struct smr_snd *snd, u32 head)
{
	snd->next = head;
}

/*
 * All PSNs before @una are acknowledged; the oldest request is @head. @una may be past @psn
 * after a rewind. The caller has compared @una with @max_psn.
 */
static inline void smr_snd_acked(struct smr_snd *snd, u32 una, u32 head)
{
	snd->una = una;
	if (smr_psn_diff(una, snd->psn) > 0) {
		snd->psn = una;
		snd->next = head;
	}
	WARN_ON_ONCE(smr_psn_diff(snd->max_psn, snd->psn) < 0);
}

/* IBTA 9.7.5.1: go back N. The oldest request is @head. */
static inline void smr_snd_rewind(struct smr_snd *snd, u32 head)
{
	snd->psn = snd->una;
	snd->next = head;
}

#endif /* SMR_SND_H */
