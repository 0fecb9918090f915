/* SPDX-License-Identifier: GPL-2.0 */
/* Addresses that are known to be a device's own. */
#ifndef SMR_OWN_H
#define SMR_OWN_H

#include <linux/atomic.h>
#include <linux/percpu.h>
#include <linux/types.h>

struct in6_addr;
struct smr_own_cpu;

/**
 * struct smr_own - what was found in a device's GID table
 * @removed: how many GIDs the table has lost, plus 1; counted after each
 * @cpus: what each CPU has found
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
