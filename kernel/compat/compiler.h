/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in compiler attributes. */
#ifndef SMR_COMPAT_COMPILER_H
#define SMR_COMPAT_COMPILER_H

#include <linux/compiler.h>

/* Bounds checks of flexible arrays began with 6.6; updates of 6.1 have them, too. */
#ifndef __counted_by
#define __counted_by(member)
#endif

#endif /* SMR_COMPAT_COMPILER_H */
