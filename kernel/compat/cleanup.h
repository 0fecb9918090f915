/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in scope-based locks. */
#ifndef SMR_COMPAT_CLEANUP_H
#define SMR_COMPAT_CLEANUP_H

#include <linux/cleanup.h>
#include <linux/mutex.h>
#include <linux/rcupdate.h>
#include <linux/spinlock.h>

#include "generated.h"

/* Before 6.11 there were guards for all spinlock sections except this one. */
#ifndef HAVE_GUARD_SPINLOCK_BH
DEFINE_LOCK_GUARD_1(spinlock_bh, spinlock_t,
		    spin_lock_bh(_T->lock),
		    spin_unlock_bh(_T->lock))
#endif

#endif /* SMR_COMPAT_CLEANUP_H */
