/* SPDX-License-Identifier: GPL-2.0 */
/* Packets that are dropped after their QP was found: a counter and a reason for each. */
#ifndef SMR_DROP_H
#define SMR_DROP_H

#include <linux/types.h>

#include "stats.h"
#include "why.h"

struct in6_addr;
struct smr_qp;

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

void __cold smr_qp_dropped(struct smr_qp *qp, enum smr_counter counter,
			   const struct smr_why *why,
			   const struct in6_addr *from);

/**
 * smr_qp_drop() - count a packet that is dropped, and log the reason
 * @qp: the QP that it was for
 * @name: name of the reason in SMR_WHYS(), DROP_...
 * @counter: enum smr_counter
 * @from: address that it came from, or NULL
 * @...: the numbers of the reason
 *
 * Context: any.
 */
#define smr_qp_drop(qp, name, counter, from, ...)			\
do {									\
	struct smr_why smr_drop_why = {};				\
									\
	smr_why(&smr_drop_why, name, ##__VA_ARGS__);			\
	smr_qp_dropped(qp, counter, &smr_drop_why, from);		\
} while (0)

#endif /* SMR_DROP_H */
