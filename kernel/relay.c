// SPDX-License-Identifier: GPL-2.0
#include "relay.h"

#include <linux/container_of.h>

static struct smr_mem *relay_target(struct smr_mem *mem)
{
	return container_of(mem, struct smr_relay, mem)->target;
}

static int relay_map(struct smr_mem *mem, u64 off, size_t len, bool write,
		     struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->map(target, off, len, write, map);
}

static int relay_trymap(struct smr_mem *mem, u64 off, size_t len, bool write,
			struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->trymap(target, off, len, write, map);
}

static bool relay_next(struct smr_mem *mem, size_t len, bool write,
		       struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->next(target, len, write, map);
}

static void relay_unmap(struct smr_mem *mem, struct smr_map *map)
{
	struct smr_mem *target = relay_target(mem);

	target->ops->unmap(target, map);
}

/* What is bound to is not reregistered: its turn stays what it is. */
static int relay_fault(struct smr_mem *mem, bool turn, u64 off, u64 len,
		       bool write)
{
	struct smr_mem *target = relay_target(mem);

	return target->ops->fault(target, target->turn, off, len, write);
}

/* To memory whose maps need no end, and whose pages are always there */
static const struct smr_mem_ops relay_ops = {
	.map = relay_map,
};

/* To one whose maps are locks */
static const struct smr_mem_ops relay_paged_ops = {
	.map = relay_map,
	.trymap = relay_trymap,
	.next = relay_next,
	.unmap = relay_unmap,
	.fault = relay_fault,
};

/**
 * smr_relay_aim() - have a memory go on to another one, and have users
 * @relay: zeroed; or suspended, and idle
 * @target: where it goes on
 *
 * Context: any; between smr_key_update_begin() and _end() of its key.
 */
void smr_relay_aim(struct smr_relay *relay, struct smr_mem *target)
{
	relay->mem.ops = target->ops->unmap ? &relay_paged_ops : &relay_ops;
	relay->mem.mm = target->mm;
	relay->target = target;
	smr_mem_resume(&relay->mem, target->size);
}
