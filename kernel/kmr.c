// SPDX-License-Identifier: GPL-2.0
/*
 * Memory regions of kernel consumers: regions of all kernel memory, and fast-registered
 * regions.
 *
 * A fast-registered region is FREE or VALID. IB_WR_REG_MR makes its key open the list of blocks
 * that smr_kmr_map_sg() built last. The next list may be mapped while the current one is in
 * use. After an invalidation the consumer reuses the memory. So an invalidation first makes the
 * key invalid, and completes when no span is left; then the region is FREE. That happens even if
 * the QP fails or is destroyed before.
 */
#include "kmr.h"

#include <linux/err.h>
#include <linux/log2.h>
#include <linux/overflow.h>
#include <linux/slab.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "ref.h"
#include "kmem.h"
#include "mr.h"
#include "mw.h"
#include "pd.h"
#include "why.h"

#define KMR_RIGHTS	(IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
			 IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC)

/**
 * struct smr_kmr - a region of a kernel consumer
 * @mr: the region; must be first, since it is freed by its address
 * @kmem: its memory
 */
struct smr_kmr {
	struct smr_mr mr;
	struct smr_kmem kmem;
};

static struct smr_kmr *to_kmr(struct smr_mr *mr)
{
	return container_of(mr, struct smr_kmr, mr);
}

static struct smr_why_log *log_of(const struct ib_pd *pd)
{
	return pd ? to_smr_pd(pd)->whys : NULL;
}

static struct smr_kmr *kmr_create(struct smr_keys *keys, struct ib_pd *pd)
{
	struct smr_kmr *kmr;
	int ret;

	kmr = kzalloc(sizeof(*kmr), GFP_KERNEL);
	if (!kmr)
		return smr_why_ptr(log_of(pd), NO_MEMORY);
	ret = smr_mr_init(&kmr->mr, keys, pd);
	if (ret) {
		kfree_rcu(kmr, mr.key.rcu);
		return ERR_PTR(ret);
	}
	kmr->mr.ibmr.lkey = smr_key_value(&kmr->mr.key);
	kmr->mr.ibmr.rkey = kmr->mr.ibmr.lkey;
	return kmr;
}

/**
 * smr_kmr_dma() - create a region of all kernel memory
 * @keys: the device's keys
 * @pd: its PD; NULL: usable in all PDs of the kernel
 * @access: enum ib_access_flags
 *
 * Its addresses are the kernel's virtual ones, in the linear mapping.
 *
 * Context: process, may sleep.
 * Return: the region, which smr_mr_dereg() ends; or an ERR_PTR: -EOPNOTSUPP
 * (unknown access flag), -ENOMEM, -ENOSPC.
 */
struct smr_mr *smr_kmr_dma(struct smr_keys *keys, struct ib_pd *pd, int access)
{
	int unknown = access & ~(KMR_RIGHTS | IB_ACCESS_OPTIONAL);
	struct smr_kmr *kmr;
	struct smr_key *key;

	if (unknown)
		return smr_why_ptr(log_of(pd), MR_ACCESS, access, unknown);
	kmr = kmr_create(keys, pd);
	if (IS_ERR(kmr))
		return ERR_CAST(kmr);
	smr_kmem_init_linear(&kmr->kmem);
	key = &kmr->mr.key;
	key->mem = &kmr->kmem.mem;
	key->iova = smr_kmem_linear_start();
	key->length = kmr->kmem.mem.size;
	key->access = access & KMR_RIGHTS;
	key->valid = true;
	kmr->mr.state = SMR_MR_VALID;
	smr_ref_reinit(key->ref);
	smr_key_publish(key);
	return &kmr->mr;
}

/**
 * smr_kmr_alloc() - allocate a region for fast registration
 * @keys: the device's keys
 * @pd: its PD
 * @max_blocks: maximum number of its blocks
 *
 * Context: process, may sleep.
 * Return: the region, which smr_mr_dereg() ends; or an ERR_PTR: -EINVAL (too
 * many blocks), -ENOMEM, -ENOSPC.
 */
