// SPDX-License-Identifier: GPL-2.0
/*
 * Packets that are dropped after their QP was found. Whoever can send packets decides how many
 * these are, so each reason is logged once a second: else they would push the refusals of the
 * process out of its log.
 */
#include "qp/drop.h"

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/in6.h>
#include <linux/jiffies.h>
#include <linux/string.h>

#include "qp/core.h"

static bool is_noted(struct smr_drops *drops, u32 id)
{
	unsigned long second = jiffies / HZ, noted;

	noted = READ_ONCE(drops->second) == second ? READ_ONCE(drops->noted) :
						     0;
	if (noted & BIT(id % BITS_PER_LONG))
		return true;
	WRITE_ONCE(drops->noted, noted | BIT(id % BITS_PER_LONG));
	WRITE_ONCE(drops->second, second);
	return false;
}

/**
 * smr_qp_dropped() - count a packet that is dropped, and log the reason; see smr_qp_drop()
 * @qp: the QP that it was for
 * @counter: counts it
 * @why: the reason
 * @from: address that it came from, or NULL
 *
 * Context: any.
 */
void smr_qp_dropped(struct smr_qp *qp, enum smr_counter counter,
		    const struct smr_why *why, const struct in6_addr *from)
{
	struct smr_abi_why rec = { .qpn = qp->ibqp.qp_num };

	smr_qp_inc(qp, counter);
	if (is_noted(&qp->drops, why->id))
		return;
	if (from)
		memcpy(rec.peer, from, sizeof(rec.peer));
	smr_why_add(qp->whys, why, &rec);
}
