/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Keys: only this code turns a key and an address into memory, so only this code checks bounds
 * and rights, and sees an iova.
 */
#ifndef SMR_KEY_H
#define SMR_KEY_H

#include <linux/rcupdate.h>
#include <linux/rhashtable-types.h>
#include <linux/seqlock.h>
#include <linux/spinlock.h>
#include <linux/types.h>

#include "mem.h"
#include "stats.h"

struct ib_pd;
struct smr_key_table;
struct smr_reason;

/* key = index << 8 | tag */
#define SMR_KEY_INDEX(key)	((key) >> 8)
#define SMR_KEY_TAG(key)	((u8)(key))

/* An index that no MR or MW gets. */
#define SMR_KEY_INDEX_NONE	0

/* Why a key did not open. A remote peer gets the same NAK for all of these. */
enum smr_key_verdict {
	SMR_KEY_OK,
	SMR_KEY_UNKNOWN,	/* no such index */
	SMR_KEY_STALE,		/* the index is in use, with another tag */
	SMR_KEY_DEAD,		/* being deregistered, or currently invalid */
	SMR_KEY_PD,		/* belongs to another PD or QP */
	SMR_KEY_ACCESS,		/* the right is not granted */
	SMR_KEY_RANGE,		/* out of bounds */
};

/* The kind of object that contains a key. */
enum smr_key_type {
	SMR_KEY_MR,
	SMR_KEY_MW,
};

/**
 * struct smr_key - a key and what it opens; part of an MR or MW
 * @node: in the table
 * @index: the upper 24 bits of the key; constant once reserved
 * @qpn: the only QP that may use it (a type 2B window), or 0
 * @tag: the lower 8 bits
 * @type: enum smr_key_type, constant
 * @published: visible to readers
 * @valid: can be opened now
 * @access: enum ib_access_flags granted
 * @seq: lets readers take a consistent snapshot without a lock; associated with the owner's
 *	lock
 * @since: the low bits of jiffies when its region was registered, for reports; 0: unknown
 * @pd: the only PD that may use it; NULL: any PD of the kernel's
 * @mem: the memory; the owner of the key holds a reference while it is @valid
 * @ref: references of copies to @mem through this key; part of the owner
 * @mem_off: offset in @mem of the key's first byte
 * @iova: the iova of the first byte
 * @length: bytes; iova + length does not wrap
 * @rcu: defers freeing of the object that contains it
 *
 * Fields that are not constant are written under the owner's lock and, once the key
 * is @published, between smr_key_update_begin() and _end(). Readers take no lock.
 */
struct smr_key {
	struct rhash_head node;
	u32 index;
	u32 qpn;
	u8 tag;
	u8 type;
	bool published;
	bool valid;
	int access;
	seqcount_spinlock_t seq;
	u32 since;
	struct ib_pd *pd;
	struct smr_mem *mem;
	struct smr_ref *ref;
	u64 mem_off;
	u64 iova;
	u64 length;
	struct rcu_head rcu;
};

/**
 * struct smr_keys - the key table of one device
 * @lock: guards the indices freed last, and the random numbers
 * @table: index -> struct smr_key; private to key.c; readers use RCU
 */
struct smr_keys {
	/* see above */
	spinlock_t lock;
	struct smr_key_table *table;
};

int __must_check smr_keys_init(struct smr_keys *keys);
void smr_keys_fini(struct smr_keys *keys);

int __must_check smr_key_reserve(struct smr_keys *keys, struct smr_key *key,
				 enum smr_key_type type, spinlock_t *lock);
void smr_key_publish(struct smr_key *key);
void smr_key_withdraw(struct smr_keys *keys, struct smr_key *key);

struct smr_key *smr_key_find(struct smr_keys *keys, u32 key);

/* The lkey or rkey that users see. */
static inline u32 smr_key_value(const struct smr_key *key)
{
	return key->index << 8 | key->tag;
}

/**
 * smr_key_update_begin() - begin a change of a key's fields
 * @key: reserved
 *
 * Context: with the owner's lock held, which is BH-safe: a reader in softirq would otherwise
 * wait for the writer that it interrupted. On PREEMPT_RT the writer can be preempted, and a
 * reader then waits for that lock. So locks can be taken in the section.
 */
static inline void smr_key_update_begin(struct smr_key *key)
{
	write_seqcount_begin(&key->seq);
}

/**
 * smr_key_update_end() - end a change of a key's fields
 * @key: passed to smr_key_update_begin()
 */
static inline void smr_key_update_end(struct smr_key *key)
{
	write_seqcount_end(&key->seq);
}

/**
 * smr_key_open() - turn a key and an address range into a span
 * @keys: the device's table
 * @key: lkey or rkey
 * @pd: the user's protection domain
 * @qpn: the QP that asks
 * @access: enum ib_access_flags that are needed; 0 for a local read
 * @addr: iova of the first byte
 * @len: bytes; with 0 it opens nothing and always succeeds
 * @span: filled in; on SMR_KEY_OK end it with smr_span_put(). Otherwise it is
 *	empty
 *
 * The key of a window is refused for local access.
 *
 * Context: any; lockless.
 * Return: SMR_KEY_OK, or why not.
 */
enum smr_key_verdict __must_check
smr_key_open(struct smr_keys *keys, u32 key, const struct ib_pd *pd, u32 qpn,
	     int access, u64 addr, u64 len, struct smr_span *span);

struct smr_reason smr_key_why(struct smr_keys *keys, u32 key,
			      const struct ib_pd *pd, u32 qpn, int access,
			      u64 addr, u64 len);
struct smr_reason smr_key_near(struct smr_keys *keys, const struct ib_pd *pd,
			       struct smr_reason why);

/* The counter for a verdict; the counters are in the order of the verdicts. */
static inline enum smr_counter smr_key_counter(enum smr_key_verdict verdict)
{
	return SMR_CNT_KEY_UNKNOWN + verdict - SMR_KEY_UNKNOWN;
}

void smr_key_invalidate(struct smr_key *key);

enum smr_key_verdict __must_check
smr_key_open_all(struct smr_keys *keys, u32 key, const struct ib_pd *pd,
		 int access, u64 *iova, struct smr_span *span);

#endif /* SMR_KEY_H */
