// SPDX-License-Identifier: GPL-2.0
/* Registering memory regions, and ending them. */
#include "mr.h"

#include <linux/capability.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/mm.h>
#include <linux/overflow.h>
#include <linux/sched/signal.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "dm.h"
#include "dmabuf.h"
#include "limits.h"
#include "odp.h"
#include "pd.h"
#include "persist.h"
#include "why.h"

/* Access flags that the key stores; the others are not rights. */
#define MR_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
			 IB_ACCESS_MW_BIND | IB_ZERO_BASED | \
			 IB_ACCESS_ON_DEMAND | \
			 IB_ACCESS_FLUSH_GLOBAL | IB_ACCESS_FLUSH_PERSISTENT)
#define MR_HINTS	(IB_ACCESS_HUGETLB | IB_ACCESS_OPTIONAL)

#define MR_WRITABLE	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_ATOMIC)

/* Access flags that are fixed when the memory is created */
#define MR_KIND		(IB_ACCESS_ON_DEMAND | IB_ACCESS_FLUSH_PERSISTENT)

/**
 * struct mr_args - the arguments of a registration
 * @start: first byte in the process
 * @length: bytes
 * @iova: the iova of the first byte
 * @access: enum ib_access_flags
 * @fd: the dma-buf that @start is an offset in, or NO_FD
 * @dm: the device memory that @start is an offset in, or NULL
 * @log: logs a refusal
 */
struct mr_args {
	u64 start;
	u64 length;
	u64 iova;
	int access;
	int fd;
	struct smr_dm *dm;
	struct smr_why_log *log;
};

#define NO_FD	(-1)

/* Does it cover all of the address space? Such a region can only be paged on demand. */
static bool is_implicit(const struct mr_args *args)
{
	return args->fd == NO_FD && !args->start && args->length == U64_MAX;
}

static int check_implicit(const struct mr_args *args)
{
	if (!(args->access & IB_ACCESS_ON_DEMAND) || args->iova ||
	    args->access & IB_ACCESS_HUGETLB)
		return smr_why(args->log, MR_IMPLICIT, args->access,
			       args->iova);
	return 0;
}

/* The core has checked that remote write comes with LOCAL_WRITE. */
static int check_args(struct mr_args *args)
{
	int unknown = args->access & ~(MR_RIGHTS | MR_HINTS);
	u64 end;

	if (unknown)
		return smr_why(args->log, MR_ACCESS, args->access, unknown);
	/* On-demand pages and those of another driver are not known to be persistent. */
	if (args->access & IB_ACCESS_FLUSH_PERSISTENT &&
	    (args->access & IB_ACCESS_ON_DEMAND || args->fd != NO_FD ||
	     args->dm))
		return smr_why(args->log, MR_PERSISTENT, args->access);
	/* Device memory is not paged. */
	if (args->dm && args->access & IB_ACCESS_ON_DEMAND)
		return smr_why(args->log, MR_DM_ON_DEMAND, args->access);
	if (args->access & IB_ZERO_BASED)
		args->iova = 0;
	if (is_implicit(args))
		return check_implicit(args);
	if (check_add_overflow(args->iova, args->length, &end))
		return smr_why(args->log, MR_WRAPS, args->iova, args->length);
	return 0;
}

/* Create the memory of a region. Pinned memory is placed in @room, if not NULL. */
static struct smr_mem *mem_create_kind(const struct smr_pd *pd,
				       const struct mr_args *args,
				       struct smr_pinned *room)
{
	bool writable = args->access & MR_WRITABLE;

	if (args->dm)
		return smr_dm_mem(args->dm, args->start, args->length);
	if (args->fd != NO_FD)
		return smr_dmabuf_create(pd, args->fd, args->start,
					 args->length);
	if (is_implicit(args))
		return smr_odp_create_implicit(pd->stats, writable);
	if (args->access & IB_ACCESS_ON_DEMAND)
		return smr_odp_create(pd->stats, args->start, args->length,
				      writable);
	return smr_pinned_create(pd, room, args->start, args->length,
				 writable);
}

/* Report whether RLIMIT_MEMLOCK was the reason for -ENOMEM of a pinned region. */
static int why_no_memory(const struct mr_args *args)
{
	u64 locked = atomic64_read(&current->mm->pinned_vm) << PAGE_SHIFT;
	u64 limit = rlimit(RLIMIT_MEMLOCK);

	if (args->access & IB_ACCESS_ON_DEMAND ||
	    ns_capable_noaudit(&init_user_ns, CAP_IPC_LOCK) ||
	    args->length + locked <= limit)
		return smr_why(args->log, NO_MEMORY);
	return smr_why(args->log, MR_MEMLOCK, args->length, locked, limit);
}

