// SPDX-License-Identifier: GPL-2.0
/*
 * Which objects of softmr are alive, by the functions that have made them. hooks.h brings each
 * allocation and each release here. The kernel's own slabs cannot tell: all of the kernel has
 * its objects in those of kmalloc().
 *
 * /sys/module/softmr/parameters/live: a line for each such function, "name objects". Without a
 * link there is none.
 *
 * Nothing is allocated for that, so allocations that are to fail (fail.h) are those of softmr.
 */
#include "hooks.h"

#include <linux/hash.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/spinlock.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#define LIVE_BITS	17
#define SLOTS		(1U << LIVE_BITS)
/* More are not noted: the rest keeps look-ups short. */
#define MOST		(SLOTS / 4 * 3)
#define KINDS		100

/*
 * Open addressing, linear probing. A key is the complement of the object's address, or 0:
 * kmemleak would take the address for a reference to the object.
 */
static struct {
	unsigned long key;
	const char *who;
} slots[SLOTS];
static unsigned int used;
/* taken in every context, within locks of every kind */
static DEFINE_RAW_SPINLOCK(live_lock);

static unsigned long key_of(const void *p)
{
	return ~(unsigned long)p;
}

static unsigned int home(unsigned long key)
{
	return hash_long(key, LIVE_BITS);
}

static unsigned int after(unsigned int i)
{
	return (i + 1) % SLOTS;
}

/* Where it is, or where it would be */
static unsigned int find(unsigned long key)
{
	unsigned int i = home(key);

	while (slots[i].key && slots[i].key != key)
		i = after(i);
	return i;
}

/**
 * smr_live_add() - an object was made
 * @p: the object, or no object
 * @who: the name of the function
 *
 * Context: any.
 * Return: @p
 */
void *smr_live_add(void *p, const char *who)
{
	unsigned long flags;
	unsigned int i;

	if (ZERO_OR_NULL_PTR(p))
		return p;
	raw_spin_lock_irqsave(&live_lock, flags);
	if (used < MOST) {
		i = find(key_of(p));
		used += !slots[i].key;
		slots[i].key = key_of(p);
		slots[i].who = who;
	}
	raw_spin_unlock_irqrestore(&live_lock, flags);
	return p;
}

/* What follows without a gap moves up, if it may. */
static void empty(unsigned int i)
{
	unsigned int j;

	for (j = after(i); slots[j].key; j = after(j)) {
		if ((j - home(slots[j].key)) % SLOTS < (j - i) % SLOTS)
			continue;
		slots[i] = slots[j];
		i = j;
	}
	slots[i].key = 0;
	used--;
}

/**
 * smr_live_del() - an object is about to be freed
 * @p: the object, or one that was not noted
 *
 * Context: any.
 */
void smr_live_del(const void *p)
{
	unsigned long flags;
	unsigned int i;

	if (ZERO_OR_NULL_PTR(p))
		return;
	raw_spin_lock_irqsave(&live_lock, flags);
	i = find(key_of(p));
	if (slots[i].key)
		empty(i);
	raw_spin_unlock_irqrestore(&live_lock, flags);
}

struct kind {
	const char *who;
	unsigned int nr;
};

static struct kind *kind_of(struct kind *kinds, const char *who)
{
	struct kind *kind;

	for (kind = kinds; kind < kinds + KINDS - 1 && kind->who; kind++)
		if (!strcmp(kind->who, who))
			break;
	kind->who = who;
	return kind;
}

/* The readers of a parameter take turns. */
static int live_get(char *buffer, const struct kernel_param *param)
{
	static struct kind kinds[KINDS];
	unsigned long flags;
	struct kind *kind;
	unsigned int i;
	int len = 0;

	memset(kinds, 0, sizeof(kinds));
	raw_spin_lock_irqsave(&live_lock, flags);
	for (i = 0; i < SLOTS; i++)
		if (slots[i].key)
			kind_of(kinds, slots[i].who)->nr++;
	raw_spin_unlock_irqrestore(&live_lock, flags);
	for (kind = kinds; kind < kinds + KINDS && kind->who; kind++)
		len += sysfs_emit_at(buffer, len, "%s %u\n", kind->who, kind->nr);
	return len;
}

static const struct kernel_param_ops live_ops = {
	.get = live_get,
};

module_param_cb(live, &live_ops, NULL, 0400);
MODULE_PARM_DESC(live, "objects that are alive, by the functions that have made them");
