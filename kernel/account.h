/* SPDX-License-Identifier: GPL-2.0 */
/* Accounts: the kernel memory and objects that each user of a link has, and their limits. */
#ifndef SMR_ACCOUNT_H
#define SMR_ACCOUNT_H

#include <linux/atomic.h>
#include <linux/list.h>
#include <linux/mutex.h>
#include <linux/percpu_counter.h>
#include <linux/types.h>
#include <linux/uidgid.h>

#include "limits.h"

struct mm_struct;

/**
 * struct smr_pool - kernel memory that processes map, up to a maximum
 * @lock: guards the others
 * @max: bytes; constant
 * @used: bytes
 * @memlock: memory beyond @max counts against the RLIMIT_MEMLOCK of the process that asks for
 *	it. If false, an allocation beyond @max fails. Constant
 * @mmap: memory whose object is gone, but which a process still maps: see mmap.c
 */
struct smr_pool {
	struct mutex lock;	/* see above */
	size_t max;
	size_t used;
	bool memlock;
	struct list_head mmap;
};

/**
 * struct smr_charge - how an allocation is charged to a pool
 * @pooled: bytes of the pool
 * @locked: pages that count as locked memory of @mm
 * @mm: the process that allocated it, a mmgrab() reference; NULL if @locked is 0
 */
struct smr_charge {
	size_t pooled;
	unsigned long locked;
	struct mm_struct *mm;
};

/**
 * struct smr_packets - received packets queued for a user's QPs
 * @bytes: their true size; each CPU may hold up to @batch that are not in the sum yet
 * @max: bytes; constant
 * @batch: bytes; constant. All CPUs together hold at most a quarter of @max outside the sum.
 *	Packets are counted on the CPU that receives them and uncounted on the one that consumes
 *	them: if the error could exceed @max, the sum could block reception for ever
 */
struct smr_packets {
	struct percpu_counter bytes;
	s64 max;
	s32 batch;
};

/**
 * struct smr_account_conf - the limits of each user of a link
 * @max_objects: objects of each kind
 * @max_rules: of these, steering rules; every rule costs time for each packet of the link
 * @max_queues: bytes of queues; more count against RLIMIT_MEMLOCK
 * @max_packets: bytes of packets that wait in queues
 */
struct smr_account_conf {
	u32 max_objects;
	u32 max_rules;
	size_t max_queues;
	s64 max_packets;
};

/**
 * struct smr_account - what a user has on a link
 * @limits: objects
 * @queues: queues, including those that only the kernel uses
 * @packets: packets that wait
 */
struct smr_account {
	struct smr_limits limits;
	struct smr_pool queues;
	struct smr_packets packets;
};

kuid_t smr_account_uid(void);
int __must_check smr_account_init(struct smr_account *account,
				  const struct smr_account_conf *conf,
				  struct smr_limits *device);
void smr_account_fini(struct smr_account *account);

int __must_check smr_packets_init(struct smr_packets *packets, s64 max);
void smr_packets_fini(struct smr_packets *packets);

void smr_pool_init(struct smr_pool *pool, size_t max, bool memlock);
int __must_check smr_pool_charge(struct smr_pool *pool, size_t size,
				 struct smr_charge *charge);
void smr_pool_uncharge(struct smr_pool *pool, struct smr_charge *charge);

int __must_check smr_memlock_charge(struct mm_struct *mm, unsigned long npages);
void smr_memlock_uncharge(struct mm_struct *mm, unsigned long npages);

#endif /* SMR_ACCOUNT_H */