/* Report why creating the memory failed; @err is the error of its kind. */
static int why_no_mem(const struct mr_args *args, int err)
{
	if (args->fd != NO_FD) {
		if (err == -EBADF)
			return smr_why(args->log, MR_DMABUF_FD, args->fd);
		if (err == -EOPNOTSUPP)
			return smr_why(args->log, MR_IO_MEMORY, args->fd);
		/* any other error may be the exporter's */
		if (err == -ENOMEM || err == -EINTR || err == -ERESTARTSYS)
			return smr_why_errno(args->log, 0, err);
		return smr_why_verb(args->log, 0, err,
				    SMR_REASON(MR_DMABUF, args->fd, args->start,
					       args->length));
	}
	if (err == -EINVAL)
		return smr_why(args->log, MR_START_WRAPS, args->start,
			       args->length);
	if (err == -EFAULT)
		return smr_why(args->log, MR_UNMAPPED, args->start,
			       args->length, !!(args->access & MR_WRITABLE));
	if (err == -ENOMEM)
		return why_no_memory(args);
	return smr_why_errno(args->log, 0, err);
}

/* Does the memory support these rights? */
static int check_rights(struct smr_mem *mem, const struct mr_args *args)
{
	int access = args->access;

	if (access & IB_ACCESS_REMOTE_ATOMIC && mem->no_atomics)
		return smr_why(args->log, MR_NO_ATOMICS, access);
	if (access & IB_ACCESS_FLUSH_PERSISTENT && !smr_mem_is_persistent(mem))
		return smr_why(args->log, MR_NOT_PERSISTENT, args->start,
			       args->length);
	return 0;
}

/* As mem_create_kind(), and check that the memory supports these rights. */
static struct smr_mem *mem_create(const struct smr_pd *pd,
				  const struct mr_args *args,
				  struct smr_pinned *room)
{
	struct smr_mem *mem = mem_create_kind(pd, args, room);
	int ret;

	if (IS_ERR(mem))
		return ERR_PTR(why_no_mem(args, PTR_ERR(mem)));
	ret = check_rights(mem, args);
	if (!ret)
		return mem;
	smr_mem_put(mem);
	return ERR_PTR(ret);
}

/*
 * Prepare a region, and reserve its key. @mr: zeroed; after an error, free it after a grace period.
 * @pd: its PD, whose log has a refusal; NULL for the device's own region, which no limit counts.
 * Returns 0, and then smr_mr_free() must be called; -ENOMEM or -ENOSPC.
 */
int smr_mr_init(struct smr_mr *mr, struct smr_keys *keys, struct ib_pd *pd)
{
	struct smr_why_log *log = pd ? to_smr_pd(pd)->whys : NULL;
	int ret = pd ? smr_limit_take(to_smr_pd(pd)->limits, SMR_LIMIT_MR, log) : 0;

	if (ret)
		return ret;
	spin_lock_init(&mr->lock);
	mr->windows = RB_ROOT;
	smr_ref_init(&mr->refs[0]);
	smr_ref_init(&mr->refs[1]);
	mr->key.ref = &mr->refs[0];
	mr->key.pd = pd;
	mr->keys = keys;
	mr->state = SMR_MR_FREE;
	ret = smr_key_reserve(keys, &mr->key, SMR_KEY_MR, &mr->lock);
	if (ret && pd)
		smr_limit_give(to_smr_pd(pd)->limits, SMR_LIMIT_MR);
	return smr_why_errno(log, 0, ret);
}

/*
 * Free a region that nothing uses. @mr: the region; readers may have seen its key since it was
 * reserved.
 */
void smr_mr_free(struct smr_mr *mr)
{
	const struct ib_pd *pd = mr->key.pd;

	smr_key_withdraw(mr->keys, &mr->key);
	if (mr->key.mem)
		smr_mem_put(mr->key.mem);
	kfree_rcu(mr, key.rcu);
	if (pd)
		smr_limit_give(to_smr_pd(pd)->limits, SMR_LIMIT_MR);
}

static void mr_set_key(struct smr_mr *mr, struct ib_pd *pd,
		       struct smr_mem *mem, const struct mr_args *args)
{
	struct smr_key *key = &mr->key;

	key->pd = pd;
	key->mem = mem;
	key->iova = args->iova;
	key->length = mem->size;
	key->access = args->access & MR_RIGHTS;
	key->since = jiffies;
	key->valid = true;
	mr->start = args->start;
	mr->access = args->access;
}

