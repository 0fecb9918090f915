/* SPDX-License-Identifier: GPL-2.0 */
/* Memory regions: their states and rules. */
#ifndef SMR_MR_H
#define SMR_MR_H

#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/rbtree.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "ref.h"
#include "key.h"
#include "pinned.h"

struct smr_dm;
struct smr_pd;

enum smr_mr_state {
	SMR_MR_FREE,
	SMR_MR_VALID,
	SMR_MR_DYING,
};

/**
 * struct smr_mr - a memory region
 * @ibmr: the core's part
 * @key: what its lkey and rkey open
 * @keys: the table that contains @key; constant
 * @lock: guards @state, @windows, @nr_windows and changes of @key, and orders
 *	bind against dereg; BH-safe
 * @state: enum smr_mr_state: FREE (fast-registered only), VALID, DYING
 * @fast: it is fast-registered, see kmr.c; constant
 * @windows: windows that are bound to it or wait to be; see mw.c
 * @nr_windows: number of @windows; see smr_mr_windows()
 * @access: the flags it was registered with; changed by rereg only
 * @start: its first address in the process; changed by rereg only
 * @refs: @key uses one of the two. A rereg switches to the other, and waits for the spans of
 *	the former
 * @pinned: its first memory, if that is pinned; embedded, because that takes less memory and
 *	time for the many small regions
 */
struct smr_mr {
	struct ib_mr ibmr;
	struct smr_key key;
	struct smr_keys *keys;
	/* the lock of the region, see above */
	spinlock_t lock;
	u8 state;
	bool fast;
	struct rb_root windows;
	u32 nr_windows;
	int access;
	u64 start;
	struct smr_ref refs[2];
	struct smr_pinned pinned;
};

static inline struct smr_mr *to_smr_mr(const struct ib_mr *ibmr)
{
	return container_of(ibmr, struct smr_mr, ibmr);
}

/* The number of windows that prevent deregistration of the region now */
static inline u32 smr_mr_windows(const struct smr_mr *mr)
{
	return READ_ONCE(mr->nr_windows);
}

int __must_check smr_mr_init(struct smr_mr *mr, struct smr_keys *keys,
			     struct ib_pd *pd);
void smr_mr_free(struct smr_mr *mr);
struct smr_mr *smr_mr_reg(struct smr_pd *pd, u64 start, u64 length, u64 iova,
			  int access);
struct smr_mr *smr_mr_reg_dm(struct smr_pd *pd, struct smr_dm *dm, u64 offset,
			     u64 length, int access);
struct smr_mr *smr_mr_reg_dmabuf(struct smr_pd *pd, u64 offset, u64 length,
				 u64 iova, int fd, int access);
int smr_mr_dereg(struct smr_mr *mr);
int smr_mr_rereg(struct smr_mr *mr, int flags, u64 start, u64 length, u64 iova,
		 int access, struct ib_pd *pd);

#endif /* SMR_MR_H */
