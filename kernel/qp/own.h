/* SPDX-License-Identifier: GPL-2.0 */
/* A cache of a device's own addresses. */
#ifndef SMR_OWN_H
#define SMR_OWN_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct in6_addr;
struct smr_own_cpu;

/**
 * struct smr_own - addresses found in a device's GID table
 * @removed: number of GIDs removed from the table, plus 1; incremented after each removal
 * @cpus: the cache of each CPU
 */
struct smr_own {
	atomic_t removed;
	struct smr_own_cpu __percpu *cpus;
};

int smr_own_init(struct smr_own *own);
void smr_own_fini(struct smr_own *own);
bool smr_own_knows(struct smr_own *own, const struct in6_addr *addr, int iif,
		   int *removed);
void smr_own_add(struct smr_own *own, const struct in6_addr *addr, int iif,
		 int removed);
void smr_own_forget(struct smr_own *own);

#endif /* SMR_OWN_H */