/* Fill in the key of a new region, and publish it. */
static void mr_publish(struct smr_mr *mr, struct ib_pd *pd,
		       struct smr_mem *mem, const struct mr_args *args)
{
	mr_set_key(mr, pd, mem, args);
	mr->ibmr.lkey = smr_key_value(&mr->key);
	mr->ibmr.rkey = smr_key_value(&mr->key);
	mr->ibmr.page_size = PAGE_SIZE;
	/* The core does not set these fields for dma-bufs. */
	mr->ibmr.iova = args->iova;
	mr->ibmr.length = args->length;
	mr->state = SMR_MR_VALID;
	smr_ref_reinit(mr->key.ref);
	smr_key_publish(&mr->key);
}

static struct smr_mr *mr_reg(struct smr_pd *pd, struct mr_args *args)
{
	struct smr_mem *mem;
	struct smr_mr *mr;
	int ret;

	ret = check_args(args);
	if (ret)
		return ERR_PTR(ret);
	mr = kzalloc(sizeof(*mr), GFP_KERNEL_ACCOUNT);
	if (!mr)
		return smr_why_ptr(args->log, NO_MEMORY);
	ret = smr_mr_init(mr, pd->keys, &pd->ibpd);
	if (ret) {
		kfree_rcu(mr, key.rcu);
		return ERR_PTR(ret);
	}
	mem = mem_create(pd, args, &mr->pinned);
	if (IS_ERR(mem)) {
		smr_mr_free(mr);
		return ERR_CAST(mem);
	}
	mr_publish(mr, &pd->ibpd, mem, args);
	return mr;
}

/*
 * Register memory of the calling process. @length: bytes; 0 creates an empty region. @iova: the
 * iova of the first byte, unless IB_ZERO_BASED. Context: process; killable. Returns the region,
 * whose lkey and rkey are set; end it with smr_mr_dereg(). Or an ERR_PTR: -EOPNOTSUPP (unknown
 * access flag, or atomics on memory that does not support them), -EINVAL (flags that exclude each
 * other, a range that wraps), -EFAULT (not mapped, not writable), -ENOMEM (also: too much for
 * RLIMIT_MEMLOCK), -ENOSPC (no key is free), -EINTR or -ERESTARTSYS (killed), -EIO (the device is
 * being removed).
 */
struct smr_mr *smr_mr_reg(struct smr_pd *pd, u64 start, u64 length, u64 iova,
			  int access)
{
	struct mr_args args = { start, length, iova, access, NO_FD, NULL, pd->whys };

	return mr_reg(pd, &args);
}

/*
 * Register a part of a dma-buf. @offset: first byte in the buffer. @length: bytes; 0 creates an
 * empty region. @iova: the iova of the first byte. @access: enum ib_access_flags, without
 * IB_ACCESS_ON_DEMAND. Returns as smr_mr_reg(), or an error of smr_dmabuf_create().
 */
struct smr_mr *smr_mr_reg_dmabuf(struct smr_pd *pd, u64 offset, u64 length,
				 u64 iova, int fd, int access)
{
	struct mr_args args = { offset, length, iova, access, fd, NULL, pd->whys };

	if (fd < 0)
		return smr_why_ptr(pd->whys, MR_DMABUF_FD, fd);
	if (access & IB_ACCESS_ON_DEMAND)
		return smr_why_ptr(pd->whys, MR_DMABUF_ON_DEMAND, access);
	return mr_reg(pd, &args);
}

/*
 * Register a part of device memory. @dm: the device memory; the core frees it after the region.
 * @offset: first byte; the core has checked the range. @access: enum ib_access_flags, including
 * IB_ZERO_BASED. Returns as smr_mr_reg().
 */
struct smr_mr *smr_mr_reg_dm(struct smr_pd *pd, struct smr_dm *dm, u64 offset,
			     u64 length, int access)
{
	struct mr_args args = { offset, length, 0, access, NO_FD, dm, pd->whys };

	return mr_reg(pd, &args);
}

/*
 * Change the state to DYING; from then on no access and no bind succeeds. -EBUSY: a window is
 * bound.
 */
static int mr_begin_dying(struct smr_mr *mr)
{
	guard(spinlock_bh)(&mr->lock);
	if (mr->nr_windows)
		return -EBUSY;
	mr->state = SMR_MR_DYING;
	smr_key_invalidate(&mr->key);
	return 0;
}

/*
 * Deregister a region. @mr: the region; freed on success. Waits for copies that are using the
 * memory. Operations that wait for one of its pages do not use it. Returns 0, or -EBUSY if a window
 * is bound to the region, which is then unchanged.
 */
