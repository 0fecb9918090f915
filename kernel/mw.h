/* SPDX-License-Identifier: GPL-2.0 */
/* Memory windows, and the QPs that type 2 windows are associated with. */
#ifndef SMR_MW_H
#define SMR_MW_H

#include <linux/container_of.h>
#include <linux/list.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "key.h"
#include "uapi/softmr-abi.h"

struct smr_ref_waiter;
struct smr_mr;
struct smr_window;

/**
 * struct smr_mw - a memory window, as the core knows it
 * @ibmw: the core's part
 * @win: the window. It is a separate struct because the core frees @ibmw at once, while a key
 *	must outlive its RCU readers.
 */
struct smr_mw {
	struct ib_mw ibmw;
	struct smr_window *win;
};

/**
 * struct smr_mw_owner - the part of a QP that its type 2 windows use
 * @qpn: its number; constant
 * @lock: guards @windows; BH-safe, taken within a window's lock
 * @windows: type 2 windows bound through this QP
 */
struct smr_mw_owner {
	u32 qpn;
	/* the lock of the list, see above */
	spinlock_t lock;
	struct list_head windows;
};

/**
 * struct smr_mw_bind - a bind request
 * @mw_rkey: identifies the window. Its tag is ignored, since only the process knows which binds
 *	of the window have failed
 * @new_rkey: its tag becomes the tag of the window's key; its index is ignored
 * @mr_lkey: identifies the region; ignored if @length is 0
 * @access: enum ib_access_flags
 * @addr: iova of the first byte
 * @length: bytes; 0 unbinds a type 1 window
 */
struct smr_mw_bind {
	u32 mw_rkey;
	u32 new_rkey;
	u32 mr_lkey;
	u32 access;
	u64 addr;
	u64 length;
};

static inline struct smr_mw *to_smr_mw(const struct ib_mw *ibmw)
{
	return container_of(ibmw, struct smr_mw, ibmw);
}

int smr_mw_alloc(struct smr_mw *mw, struct smr_keys *keys);
void smr_mw_dealloc(struct smr_mw *mw);

int __must_check smr_mw_bind(struct smr_keys *keys, struct smr_mw_owner *owner,
			     const struct ib_pd *pd,
			     const struct smr_mw_bind *req,
			     struct smr_ref_waiter *waiter);
int __must_check smr_mw_invalidate(struct smr_keys *keys,
				   struct smr_mw_owner *owner,
				   const struct ib_pd *pd, u32 rkey,
				   struct smr_ref_waiter *waiter);
int __must_check smr_mw_finish(struct smr_keys *keys,
			       const struct smr_mw_owner *owner, u32 rkey,
			       struct smr_ref_waiter *waiter);

void smr_mw_owner_init(struct smr_mw_owner *owner, u32 qpn);
void smr_mw_owner_release(struct smr_mw_owner *owner);

u32 smr_mw_list(struct smr_mr *mr, u64 *pos, struct smr_abi_window *out,
		u32 max);

#endif /* SMR_MW_H */
