/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The oldest kernel that softmr can be built for. This is compiled before
 * anything else, so that there is one error and not a thousand.
 */
#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 1, 0)
#error "softmr needs Linux 6.1 or newer: boot a newer kernel, or give KDIR= the headers of one"
#elif !__has_include(<linux/cleanup.h>)
#error "this kernel has no linux/cleanup.h: update it to a later stable release of 6.1, or to 6.5 or newer"
#elif !defined(CONFIG_NETFILTER)
#error "softmr needs a kernel with netfilter (CONFIG_NETFILTER)"
#endif
