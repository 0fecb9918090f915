// SPDX-License-Identifier: GPL-2.0
/*
 * A process may have 65530 mappings (vm.max_map_count). With one mapping per ring, a process
 * ran out of mappings at 16,000 QPs. Mappings of a device's memory are never merged. So the
 * kernel allocates an arena, which has space for many rings, and the provider maps the arena.
 *
 * The pages of a destroyed ring are reused for other rings of the same context. A process that
 * still writes to them corrupts only its own rings.
 *
 * An arena is charged as a whole. To charge little more than what is used, a new arena is as
 * large as all rings of the context together, within two limits. A ring that would fill a large
 * part of an arena gets one of its own.
 */
#include "arena.h"

#include <linux/bitmap.h>
#include <linux/err.h>
#include <linux/log2.h>
#include <linux/minmax.h>
#include <linux/mm.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "mmap.h"
#include "uapi/softmr-abi.h"

#define PAGES_MIN	16
/* A ring may take at most 1/PAGES_PART of a new arena. */
#define PAGES_PART	4
/* Arenas that are tried before a new one is created. */
#define TRIES		8

/**
 * struct smr_arena - memory for many rings
 * @arenas: the arenas of its context
 * @whole: the memory
 * @id: unique in the context; not reused after the arena is freed
 * @npages: its size in pages
 * @used: number of pages that rings use
 * @taken: bitmap of the pages that rings use; unused if it has one ring only
 * @node: in @arenas->partial while there are free pages
 *
 * @used, @taken and @node are guarded by the lock of @arenas, the others are constant.
 */
struct smr_arena {
	struct smr_arenas *arenas;
	struct smr_mmap *whole;
	u64 id;
	unsigned int npages;
	unsigned int used;
	DECLARE_BITMAP(taken, SMR_ARENA_PAGES);
	struct list_head node;
};

/**
 * smr_arenas_init() - a context has no rings yet
 * @arenas: filled in
 * @uctx: the context
 * @pool: the pool that its rings are charged to; outlives @uctx
 */
void smr_arenas_init(struct smr_arenas *arenas, struct ib_ucontext *uctx,
		     struct smr_pool *pool)
{
	mutex_init(&arenas->lock);
	INIT_LIST_HEAD(&arenas->partial);
	arenas->uctx = uctx;
	arenas->pool = pool;
	arenas->bytes = 0;
	arenas->last_id = 0;
}

/**
 * smr_arenas_fini() - the context ends
 * @arenas: all rings are freed, and with them the arenas
 */
void smr_arenas_fini(struct smr_arenas *arenas)
{
	WARN_ON_ONCE(arenas->bytes || !list_empty(&arenas->partial));
	mutex_destroy(&arenas->lock);
}

static struct smr_arena *arena_create(struct smr_arenas *arenas,
				      unsigned int npages)
{
	struct smr_arena *arena = kzalloc(sizeof(*arena), GFP_KERNEL_ACCOUNT);

	lockdep_assert_held(&arenas->lock);
	if (!arena)
		return NULL;
	arena->whole = smr_mmap_alloc(arenas->pool, arenas->uctx,
				      (size_t)npages << PAGE_SHIFT);
	if (IS_ERR(arena->whole)) {
		kfree(arena);
		return NULL;
	}
	arena->arenas = arenas;
	arena->id = ++arenas->last_id;
	arena->npages = npages;
	list_add(&arena->node, &arenas->partial);
	return arena;
}

static void arena_destroy(struct smr_arena *arena)
{
	lockdep_assert_held(&arena->arenas->lock);
	list_del(&arena->node);
	smr_mmap_free(arena->whole);
	kfree(arena);
}

/* Return: the first of the pages, or -ENOSPC. */
static int arena_take(struct smr_arena *arena, unsigned int npages)
{
	unsigned long first;

	lockdep_assert_held(&arena->arenas->lock);
	first = bitmap_find_next_zero_area(arena->taken, arena->npages, 0,
					   npages, 0);
	if (first >= arena->npages)
		return -ENOSPC;
	bitmap_set(arena->taken, first, npages);
	arena->used += npages;
	if (arena->used == arena->npages)
		list_del_init(&arena->node);
	return first;
}

