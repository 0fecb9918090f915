/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in the network code. */
#ifndef SMR_COMPAT_NET_H
#define SMR_COMPAT_NET_H

#include <linux/netdevice.h>
#include <net/inet_sock.h>
#include <net/ip6_fib.h>
#include <net/route.h>

#include "generated.h"

/* In older kernels, the GSO functions are in linux/netdevice.h. */
#ifdef HAVE_NET_GSO
#include <net/gso.h>
#endif

/* The route that contains a dst_entry; in older kernels it is a cast. */
#ifndef dst_rtable
#define dst_rtable(ptr)	container_of(ptr, struct rtable, dst)
#endif
#ifndef dst_rt6_info
#define dst_rt6_info(ptr)	container_of(ptr, struct rt6_info, dst)
#endif

/* This host, too, receives the multicasts that are charged to a sock. */
static inline void smr_sock_loop_multicast(struct sock *sk)
{
#ifdef inet_set_bit
	inet_set_bit(MC_LOOP, sk);
#else
	inet_sk(sk)->mc_loop = 1;
#endif
}

#endif /* SMR_COMPAT_NET_H */
