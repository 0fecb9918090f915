/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Counts that are kept only while they are watched: all CPUs may use a region at once, and
 * counting the copied bytes then costs as much as a small copy.
 */
#ifndef SMR_WATCH_H
#define SMR_WATCH_H

#include <linux/jump_label.h>

DECLARE_STATIC_KEY_FALSE(smr_watched);

static inline bool smr_is_watched(void)
{
	return static_branch_unlikely(&smr_watched);
}

void smr_watch(void);
void smr_watch_fini(void);

#endif /* SMR_WATCH_H */
