// SPDX-License-Identifier: GPL-2.0
/* The table of keys, and opening a key. */
#include "key.h"

#include <linux/jiffies.h>
#include <linux/overflow.h>
#include <linux/random.h>
#include <linux/rhashtable.h>
#include <linux/sched.h>
#include <linux/slab.h>
#include <linux/vmalloc.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "ref.h"
#include "why.h"

/* An index is reused only after this many others have been freed. */
#define RECENT_INDICES	4096
#define RECENT_BUCKETS	8192

#define NO_PD		U32_MAX

/*
 * The nearest region is searched only if the device has at most this many keys. No table is sorted
 * by address, so the search visits all keys, and a refusal must not delay a softirq.
 */
#define NEAR_KEYS	512

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
 * struct key_past - a key that was ended
 * @key: the key; its index is SMR_KEY_INDEX_NONE if the entry is unused
 * @pd: the protection domain's number in the core, or NO_PD
 * @pid: id of the process that ended it, in that process's own namespace
 * @when: the low bits of jiffies
 */
struct key_past {
	u32 key;
	u32 pd;
	pid_t pid;
	u32 when;
};

/**
 * struct smr_key_table - keys, and the keys ended last
 * @hash: struct smr_key by its index; looked up without a lock
 * @fifo: the keys ended last; read without a lock to explain a refusal
 * @count: number of entries of @fifo in each bucket. An index whose bucket is empty is
 *	certainly not in @fifo. An index in any other bucket is treated as if it were.
 * @next: index in @fifo of the oldest entry, which the next one replaces
 * @random: random numbers that are not used yet
 * @nr_random: number of them
 *
 * All but @hash under smr_keys.lock.
 */
struct smr_key_table {
	struct rhashtable hash;
	struct key_past fifo[RECENT_INDICES];
	u16 count[RECENT_BUCKETS];
	unsigned int next;
	u32 random[RANDOM_WORDS];
	unsigned int nr_random;
};

/* Indices are random already, so that there is nothing to hash. */
static u32 index_hash(const void *index, u32 len, u32 seed)
{
	return *(const u32 *)index;
}

static int index_cmp(struct rhashtable_compare_arg *arg, const void *key)
{
	return ((const struct smr_key *)key)->index != *(const u32 *)arg->key;
}

static const struct rhashtable_params key_params = {
	.head_offset = offsetof(struct smr_key, node),
	.key_offset = offsetof(struct smr_key, index),
	.key_len = sizeof_field(struct smr_key, index),
	.hashfn = index_hash,
	.obj_cmpfn = index_cmp,
	.automatic_shrinking = true,
};

/**
 * smr_keys_init() - set up a table
 * @keys: the table
 *
 * Return: 0 or -ENOMEM.
 */
int smr_keys_init(struct smr_keys *keys)
{
	int ret;

	spin_lock_init(&keys->lock);
	keys->table = vzalloc(sizeof(*keys->table));
	if (!keys->table)
		return -ENOMEM;
	ret = rhashtable_init(&keys->table->hash, &key_params);
	if (ret)
		vfree(keys->table);
	return ret;
}

/**
 * smr_keys_fini() - tear down a table
 * @keys: the table, without keys, and without readers
 *
 * Context: process, may sleep.
 */
void smr_keys_fini(struct smr_keys *keys)
{
	rhashtable_destroy(&keys->table->hash);
	vfree(keys->table);
}

static u16 *recent_bucket(struct smr_key_table *table, u32 index)
{
	return &table->count[index & (RECENT_BUCKETS - 1)];
}

/* recent_find() reads it without the lock. */
static void recent_count(struct smr_key_table *table, u32 index, int by)
{
	u16 *bucket = recent_bucket(table, index);

	WRITE_ONCE(*bucket, *bucket + by);
}

