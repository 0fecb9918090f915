/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in the header for unaligned accesses: once per architecture, now common. */
#ifndef SMR_COMPAT_UNALIGNED_H
#define SMR_COMPAT_UNALIGNED_H

#include "generated.h"

#ifdef HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* SMR_COMPAT_UNALIGNED_H */
