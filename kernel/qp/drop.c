// SPDX-License-Identifier: GPL-2.0
/*
 * Which dropped packets of a QP are logged. Whoever can send packets decides how many are
 * dropped, so each reason is logged once a second: else they would push the refusals of the
 * process out of its log.
 */
#include "qp/drop.h"

#include <linux/bits.h>
#include <linux/compiler.h>
#include <linux/jiffies.h>

/**
 * smr_drops_note() - may a dropped packet be logged?
 * @drops: of its QP
 * @id: the reason, enum smr_why_id
 *
 * Context: any.
 * Return: true if this reason was not logged in this second; it counts as logged then.
 */
bool smr_drops_note(struct smr_drops *drops, u32 id)
{
	unsigned long second = jiffies / HZ, noted;

	noted = READ_ONCE(drops->second) == second ? READ_ONCE(drops->noted) :
						     0;
	if (noted & BIT(id % BITS_PER_LONG))
		return false;
	WRITE_ONCE(drops->noted, noted | BIT(id % BITS_PER_LONG));
	WRITE_ONCE(drops->second, second);
	return true;
}