static void recent_add(struct smr_keys *keys, const struct smr_key *key)
{
	struct smr_key_table *table = keys->table;
	struct key_past *past;
	u32 index;

	lockdep_assert_held(&keys->lock);
	past = &table->fifo[table->next++ & (RECENT_INDICES - 1)];
	index = SMR_KEY_INDEX(past->key);
	if (index != SMR_KEY_INDEX_NONE)
		recent_count(table, index, -1);
	WRITE_ONCE(past->key, smr_key_value(key));
	WRITE_ONCE(past->pd, key->pd ? key->pd->res.id : NO_PD);
	WRITE_ONCE(past->pid, task_tgid_vnr(current));
	WRITE_ONCE(past->when, jiffies);
	recent_count(table, key->index, 1);
}

/*
 * Was this a key that has ended recently, and that @pd could use? The keys of other PDs are not
 * reported. An entry that changes during the search counts as not found.
 */
static bool recent_find(const struct smr_keys *keys, u32 key,
			const struct ib_pd *pd, struct key_past *past)
{
	const struct key_past *fifo = keys->table->fifo;
	unsigned int i;

	if (SMR_KEY_INDEX(key) == SMR_KEY_INDEX_NONE ||
	    !READ_ONCE(*recent_bucket(keys->table, SMR_KEY_INDEX(key))))
		return false;
	for (i = 0; i < RECENT_INDICES; i++) {
		if (READ_ONCE(fifo[i].key) != key)
			continue;
		past->pd = READ_ONCE(fifo[i].pd);
		past->pid = READ_ONCE(fifo[i].pid);
		past->when = READ_ONCE(fifo[i].when);
		if (past->pd == pd->res.id && READ_ONCE(fifo[i].key) == key)
			return true;
	}
	return false;
}

/* Draw a random index and tag. False: the index may have been freed recently. */
static bool key_draw(struct smr_keys *keys, struct smr_key *key)
{
	struct smr_key_table *table = keys->table;
	u32 value;

	guard(spinlock)(&keys->lock);
	if (!table->nr_random) {
		get_random_bytes(table->random, sizeof(table->random));
		table->nr_random = RANDOM_WORDS;
	}
	value = table->random[--table->nr_random];
	key->index = SMR_KEY_INDEX(value);
	key->tag = SMR_KEY_TAG(value);
	return key->index != SMR_KEY_INDEX_NONE &&
	       !*recent_bucket(table, key->index);
}

/**
 * smr_key_reserve() - give a key an index and a tag that cannot be guessed
 * @keys: the table
 * @key: the key; its owner fills in the other fields before publishing it
 * @type: the kind of object that contains it
 * @lock: its owner's lock, which is held while the key changes
 *
 * Until smr_key_publish() the key is unknown to readers. The index stays
 * taken until smr_key_withdraw().
 *
 * Context: process, may sleep.
 * Return: 0, -ENOMEM, or -ENOSPC if the table is almost full.
 */
int smr_key_reserve(struct smr_keys *keys, struct smr_key *key,
		    enum smr_key_type type, spinlock_t *lock)
{
	int tries, ret;

	seqcount_spinlock_init(&key->seq, lock);
	key->type = type;
	for (tries = 0; tries < RESERVE_TRIES; tries++) {
		if (!key_draw(keys, key))
			continue;
		ret = rhashtable_lookup_insert_fast(&keys->table->hash,
						    &key->node, key_params);
		/* -EEXIST: taken. -EBUSY: the bucket is full while the table grows. */
		if (ret != -EEXIST && ret != -EBUSY)
			return ret;
	}
	return -ENOSPC;
}

/**
 * smr_key_publish() - make a key visible to readers
 * @key: reserved, and filled in
 *
 * Cannot fail. Context: any; before the owner of the key is visible to others.
 */
void smr_key_publish(struct smr_key *key)
{
	/* Pairs with smr_key_find(): a reader that finds the key sees it filled in. */
	smp_store_release(&key->published, true);
}

