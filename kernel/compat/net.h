/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels in the network and checksum code. */
#ifndef SMR_COMPAT_NET_H
#define SMR_COMPAT_NET_H

#include <linux/bits.h>
#include <linux/crc32.h>
#include <linux/netdevice.h>
#include <net/ip6_fib.h>
#include <net/route.h>

#include "generated.h"

/* Segmentation had its functions in linux/netdevice.h before. */
#ifdef HAVE_NET_GSO
#include <net/gso.h>
#endif

/* The route that a destination is part of; it was a cast before. */
#ifndef dst_rtable
#define dst_rtable(ptr)	container_of(ptr, struct rtable, dst)
#endif
#ifndef dst_rt6_info
#define dst_rt6_info(ptr)	container_of(ptr, struct rt6_info, dst)
#endif

/**
 * smr_crc32_accelerated() - does crc32_le() use special CPU instructions?
 *
 * Kernels since 6.14 tell, and the flag's presence in their header tells of
 * that. Before, only arm64's crc32_le() did; on x86 the fast code was out of
 * its reach.
 *
 * Return: true when it does.
 */
static inline bool smr_crc32_accelerated(void)
{
#ifdef CRC32_LE_OPTIMIZATION
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
#else
	return IS_ENABLED(CONFIG_ARM64);
#endif
}

#endif /* SMR_COMPAT_NET_H */
