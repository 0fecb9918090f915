/* SPDX-License-Identifier: GPL-2.0 */
/* Address handles and vectors, and setting a path from an address attribute. */
#ifndef SMR_AH_H
#define SMR_AH_H

#include <linux/container_of.h>
#include <linux/rcupdate.h>
#include <linux/refcount.h>
#include <linux/types.h>
#include <linux/xarray.h>
#include <rdma/ib_verbs.h>

#include "net/path.h"

struct net;
struct smr_env;
struct smr_why_log;

/**
 * struct smr_ahtab - the address vectors of a device
 * @xa: number -> struct smr_av; RCU for readers. Kernel consumers make address
 *	handles in any context, so its lock is taken with interrupts off
 * @next: start of the search for a free number; under that lock. A number is not reused soon,
 *	so a work request whose handle was destroyed does not find another one
 */
struct smr_ahtab {
	struct xarray xa;
	u32 next;
};

/**
 * struct smr_av - an address vector
 * @ref: one for the address handle, one for each use in progress
 * @number: its number in work requests
 * @pd: only QPs of this PD may use it; compared, never dereferenced
 * @path: the path to the address
 * @rcu: defers freeing: readers of the table may still access @ref
 *
 * Constant once it is in the table, except @ref and the fields of @path that its own
 * lock guards.
 */
struct smr_av {
	refcount_t ref;
	u32 number;
	const struct ib_pd *pd;
	struct smr_path path;
	struct rcu_head rcu;
};

/**
 * struct smr_ah - an address handle
 * @ibah: the core's part
 * @tab: the table that contains @av
 * @attr: as it was created, without references
 * @av: used by work requests, which contain @av->number
 *
 * Constant until it is destroyed.
 */
struct smr_ah {
	struct ib_ah ibah;
	struct smr_ahtab *tab;
	struct rdma_ah_attr attr;
	struct smr_av *av;
};

static inline struct smr_ah *to_smr_ah(const struct ib_ah *ibah)
{
	return container_of(ibah, struct smr_ah, ibah);
}

void smr_ahtab_init(struct smr_ahtab *tab);
void smr_ahtab_fini(struct smr_ahtab *tab);

struct smr_av *smr_av_alloc(const struct ib_pd *pd, struct net *net,
			    gfp_t gfp);
int smr_av_publish(struct smr_ahtab *tab, struct smr_av *av, gfp_t gfp);
void smr_av_withdraw(struct smr_ahtab *tab, struct smr_av *av);
struct smr_av *__must_check smr_av_find(struct smr_ahtab *tab, u32 number,
					const struct ib_pd *pd);
void smr_av_put(struct smr_av *av);

int smr_ah_create(struct smr_ah *ah, const struct smr_env *env,
		  const struct rdma_ah_attr *attr, gfp_t gfp);
void smr_ah_destroy(struct smr_ah *ah);

int smr_ah_check(const struct rdma_ah_attr *attr, const struct smr_env *env,
		 struct smr_why_log *log, u32 qpn);
void smr_ah_note(struct rdma_ah_attr *note, const struct rdma_ah_attr *attr);
void smr_ah_set_path(struct smr_path *path, const struct rdma_ah_attr *attr,
		     const struct smr_env *env, u32 qpn, u32 dest_qpn);

#endif /* SMR_AH_H */
