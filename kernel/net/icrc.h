/* SPDX-License-Identifier: GPL-2.0 */
/* The invariant CRC, IBTA 7.8.1 and annex A17.3.3. */
#ifndef SMR_ICRC_H
#define SMR_ICRC_H

#include <linux/types.h>

struct sk_buff;
struct smr_train;

void smr_icrc_seal(const struct smr_train *train, void *seg, unsigned int len);
bool __must_check smr_icrc_ok(const struct sk_buff *skb, unsigned int seg);

#endif /* SMR_ICRC_H */
