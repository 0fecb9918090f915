/* SPDX-License-Identifier: GPL-2.0 */
/* Which dropped packets of a QP are logged: each reason once a second. */
#ifndef SMR_DROP_H
#define SMR_DROP_H

#include <linux/types.h>

/**
 * struct smr_drops - the reasons that were logged lately
 * @second: jiffies / HZ of the last record
 * @noted: bitmap of the reasons that were logged in that second, by the low bits of their ids
 *
 * Any context may write it without a lock: a race costs or adds one record.
 */
struct smr_drops {
	unsigned long second;
	unsigned long noted;
};

bool smr_drops_note(struct smr_drops *drops, u32 id);

#endif /* SMR_DROP_H */