/**
 * smr_key_invalidate() - make a key open no new spans
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
 * smr_key_withdraw() - take a key out of the table
 * @keys: the table
 * @key: reserved, published or not; already invalid
 *
 * Does not wait: readers that found it before may look at @key until an RCU
 * grace period later, so free what contains it with kfree_rcu(..., key.rcu).
 * They get no new span, since the key is not valid. smr_ref_kill_sync()
 * waits for earlier spans.
 *
 * Context: process, may sleep.
 */
void smr_key_withdraw(struct smr_keys *keys, struct smr_key *key)
{
	WARN_ON_ONCE(key->valid);
	/* First, so that the index cannot be reserved again in between. */
	scoped_guard(spinlock, &keys->lock)
		recent_add(keys, key);
	rhashtable_remove_fast(&keys->table->hash, &key->node, key_params);
}

/**
 * smr_key_find() - look up the key with a number, whatever its state
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
	u32 index = SMR_KEY_INDEX(key);
	struct smr_key *found;

	found = rhashtable_lookup(&keys->table->hash, &index, key_params);
	/* Pairs with smr_key_publish(). */
	return found && smp_load_acquire(&found->published) ? found : NULL;
}

/* A key without a PD fits all PDs of the kernel, and none of a process. */
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

/* The bytes to open. With @all, everything that the key opens; then key_try() sets the others. */
struct key_range {
	bool all;
	u64 iova;
	u64 len;
};

static enum smr_key_verdict key_try(const struct smr_key *key, u8 tag,
				    const struct ib_pd *pd, u32 qpn, int access,
				    struct key_range *range, struct smr_span *span)
{
	enum smr_key_verdict verdict = key_check(key, tag, pd, qpn, access);

	if (range->all && key->type == SMR_KEY_MW)
		return SMR_KEY_RANGE;
	if (verdict != SMR_KEY_OK)
		return verdict;
	if (range->all) {
		range->iova = key->iova;
		range->len = key->length;
	} else if (!range_inside(key, range->iova, range->len)) {
		return SMR_KEY_RANGE;
	}
	span->mem = key->mem;
	span->off = key->mem_off + (range->iova - key->iova);
	span->len = range->len;
	span->ref = key->ref;
	/* RCU keeps the references' struct until the end of this read-side section. */
	return smr_ref_tryget(span->ref) ? SMR_KEY_OK : SMR_KEY_DEAD;
}

/*
 * Look a key up, check it, and open the range. If the key has changed during the check, its memory
 * or bounds may differ: drop the result, and check again. Called under RCU.
 */
static __always_inline enum smr_key_verdict
key_span(struct smr_keys *keys, u32 key, const struct ib_pd *pd, u32 qpn, int access,
	 struct key_range *range, struct smr_span *span)
{
	const struct smr_key *found;
	enum smr_key_verdict verdict;
	unsigned int seq;

	found = smr_key_find(keys, key);
	if (!found)
		return SMR_KEY_UNKNOWN;
	for (;;) {
		seq = read_seqcount_begin(&found->seq);
		verdict = key_try(found, SMR_KEY_TAG(key), pd, qpn, access, range, span);
		if (likely(!read_seqcount_retry(&found->seq, seq)))
			return verdict;
		if (verdict == SMR_KEY_OK)
			smr_ref_put(span->ref);
	}
}

enum smr_key_verdict smr_key_open(struct smr_keys *keys, u32 key,
				  const struct ib_pd *pd, u32 qpn, int access,
				  u64 addr, u64 len, struct smr_span *span)
{
	struct key_range range = { .iova = addr, .len = len };
	enum smr_key_verdict verdict;

	if (!len) {
		*span = (struct smr_span){};
		return SMR_KEY_OK;
	}
	scoped_guard(rcu)
		verdict = key_span(keys, key, pd, qpn, access, &range, span);
	if (unlikely(verdict != SMR_KEY_OK))
		*span = (struct smr_span){};
	return verdict;
}

/* The bytes by which a range begins before what the key opens, or ends beyond it */
static u64 range_off(const struct smr_key *key, u64 addr, u64 len)
{
	u64 end;

	if (addr < key->iova)
		return key->iova - addr;
	if (check_add_overflow(addr - key->iova, len, &end))
		return U64_MAX;
	return end - key->length;
}

