/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in socket buffers. */
#ifndef SMR_COMPAT_SKB_H
#define SMR_COMPAT_SKB_H

#include <linux/skbuff.h>

#include "generated.h"

/*
 * A netdev may receive into memory that the CPU cannot read (device memory TCP, zero-copy
 * receive of io_uring). In older kernels all fragments are readable pages.
 */
#ifndef HAVE_SKB_FRAGS_READABLE
static inline bool skb_frags_readable(const struct sk_buff *skb)
{
	return true;
}
#endif

#endif /* SMR_COMPAT_SKB_H */
