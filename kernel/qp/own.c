// SPDX-License-Identifier: GPL-2.0
/*
 * The destination of each datagram is looked up in the device's GID table, which has one lock
 * for all CPUs, is searched linearly, and counts references. So each CPU caches the last
 * addresses that it has found there, until a GID is removed.
 */
#include "qp/own.h"

#include <linux/irqflags.h>
#include <net/ipv6.h>

/* A power of two. Most links have one IPv4 and one IPv6 address. */
#define SLOTS	4

/**
 * struct slot - an address that was found
 * @addr: the address, IPv4 in its mapped form
 * @iif: the netdev's index, if that is part of the address, or 0
 * @removed: value of smr_own.removed before the look-up
 */
struct slot {
	struct in6_addr addr;
	int iif;
	int removed;
};

/* The cache of one CPU; used with interrupts off. */
struct smr_own_cpu {
	struct slot slots[SLOTS];
};

/* Initialize the cache of a device's addresses. */
int smr_own_init(struct smr_own *own)
{
	/* Unused slots have 0. */
	atomic_set(&own->removed, 1);
	own->cpus = alloc_percpu(struct smr_own_cpu);
	return own->cpus ? 0 : -ENOMEM;
}

/* Free the cache of a device's addresses. */
void smr_own_fini(struct smr_own *own)
{
	free_percpu(own->cpus);
}

/* Called with interrupts off. */
static struct slot *slot_of(struct smr_own *own, const struct in6_addr *addr)
{
	u32 key = (__force u32)(addr->s6_addr32[3] ^ addr->s6_addr32[0]);

	key ^= key >> 16;
	key ^= key >> 8;
	return &this_cpu_ptr(own->cpus)->slots[key % SLOTS];
}

/*
 * Is an address known to be in the GID table? @own: the cache of the device. @iif: the netdev's
 * index, if that is part of the address, or 0. @removed: set to a value to pass to smr_own_add()
 * after a look-up. Returns true if it is; false: look it up in the table.
 */
bool smr_own_knows(struct smr_own *own, const struct in6_addr *addr, int iif,
		   int *removed)
{
	const struct slot *slot;
	unsigned long flags;
	bool known;

	*removed = atomic_read_acquire(&own->removed);
	local_irq_save(flags);
	slot = slot_of(own, addr);
	known = slot->removed == *removed && slot->iif == iif &&
		ipv6_addr_equal(&slot->addr, addr);
	local_irq_restore(flags);
	return known;
}

/*
 * Cache an address of the GID table. @own: the cache of the device. @removed: value from
 * smr_own_knows(), which was called before the table was searched.
 */
void smr_own_add(struct smr_own *own, const struct in6_addr *addr, int iif,
		 int removed)
{
	unsigned long flags;

	local_irq_save(flags);
	*slot_of(own, addr) = (struct slot) { *addr, iif, removed };
	local_irq_restore(flags);
}

/*
 * Drop the caches after an address was removed from the GID table. @own: the cache of the device. A
 * CPU that found the address before the removal has an older value of @own->removed, so the entry
 * that it adds is not valid.
 */
void smr_own_forget(struct smr_own *own)
{
	atomic_inc(&own->removed);
}