struct smr_mr *smr_kmr_alloc(struct smr_keys *keys, struct ib_pd *pd,
			     u32 max_blocks)
{
	struct smr_kmr *kmr;
	int ret;

	if (!max_blocks || max_blocks > SMR_MAX_FAST_REG_BLOCKS)
		return smr_why_ptr(log_of(pd), MR_BLOCKS, max_blocks,
				   SMR_MAX_FAST_REG_BLOCKS);
	kmr = kmr_create(keys, pd);
	if (IS_ERR(kmr))
		return ERR_CAST(kmr);
	ret = smr_kmem_init_blocks(&kmr->kmem, max_blocks);
	if (ret) {
		smr_mr_free(&kmr->mr);
		return ERR_PTR(smr_why_errno(log_of(pd), 0, ret));
	}
	kmr->mr.key.mem = &kmr->kmem.mem;
	kmr->mr.fast = true;
	smr_key_publish(&kmr->mr.key);
	return &kmr->mr;
}

static int kmr_set_block(struct ib_mr *ibmr, u64 addr)
{
	return smr_kmem_stage_block(&to_kmr(to_smr_mr(ibmr))->kmem, addr);
}

/**
 * smr_kmr_map_sg() - build the list for the next registration
 * @mr: from smr_kmr_alloc(); page_size in its core part is the size of a block
 * @sg: the memory, mapped for a device that takes virtual addresses
 * @nents: number of entries
 * @offset: bytes to skip of the first entry; or NULL
 *
 * The currently registered list is not changed.
 *
 * Return: number of entries that fit into the region; its iova and length are set in the core
 *	part. Or -EINVAL.
 */
int smr_kmr_map_sg(struct smr_mr *mr, struct scatterlist *sg, int nents,
		   unsigned int *offset)
{
	struct smr_kmem *kmem = &to_kmr(mr)->kmem;
	struct ib_mr *ibmr = &mr->ibmr;
	int n;

	if (!mr->fast || !is_power_of_2(ibmr->page_size))
		return -EINVAL;
	smr_kmem_stage(kmem, ilog2(ibmr->page_size));
	n = ib_sg_to_pages(ibmr, sg, nents, offset, kmr_set_block);
	kmem->staged.lead = ibmr->iova & (ibmr->page_size - 1);
	kmem->staged.size = n > 0 ? ibmr->length : 0;
	return n;
}

/* The fast-registered region of a key, whatever the key's tag. */
static struct smr_mr *kmr_find(struct smr_keys *keys, u32 value)
{
	struct smr_key *key = smr_key_find(keys, value);
	struct smr_mr *mr;

	if (!key || key->type != SMR_KEY_MR)
		return NULL;
	mr = container_of(key, struct smr_mr, key);
	return mr->fast ? mr : NULL;
}

/* The range must be that of the mapped list, with the same offset in a block. */
static int check_register(struct smr_mr *mr, const struct ib_pd *pd,
			  const struct smr_mw_bind *req)
{
	const struct smr_kblocks *b = &to_kmr(mr)->kmem.staged;
	u64 end;

	lockdep_assert_held(&mr->lock);
	if (mr->key.pd != pd)
		return -EPERM;
	if (req->access & ~(KMR_RIGHTS | IB_ACCESS_OPTIONAL) ||
	    SMR_KEY_INDEX(req->new_rkey) != mr->key.index)
		return -EINVAL;
	/* IBTA 10.6.4.5: it is registered from the Free state only. */
	if (mr->state != SMR_MR_FREE)
		return -EINVAL;
	if (!req->length || req->length > b->size ||
	    (req->addr & ((1ULL << b->shift) - 1)) != b->lead ||
	    check_add_overflow(req->addr, req->length, &end))
		return -ERANGE;
	return 0;
}

/**
 * smr_kmr_register() - execute IB_WR_REG_MR
 * @keys: the device's keys
 * @pd: PD of the QP that it was posted to
 * @req: the request: mr_lkey identifies the region; new_rkey, addr, length and access are its
 *	new values
 *
 * Context: any but hard interrupts.
 * Return: 0, or why not: -ENOENT (no such region), -EPERM (of another PD), -EINVAL (unknown
 * flag, wrong index of the key, or already registered), -ERANGE (not the range that was
 * mapped).
 */
