// SPDX-License-Identifier: GPL-2.0
/* The table of keys, and opening a key. */
#include "key.h"

#include <linux/random.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "grant.h"

/* 2^17 chains, in leaves of a page: 1 MiB at most, 2 KiB as long as unused */
#define LEAVES		256
#define LEAF_CHAINS	512
#define LEAF_SHIFT	16
#define CHAIN_SHIFT	7

/* An index is reused only after so many others have been freed. */
#define RECENT_INDICES	4096
#define RECENT_BUCKETS	8192

/* Get random numbers in batches, which is far cheaper. */
#define RANDOM_WORDS	32

/* A random index is nearly always free after one or two tries. */
#define RESERVE_TRIES	1024

#define LOCAL_ONLY(access)						\
	(!((access) & (IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_WRITE |	\
		       IB_ACCESS_REMOTE_ATOMIC |			\
		       IB_ACCESS_FLUSH_GLOBAL |				\
		       IB_ACCESS_FLUSH_PERSISTENT)))

/**
 * struct smr_key_leaf - some of the chains; lives as long as the table
 * @chains: of keys
 */
struct smr_key_leaf {
	struct hlist_head chains[LEAF_CHAINS];
};

/**
 * struct smr_key_table - keys, and the indices freed last
 * @leaves: the chains; the index says which. Indices are random already, so
 *	that there is nothing to hash.
 * @fifo: the indices freed last, 0 where there is none yet
 * @count: how many of @fifo fall into each bucket. An index whose bucket is
 *	empty is certainly not in @fifo; others are not worth a closer look.
 * @next: where in @fifo the next one goes; it is the oldest
 * @random: random numbers, not used yet
 * @nr_random: how many
 *
 * All under smr_keys.lock.
 */
struct smr_key_table {
	struct smr_key_leaf __rcu *leaves[LEAVES];
	u32 fifo[RECENT_INDICES];
	u16 count[RECENT_BUCKETS];
	unsigned int next;
	u32 random[RANDOM_WORDS];
	unsigned int nr_random;
};

/**
 * smr_keys_init() - set up a table
 * @keys: the table
 *
 * Return: 0 or -ENOMEM.
 */
int smr_keys_init(struct smr_keys *keys)
{
	spin_lock_init(&keys->lock);
	keys->table = vzalloc(sizeof(*keys->table));
	return keys->table ? 0 : -ENOMEM;
}

/**
 * smr_keys_fini() - tear down a table
 * @keys: the table, without keys, and without readers
 *
 * Context: process, may sleep.
 */
void smr_keys_fini(struct smr_keys *keys)
{
	int i;

	for (i = 0; i < LEAVES; i++)
		kfree(rcu_dereference_protected(keys->table->leaves[i], true));
	vfree(keys->table);
}

static struct hlist_head *leaf_chain(struct smr_key_leaf *leaf, u32 index)
{
	return &leaf->chains[(index >> CHAIN_SHIFT) & (LEAF_CHAINS - 1)];
}

static struct smr_key_leaf __rcu **index_place(struct smr_keys *keys, u32 index)
{
	return &keys->table->leaves[index >> LEAF_SHIFT];
}

/* Make sure that an index has a chain. */
static int leaf_make(struct smr_keys *keys, u32 index)
{
	struct smr_key_leaf __rcu **place = index_place(keys, index);
	struct smr_key_leaf *leaf;

	if (rcu_access_pointer(*place))
		return 0;
	/* It belongs to the link, not to the user who happens to need it first. */
	leaf = kzalloc(sizeof(*leaf), GFP_KERNEL);
	if (!leaf)
		return -ENOMEM;
	spin_lock(&keys->lock);
	if (!rcu_access_pointer(*place)) {
		rcu_assign_pointer(*place, leaf);
		leaf = NULL;
	}
	spin_unlock(&keys->lock);
	kfree(leaf);
	return 0;
}

/* The key with an index. Caller is in an RCU section, or holds keys->lock. */
static struct smr_key *table_find(struct smr_keys *keys, u32 index)
{
	struct smr_key_leaf *leaf;
	struct smr_key *key;

	leaf = rcu_dereference_check(*index_place(keys, index),
				     lockdep_is_held(&keys->lock));
	if (!leaf)
		return NULL;
	hlist_for_each_entry_rcu(key, leaf_chain(leaf, index), node,
				 lockdep_is_held(&keys->lock)) {
		if (key->index == index)
			return key;
	}
	return NULL;
}

static u16 *recent_bucket(struct smr_key_table *table, u32 index)
{
	return &table->count[index & (RECENT_BUCKETS - 1)];
}

static void recent_add(struct smr_keys *keys, u32 index)
{
	struct smr_key_table *table = keys->table;
	u32 *slot = &table->fifo[table->next++ & (RECENT_INDICES - 1)];

	lockdep_assert_held(&keys->lock);
	if (*slot != SMR_KEY_INDEX_NONE)
		(*recent_bucket(table, *slot))--;
	*slot = index;
	(*recent_bucket(table, index))++;
}