/* Take a consistent copy of the fields that decide an access. */
static void key_snapshot(const struct smr_key *key, struct smr_key *to)
{
	unsigned int seq;

	do {
		seq = read_seqcount_begin(&key->seq);
		to->tag = key->tag;
		to->type = key->type;
		to->valid = key->valid;
		to->access = key->access;
		to->qpn = key->qpn;
		to->pd = key->pd;
		to->since = key->since;
		to->iova = key->iova;
		to->length = key->length;
	} while (read_seqcount_retry(&key->seq, seq));
}

/* Look a key up and check all but the range. @now is the copy checked. */
static enum smr_key_verdict key_look(struct smr_keys *keys, u32 key,
				     const struct ib_pd *pd, u32 qpn,
				     int access, struct smr_key *now)
{
	const struct smr_key *found = smr_key_find(keys, key);

	if (!found)
		return SMR_KEY_UNKNOWN;
	key_snapshot(found, now);
	return key_check(now, SMR_KEY_TAG(key), pd, qpn, access);
}

/* Milliseconds, at least 1; 0: unknown. Wraps after 2^32 jiffies. */
static u64 key_age(const struct smr_key *key)
{
	return key->since ?
	       max(jiffies64_to_msecs((u32)jiffies - key->since), 1ULL) : 0;
}

/**
 * smr_key_why() - why did a key not open?
 * @keys: the key table of the device
 * @key: as in smr_key_open()
 * @pd: as in smr_key_open()
 * @qpn: as in smr_key_open()
 * @access: as in smr_key_open()
 * @addr: as in smr_key_open()
 * @len: as in smr_key_open()
 *
 * For reports, after smr_key_open() has failed. The data path does not call this.
 *
 * Context: any; lockless.
 * Return: the reason; its id is 0 if the key would open now.
 */
struct smr_reason smr_key_why(struct smr_keys *keys, u32 key,
			      const struct ib_pd *pd, u32 qpn, int access,
			      u64 addr, u64 len)
{
	enum smr_key_verdict verdict;
	struct smr_key found, *now = &found;
	struct key_past past;

	guard(rcu)();
	verdict = key_look(keys, key, pd, qpn, access, now);
	if (verdict == SMR_KEY_OK && !range_inside(now, addr, len))
		verdict = SMR_KEY_RANGE;
	switch (verdict) {
	case SMR_KEY_UNKNOWN:
		if (recent_find(keys, key, pd, &past))
			return SMR_REASON(KEY_ENDED, key, addr, len, past.pid,
					  jiffies_to_msecs((u32)jiffies - past.when),
					  0, 0, 0);
		return SMR_REASON(KEY_UNKNOWN, key, addr, len, 0, 0, 0, 0);
	case SMR_KEY_STALE:
		return SMR_REASON(KEY_STALE, key, addr, len,
				  (key & ~0xffU) | now->tag);
	case SMR_KEY_DEAD:
		return SMR_REASON(KEY_DEAD, key, addr, len);
	case SMR_KEY_PD:
		return SMR_REASON(KEY_PD, key, addr, len, now->qpn);
	case SMR_KEY_ACCESS:
		return SMR_REASON(KEY_ACCESS, key, addr, len, access, now->access,
				  now->type == SMR_KEY_MW, key_age(now));
	case SMR_KEY_RANGE:
		return SMR_REASON(KEY_RANGE, key, addr, len, now->iova,
				  now->length, range_off(now, addr, len),
				  key_age(now), 0);
	default:
		return (struct smr_reason){};
	}
}

/**
 * struct near - the region that is nearest to a range
 * @key: its key; 0: none was found
 * @start: its first iova
 * @bytes: its length
 * @away: bytes by which the range is outside of it, see range_off(); 0: it is inside
 */
struct near {
	u32 key;
	u64 start;
	u64 bytes;
	u64 away;
};