/* An arena that has no space for this ring moves to the end of the list. */
static struct smr_arena *arena_find(struct smr_arenas *arenas,
				    unsigned int npages, int *first)
{
	struct smr_arena *arena, *next;
	int tries = TRIES;

	lockdep_assert_held(&arenas->lock);
	list_for_each_entry_safe(arena, next, &arenas->partial, node) {
		*first = arena_take(arena, npages);
		if (*first >= 0)
			return arena;
		list_move_tail(&arena->node, &arenas->partial);
		if (!--tries)
			break;
	}
	return NULL;
}

/* Return: NULL if this ring needs an arena of its own. */
static struct smr_arena *arena_get(struct smr_arenas *arenas,
				   unsigned int npages, int *first)
{
	size_t used = clamp_t(size_t, arenas->bytes >> PAGE_SHIFT, PAGES_MIN,
			      SMR_ARENA_PAGES);
	unsigned int size = rounddown_pow_of_two(used);
	struct smr_arena *arena;

	if (npages > SMR_ARENA_PAGES / PAGES_PART)
		return NULL;
	arena = arena_find(arenas, npages, first);
	if (arena || npages > size / PAGES_PART)
		return arena;
	arena = arena_create(arenas, size);
	if (arena)
		*first = arena_take(arena, npages);
	return arena;
}

static void part_take(struct smr_arena_part *part, struct smr_arena *arena,
		      unsigned int first, unsigned int npages)
{
	part->arena = arena;
	part->mem = arena->whole->mem + ((size_t)first << PAGE_SHIFT);
	part->npages = npages;
	arena->arenas->bytes += (size_t)npages << PAGE_SHIFT;
}

/* Freeing the last ring frees the arena. */
static void part_give(struct smr_arena_part *part)
{
	struct smr_arena *arena = part->arena;
	struct smr_arenas *arenas = arena->arenas;

	lockdep_assert_held(&arenas->lock);
	arenas->bytes -= (size_t)part->npages << PAGE_SHIFT;
	arena->used -= part->npages;
	part->arena = NULL;
	if (!arena->used) {
		arena_destroy(arena);
		return;
	}
	bitmap_clear(arena->taken, (part->mem - arena->whole->mem) >> PAGE_SHIFT,
		     part->npages);
	list_move(&arena->node, &arenas->partial);
}

static int part_alloc(struct smr_arenas *arenas, struct smr_arena_part *part,
		      unsigned int npages)
{
	struct smr_arena *arena;
	int first;

	arena = arena_get(arenas, npages, &first);
	if (arena) {
		part_take(part, arena, first, npages);
		memset(part->mem, 0, (size_t)npages << PAGE_SHIFT);
		return 0;
	}
	/* The pool may have enough left for the ring even if it has too little for others. */
	arena = arena_create(arenas, npages);
	if (!arena)
		return -ENOMEM;
	arena->used = npages;
	list_del_init(&arena->node);
	part_take(part, arena, 0, npages);
	return 0;
}

/**
 * smr_arenas_alloc() - allocate memory for a ring of a process
 * @arenas: the arenas of the context
 * @part: filled in
 * @size: bytes, whole pages
 * @extra: bytes that the caller allocates in addition, for the same object. They are charged
 *	with it, and freed before it or soon after
 * @info: arena and offset are set, for the process
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM, also if the pool is exhausted or RLIMIT_MEMLOCK is too small.
 */
int smr_arenas_alloc(struct smr_arenas *arenas, struct smr_arena_part *part,
		     size_t size, size_t extra, struct smr_ring_info *info)
{
	struct smr_arena *arena;
	int ret;

	guard(mutex)(&arenas->lock);
	ret = part_alloc(arenas, part, size >> PAGE_SHIFT);
	if (ret)
		return ret;
	ret = smr_mmap_charge(arenas->pool, PAGE_ALIGN(extra), &part->charge);
	if (ret) {
		part_give(part);
		return ret;
	}
	arena = part->arena;
	info->mmap_offset = rdma_user_mmap_get_offset(&arena->whole->entry);
	info->mmap_size = arena->whole->size;
	info->arena = arena->id;
	info->offset = part->mem - arena->whole->mem;
	return 0;
}

/**
 * smr_arenas_free() - free the memory of a ring
 * @part: from smr_arenas_alloc()
 *
 * A process that maps the arena keeps the pages until it unmaps it.
 *
 * Context: process, may sleep.
 */
void smr_arenas_free(struct smr_arena_part *part)
{
	struct smr_arenas *arenas = part->arena->arenas;

	guard(mutex)(&arenas->lock);
	smr_mmap_uncharge(arenas->pool, &part->charge);
	part_give(part);
}