int smr_mr_dereg(struct smr_mr *mr)
{
	int ret = mr_begin_dying(mr);

	if (ret)
		return ret;
	smr_ref_kill_sync(mr->key.ref);
	smr_mr_free(mr);
	return 0;
}

/* Copy the arguments that @flags leave unchanged from the region. */
static void args_keep(const struct smr_mr *mr, int flags, struct mr_args *args)
{
	if (!(flags & IB_MR_REREG_TRANS)) {
		args->start = mr->start;
		args->length = mr->key.length;
		args->iova = mr->ibmr.iova;
	}
	if (!(flags & IB_MR_REREG_ACCESS))
		args->access = mr->access;
}

/* Keep memory of a kind with any_access: only the rights that are fixed at its creation matter. */
static struct smr_mem *keep_mem(const struct smr_mr *mr,
				const struct mr_args *args)
{
	int changed = args->access ^ mr->access, ret;

	if (changed & MR_KIND)
		return smr_why_ptr(args->log, MR_FIXED, mr->ibmr.lkey,
				   mr->access, args->access);
	ret = check_rights(mr->key.mem, args);
	return ret ? ERR_PTR(ret) : mr->key.mem;
}

/*
 * The memory of a region after a rereg: a new one if the range changes, if it must become
 * writable, or if it changes between pinned and on-demand; else the current one.
 */
static struct smr_mem *mem_for_rereg(const struct smr_mr *mr,
				     const struct smr_pd *pd, int flags,
				     const struct mr_args *args)
{
	struct smr_mem *mem = mr->key.mem;
	int changed = args->access ^ mr->access;

	if (!(flags & IB_MR_REREG_TRANS)) {
		if (mem->ops->any_access)
			return keep_mem(mr, args);
		if (mr->access & MR_WRITABLE || !(args->access & MR_WRITABLE))
			changed &= MR_KIND;
		if (!changed)
			return mem;
		/* In another process the same addresses are different memory. */
		if (mem->mm && mem->mm != current->mm)
			return smr_why_ptr(args->log, MR_OTHER_PROCESS,
					   mr->ibmr.lkey, mr->access,
					   args->access);
	}
	return mem_create(pd, args, NULL);
}

/* Return: 0, or -EBUSY: a window is bound, and nothing has changed. */
static int mr_switch(struct smr_mr *mr, struct ib_pd *pd, struct smr_mem *mem,
		     struct smr_ref *ref, const struct mr_args *args)
{
	guard(spinlock_bh)(&mr->lock);
	if (mr->nr_windows)
		return -EBUSY;
	smr_key_update_begin(&mr->key);
	smr_ref_reinit(ref);
	mr->key.ref = ref;
	mr_set_key(mr, pd, mem, args);
	smr_key_update_end(&mr->key);
	return 0;
}

/*
 * Change a region in place; its keys stay. @flags: enum ib_mr_rereg_flags: which of the following
 * change. @start: with IB_MR_REREG_TRANS, as for smr_mr_reg(). @pd: its PD after the rereg, new or
 * not. All refusals are logged, but for -EBUSY. Waits for copies that began before the change: they
 * may use memory, or a right, that the region no longer has. Context: process; killable. The core
 * excludes other reregs and deregs of the region, and updates @mr->ibmr on success. Returns 0;
 * -EBUSY (a window is bound), -EACCES (memory of another process is to become writable), or an
 * error of smr_mr_reg(). On failure nothing has changed.
 */
int smr_mr_rereg(struct smr_mr *mr, int flags, u64 start, u64 length, u64 iova,
		 int access, struct ib_pd *pd)
{
	struct mr_args args = {
		start, length, iova, access, NO_FD, NULL, to_smr_pd(pd)->whys,
	};
	struct smr_ref *former = mr->key.ref, *next;
	struct smr_mem *old = mr->key.mem, *mem;
	int ret;

	args_keep(mr, flags, &args);
	ret = check_args(&args);
	if (ret)
		return ret;
	/* -EBUSY comes before other errors; mr_switch() checks again, locked. */
	if (smr_mr_windows(mr))
		return -EBUSY;
	mem = mem_for_rereg(mr, to_smr_pd(pd), flags, &args);
	if (IS_ERR(mem))
		return PTR_ERR(mem);
	next = &mr->refs[former == &mr->refs[0]];
	ret = mr_switch(mr, pd, mem, next, &args);
	if (!ret)
		smr_ref_kill_sync(former);
	/* the memory that the region does not use: the new one after an error, else the old one */
	if (mem != old)
		smr_mem_put(ret ? mem : old);
	return ret;
}