static bool index_is_free(struct smr_keys *keys, u32 index)
{
	lockdep_assert_held(&keys->lock);
	return index != SMR_KEY_INDEX_NONE &&
	       !*recent_bucket(keys->table, index) && !table_find(keys, index);
}

/* Take the index that @key has, if that is free. Its chain exists. */
static bool index_take(struct smr_keys *keys, struct smr_key *key)
{
	struct smr_key_leaf __rcu **place = index_place(keys, key->index);
	struct smr_key_leaf *leaf;

	guard(spinlock)(&keys->lock);
	if (!index_is_free(keys, key->index))
		return false;
	leaf = rcu_dereference_protected(*place, lockdep_is_held(&keys->lock));
	hlist_add_head_rcu(&key->node, leaf_chain(leaf, key->index));
	return true;
}

static u32 random_word(struct smr_keys *keys)
{
	struct smr_key_table *table = keys->table;

	guard(spinlock)(&keys->lock);
	if (!table->nr_random) {
		get_random_bytes(table->random, sizeof(table->random));
		table->nr_random = RANDOM_WORDS;
	}
	return table->random[--table->nr_random];
}

/**
 * smr_key_reserve() - give a key an index and a tag that nobody can guess
 * @keys: the table
 * @key: the key; its owner fills in the other fields before publishing it
 * @type: what it is part of
 * @lock: its owner's, which is held while it changes
 *
 * Until smr_key_publish() the key is unknown to readers. The index stays
 * taken until smr_key_withdraw().
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, or -ENOSPC when the table is as good as full.
 */
int smr_key_reserve(struct smr_keys *keys, struct smr_key *key,
		    enum smr_key_type type, spinlock_t *lock)
{
	int tries, ret;
	u32 value;

	seqcount_spinlock_init(&key->seq, lock);
	key->type = type;
	for (tries = 0; tries < RESERVE_TRIES; tries++) {
		value = random_word(keys);
		key->index = SMR_KEY_INDEX(value);
		key->tag = SMR_KEY_TAG(value);
		ret = leaf_make(keys, key->index);
		if (ret)
			return ret;
		if (index_take(keys, key))
			return 0;
	}
	return -ENOSPC;
}

/**
 * smr_key_publish() - let readers know a key
 * @key: reserved, and filled in
 *
 * Cannot fail. Context: any; before anybody else knows the owner of the key.
 */
void smr_key_publish(struct smr_key *key)
{
	/* Pairs with smr_key_find(): a reader that finds the key sees it filled in. */
	smp_store_release(&key->published, true);
}

/**
 * smr_key_invalidate() - let a key open nothing any more
 * @key: the key
 *
 * Context: as smr_key_update_begin().
 */
void smr_key_invalidate(struct smr_key *key)
{
	smr_key_update_begin(key);
	key->valid = false;
	smr_key_update_end(key);
}

/**
 * smr_key_revive() - undo smr_key_invalidate(), and the retirement of the grant
 * @key: the key, whose memory and range are still what they were
 *
 * Others who wait for the grant's end are told to try again.
 *
 * Context: as smr_key_update_begin().
 */
void smr_key_revive(struct smr_key *key)
{
	smr_key_update_begin(key);
	smr_grant_revive(key->grant);
	key->valid = true;
	smr_key_update_end(key);
}

/**
 * smr_key_withdraw() - take a key out of the table
 * @keys: the table
 * @key: reserved, published or not; not valid any more
 *
 * Does not wait: readers that found it before may look at @key until an RCU
 * grace period later, so free what contains it with kfree_rcu(..., key.rcu).
 * They get no new span, since the key is not valid. smr_grant_retire_sync()
 * waits for earlier spans.
 *
 * Context: process, may sleep.
 */
void smr_key_withdraw(struct smr_keys *keys, struct smr_key *key)
{
	WARN_ON_ONCE(key->valid);
	guard(spinlock)(&keys->lock);
	hlist_del_rcu(&key->node);
	recent_add(keys, key->index);
}

/**
 * smr_key_find() - the key of a number, whatever state it is in
 * @keys: the table
 * @key: lkey or rkey
 *
 * A caller that changes the key takes the owner's lock, then checks the tag and
 * the state. The owner is not freed within the RCU read-side section.
 *
 * Context: any; caller is in an RCU read-side section.
 * Return: the published key with this index and any tag, or NULL.
 */
struct smr_key *smr_key_find(struct smr_keys *keys, u32 key)
{
	struct smr_key *found;

	RCU_LOCKDEP_WARN(!rcu_read_lock_held(), "key looked up without RCU");
	found = table_find(keys, SMR_KEY_INDEX(key));
	/* Pairs with smr_key_publish(). */
	return found && smp_load_acquire(&found->published) ? found : NULL;
}

/**
 * struct key_view - a consistent snapshot of a key
 * @key: the key
 * @seq: the sequence count of the snapshot
 * @now: the fields that decide about an access
 */
struct key_view {
	const struct smr_key *key;
	unsigned int seq;
	struct smr_key now;
};

