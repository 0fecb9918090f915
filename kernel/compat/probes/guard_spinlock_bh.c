// SPDX-License-Identifier: GPL-2.0
#include <linux/cleanup.h>
#include <linux/spinlock.h>
void probe(spinlock_t *lock);
void probe(spinlock_t *lock)
{ guard(spinlock_bh)(lock); }