static void near_look(const struct smr_key *key, const struct ib_pd *pd,
		      u64 addr, u64 len, struct near *near)
{
	struct smr_key copy, *now = &copy;
	u64 away;

	/* Pairs with smr_key_publish(). */
	if (!smp_load_acquire(&key->published))
		return;
	key_snapshot(key, now);
	if (now->type != SMR_KEY_MR || now->pd != pd || !now->valid ||
	    !now->length)
		return;
	away = range_inside(now, addr, len) ? 0 : range_off(now, addr, len);
	if (away == U64_MAX || (near->key && away >= near->away))
		return;
	*near = (struct near){
		.key = key->index << 8 | now->tag,
		.start = now->iova,
		.bytes = now->length,
		.away = away,
	};
}

/* Like a look-up, this continues in the table that the keys are being moved to. */
static void near_find(struct smr_keys *keys, const struct ib_pd *pd,
		      u64 addr, u64 len, struct near *near)
{
	struct rhashtable *ht = &keys->table->hash;
	const struct bucket_table *tbl;
	const struct smr_key *key;
	struct rhash_head *pos;
	unsigned int i;

	if (atomic_read(&ht->nelems) > NEAR_KEYS)
		return;
	guard(rcu)();
	tbl = rht_dereference_rcu(ht->tbl, ht);
	while (tbl && tbl->size <= 4 * NEAR_KEYS) {
		for (i = 0; i < tbl->size; i++)
			rht_for_each_entry_rcu(key, pos, tbl, i, node)
				near_look(key, pd, addr, len, near);
		/* A key is in the next table before it leaves this one. */
		smp_rmb();
		tbl = rht_dereference_rcu(tbl->future_tbl, ht);
	}
}

/**
 * smr_key_near() - add the nearest region to the reason why a key did not open
 * @keys: the key table of the device
 * @pd: whose regions may be named
 * @why: the reason
 *
 * Nothing is added if the device has more than NEAR_KEYS keys.
 *
 * Context: any; lockless.
 * Return: the reason. Only KEY_UNKNOWN, KEY_ENDED and KEY_RANGE are changed.
 */
struct smr_reason smr_key_near(struct smr_keys *keys, const struct ib_pd *pd,
			       struct smr_reason why)
{
	struct near near = {};

	if (why.id != SMR_WHY_KEY_UNKNOWN && why.id != SMR_WHY_KEY_ENDED &&
	    why.id != SMR_WHY_KEY_RANGE)
		return why;
	near_find(keys, pd, why.num[1], why.num[2], &near);
	if (!near.key)
		return why;
	if (why.id == SMR_WHY_KEY_UNKNOWN) {
		why.num[3] = near.key;
		why.num[4] = near.start;
		why.num[5] = near.bytes;
		why.num[6] = near.away;
	} else if (why.id == SMR_WHY_KEY_ENDED) {
		why.num[5] = near.key;
		why.num[6] = near.start;
		why.num[7] = near.away;
	} else if (!near.away) {
		why.num[7] = near.key;
	}
	return why;
}

/**
 * smr_key_open_all() - turn the key of a region into a span of all of it
 * @keys: the key table of the device
 * @key: lkey or rkey
 * @pd: the user's protection domain
 * @access: as in smr_key_open()
 * @iova: set to the iova of the first byte
 * @span: as in smr_key_open(), but holds a reference of the key even if it is empty
 *
 * Context: any; lockless.
 * Return: SMR_KEY_OK, or why not; SMR_KEY_RANGE for the key of a window.
 */
enum smr_key_verdict smr_key_open_all(struct smr_keys *keys, u32 key,
				      const struct ib_pd *pd, int access,
				      u64 *iova, struct smr_span *span)
{
	struct key_range range = { .all = true };
	enum smr_key_verdict verdict;

	scoped_guard(rcu)
		verdict = key_span(keys, key, pd, 0, access, &range, span);
	if (verdict != SMR_KEY_OK)
		*span = (struct smr_span){};
	*iova = range.iova;
	return verdict;
}