/* Copy the fields that decide about an access, consistently. */
static void key_snapshot(const struct smr_key *key, struct key_view *view)
{
	struct smr_key *to = &view->now;

	view->key = key;
	do {
		view->seq = read_seqcount_begin(&key->seq);
		to->tag = key->tag;
		to->type = key->type;
		to->valid = key->valid;
		to->access = key->access;
		to->qpn = key->qpn;
		to->pd = key->pd;
		to->mem = key->mem;
		to->grant = key->grant;
		to->mem_off = key->mem_off;
		to->iova = key->iova;
		to->length = key->length;
	} while (read_seqcount_retry(&key->seq, view->seq));
}

/* A key without a domain fits all of the kernel's domains, and no process's. */
static bool pd_fits(const struct smr_key *key, const struct ib_pd *pd)
{
	return key->pd ? key->pd == pd : !pd->uobject;
}

static enum smr_key_verdict key_check(const struct smr_key *key, u8 tag,
				      const struct ib_pd *pd, u32 qpn,
				      int access)
{
	if (key->tag != tag)
		return SMR_KEY_STALE;
	if (!key->valid)
		return SMR_KEY_DEAD;
	if (!pd_fits(key, pd) || (key->qpn && key->qpn != qpn))
		return SMR_KEY_PD;
	if (access & ~key->access)
		return SMR_KEY_ACCESS;
	if (key->type == SMR_KEY_MW && LOCAL_ONLY(access))
		return SMR_KEY_ACCESS;
	return SMR_KEY_OK;
}

static bool range_inside(const struct smr_key *key, u64 addr, u64 len)
{
	u64 off = addr - key->iova;

	return addr >= key->iova && off <= key->length &&
	       len <= key->length - off;
}

/* Look a key up and check all but the range. @view is the snapshot checked. */
static enum smr_key_verdict key_look(struct smr_keys *keys, u32 key,
				     const struct ib_pd *pd, u32 qpn,
				     int access, struct key_view *view)
{
	const struct smr_key *found = smr_key_find(keys, key);

	if (!found)
		return SMR_KEY_UNKNOWN;
	key_snapshot(found, view);
	return key_check(&view->now, SMR_KEY_TAG(key), pd, qpn, access);
}

/*
 * Take a reference on the grant in the snapshot. -EAGAIN: the key has changed since,
 * so the memory or the bounds may be others. -ENOENT: the grant is retired. RCU
 * keeps its struct until the end of this read-side section.
 */
static int view_get(const struct key_view *view)
{
	bool got = smr_grant_get(view->now.grant);

	if (!read_seqcount_retry(&view->key->seq, view->seq))
		return got ? 0 : -ENOENT;
	if (got)
		smr_grant_put(view->now.grant);
	return -EAGAIN;
}

enum smr_key_verdict smr_key_open(struct smr_keys *keys, u32 key,
				  const struct ib_pd *pd, u32 qpn, int access,
				  u64 addr, u64 len, struct smr_span *span)
{
	enum smr_key_verdict verdict;
	struct key_view view;
	int err;

	*span = (struct smr_span){};
	if (!len)
		return SMR_KEY_OK;

	guard(rcu)();
	do {
		verdict = key_look(keys, key, pd, qpn, access, &view);
		if (verdict != SMR_KEY_OK)
			return verdict;
		if (!range_inside(&view.now, addr, len))
			return SMR_KEY_RANGE;
		err = view_get(&view);
	} while (err == -EAGAIN);
	if (err)
		return SMR_KEY_DEAD;

	span->mem = view.now.mem;
	span->grant = view.now.grant;
	span->off = view.now.mem_off + (addr - view.now.iova);
	span->len = len;
	return SMR_KEY_OK;
}

/**
 * smr_key_open_all() - turn the key of a region into a span of all of it
 * @keys: the device's table
 * @key: lkey
 * @pd: the user's protection domain
 * @access: as in smr_key_open(), for local access
 * @iova: set to the address that names the first byte
 * @span: as in smr_key_open(), but holds the key's grant even if it is empty
 *
 * Context: any; lockless.
 * Return: SMR_KEY_OK, or why not; SMR_KEY_RANGE for the key of a window.
 */
enum smr_key_verdict smr_key_open_all(struct smr_keys *keys, u32 key,
				      const struct ib_pd *pd, int access,
				      u64 *iova, struct smr_span *span)
{
	enum smr_key_verdict verdict;
	struct key_view view;
	int err;

	*span = (struct smr_span){};
	guard(rcu)();
	do {
		verdict = key_look(keys, key, pd, 0, access, &view);
		if (verdict != SMR_KEY_UNKNOWN && view.now.type == SMR_KEY_MW)
			return SMR_KEY_RANGE;
		if (verdict != SMR_KEY_OK)
			return verdict;
		err = view_get(&view);
	} while (err == -EAGAIN);
	if (err)
		return SMR_KEY_DEAD;

	*iova = view.now.iova;
	span->mem = view.now.mem;
	span->grant = view.now.grant;
	span->off = view.now.mem_off;
	span->len = view.now.length;
	return SMR_KEY_OK;
}
