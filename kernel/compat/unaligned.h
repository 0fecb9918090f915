/* SPDX-License-Identifier: GPL-2.0 */
/* Unaligned accesses were each architecture's before they were common. */
#ifndef SMR_COMPAT_UNALIGNED_H
#define SMR_COMPAT_UNALIGNED_H

#include "generated.h"

#ifdef HAVE_LINUX_UNALIGNED
#include <linux/unaligned.h>
#else
#include <asm/unaligned.h>
#endif

#endif /* SMR_COMPAT_UNALIGNED_H */