int smr_kmr_register(struct smr_keys *keys, const struct ib_pd *pd,
		     const struct smr_mw_bind *req)
{
	struct smr_key *key;
	struct smr_mr *mr;
	int ret;

	guard(rcu)();
	mr = kmr_find(keys, req->mr_lkey);
	if (!mr)
		return -ENOENT;
	guard(spinlock_bh)(&mr->lock);
	ret = check_register(mr, pd, req);
	if (ret)
		return ret;
	key = &mr->key;
	smr_key_update_begin(key);
	smr_kmem_use(&to_kmr(mr)->kmem);
	smr_ref_reinit(key->ref);
	key->tag = SMR_KEY_TAG(req->new_rkey);
	key->access = req->access & KMR_RIGHTS;
	key->iova = req->addr;
	key->length = req->length;
	key->valid = true;
	smr_key_update_end(key);
	mr->state = SMR_MR_VALID;
	return 0;
}

/* From VALID, with an invalid key, to FREE. -EAGAIN: spans are left. */
static int kmr_free(struct smr_mr *mr, struct smr_ref_waiter *waiter)
{
	lockdep_assert_held(&mr->lock);
	if (!smr_ref_kill(mr->key.ref, waiter))
		return -EAGAIN;
	if (mr->state == SMR_MR_VALID)
		mr->state = SMR_MR_FREE;
	return 0;
}

static int check_invalidate(const struct smr_mr *mr, const struct ib_pd *pd,
			    u32 rkey)
{
	lockdep_assert_held(&mr->lock);
	if (mr->state == SMR_MR_DYING || smr_key_value(&mr->key) != rkey)
		return -ENOENT;
	return mr->key.pd == pd ? 0 : -EPERM;
}

/**
 * smr_kmr_invalidate() - execute a local or remote invalidate
 * @keys: the device's keys
 * @pd: PD of the QP that executes the invalidate
 * @rkey: the key to invalidate
 * @waiter: after -EAGAIN, told when to call smr_kmr_finish()
 *
 * Invalidating a region that is not registered is no error: a consumer cannot know whether its
 * peer has already invalidated it.
 *
 * Context: any but hard interrupts.
 * Return: 0; -ENOENT (no fast-registered region has this key), -EPERM (of another PD); -EAGAIN:
 * the invalidate has begun: the key is invalid, but other CPUs still copy through spans of it.
 */
int smr_kmr_invalidate(struct smr_keys *keys, const struct ib_pd *pd, u32 rkey,
		       struct smr_ref_waiter *waiter)
{
	struct smr_mr *mr;
	int ret;

	guard(rcu)();
	mr = kmr_find(keys, rkey);
	if (!mr)
		return -ENOENT;
	guard(spinlock_bh)(&mr->lock);
	ret = check_invalidate(mr, pd, rkey);
	if (ret || mr->state != SMR_MR_VALID)
		return ret;
	smr_key_invalidate(&mr->key);
	return kmr_free(mr, waiter);
}

/**
 * smr_kmr_finish() - finish an invalidate that has begun
 * @keys: the device's keys
 * @rkey: the key of the region, with any tag; for keys of others this does nothing
 * @waiter: was told
 *
 * Several QPs may have begun to invalidate the same region. The first one that sees the last span
 * end frees it, and its consumer may register it again.
 *
 * Context: any but hard interrupts.
 * Return: 0: no copy uses the former registration; -EAGAIN: @waiter is told when to call this
 *	again.
 */
int smr_kmr_finish(struct smr_keys *keys, u32 rkey, struct smr_ref_waiter *waiter)
{
	struct smr_mr *mr;

	guard(rcu)();
	mr = kmr_find(keys, rkey);
	if (!mr)
		return 0;
	guard(spinlock_bh)(&mr->lock);
	if (mr->state == SMR_MR_FREE || mr->key.valid)
		return 0;
	return kmr_free(mr, waiter);
}
