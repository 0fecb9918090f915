/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels in packets. */
#ifndef SMR_COMPAT_SKB_H
#define SMR_COMPAT_SKB_H

#include <linux/skbuff.h>

#include "generated.h"

/*
 * A netdev may put what it receives into memory that the CPU cannot read (TCP into device
 * memory, zero-copy receive of io_uring). All fragments were pages before.
 */
#ifndef HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif /* SMR_COMPAT_SKB_H */
