// SPDX-License-Identifier: GPL-2.0
/*
 * A process may have 65530 mappings (vm.max_map_count). With one mapping per ring, a process
 * ran out of mappings at 16,000 QPs. Mappings of a device's memory are never merged. So the
 * kernel allocates an arena, which has space for many rings, and the provider maps the arena.
 *
 * A provider that does not know arenas maps each ring separately. So each ring also has its own
 * mmap entry, and consists of whole pages.
 *
 * The pages of a destroyed ring are reused for other rings of the same context. A process that
 * still writes to them corrupts only its own rings.
 *
 * An arena is charged as a whole. To charge little more than what is used, a new arena is as
 * large as all rings of the context together, within two limits. A ring that would fill a large
 * part of an arena is allocated separately.
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
 * @taken: bitmap of the pages that rings use
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
	DECLARE_BITMAP(taken, SMR_RING_MAP_PAGES);
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
				      (size_t)npages << PAGE_SHIFT, 0);
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

/* Freeing the last ring frees the arena. */
static void arena_give(struct smr_arena *arena, unsigned int first,
		       unsigned int npages)
{
	lockdep_assert_held(&arena->arenas->lock);
	bitmap_clear(arena->taken, first, npages);
	arena->used -= npages;
	list_del_init(&arena->node);
	list_add(&arena->node, &arena->arenas->partial);
	if (!arena->used)
		arena_destroy(arena);
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

/* Return: NULL if this ring must be allocated separately. */
static struct smr_arena *arena_get(struct smr_arenas *arenas,
				   unsigned int npages, int *first)
{
	size_t used = clamp_t(size_t, arenas->bytes >> PAGE_SHIFT, PAGES_MIN,
			      SMR_RING_MAP_PAGES);
	unsigned int size = rounddown_pow_of_two(used);
	struct smr_arena *arena;

	arena = arena_find(arenas, npages, first);
	if (arena || npages > size / PAGES_PART)
		return arena;
	arena = arena_create(arenas, size);
	if (arena)
		*first = arena_take(arena, npages);
	return arena;
}

static void part_gone(struct smr_mmap *part)
{
	struct smr_arena *arena = part->owner;
	struct smr_arenas *arenas = arena->arenas;
	void *start = arena->whole->mem;

	guard(mutex)(&arenas->lock);
	arenas->bytes -= part->size;
	arena_give(arena, (part->mem - start) >> PAGE_SHIFT,
		   part->size >> PAGE_SHIFT);
	smr_mmap_part_free(part);
}

static void alone_gone(struct smr_mmap *m)
{
	struct smr_arenas *arenas = m->owner;

	scoped_guard(mutex, &arenas->lock)
		arenas->bytes -= m->size;
	smr_mmap_retire(m);
}

/* Return: NULL if no arena has space. */
static struct smr_mmap *alloc_part(struct smr_arenas *arenas, size_t size,
				   size_t extra, struct smr_ring_map *map)
{
	unsigned int npages = size >> PAGE_SHIFT;
	struct smr_arena *arena;
	struct smr_mmap *part;
	int first;

	arena = arena_get(arenas, npages, &first);
	if (!arena)
		return NULL;
	part = smr_mmap_part_alloc(arena->whole, (size_t)first << PAGE_SHIFT,
				   size, extra);
	if (IS_ERR(part)) {
		arena_give(arena, first, npages);
		return part;
	}
	part->owner = arena;
	part->gone = part_gone;
	*map = (struct smr_ring_map) {
		.mmap_offset = rdma_user_mmap_get_offset(&arena->whole->entry),
		.mmap_size = arena->whole->size,
		.id = arena->id,
		.offset = first << PAGE_SHIFT,
	};
	return part;
}

static struct smr_mmap *alloc_alone(struct smr_arenas *arenas, size_t size,
				    size_t extra)
{
	struct smr_mmap *m = smr_mmap_alloc(arenas->pool, arenas->uctx,
					    size, extra);

	if (!IS_ERR(m)) {
		m->owner = arenas;
		m->gone = alone_gone;
	}
	return m;
}

/**
 * smr_arenas_alloc() - allocate memory for a ring of a process
 * @arenas: the arenas of the context
 * @size: bytes, whole pages
 * @extra: bytes that the caller allocates in addition, see smr_mmap_alloc()
 * @map: set to the ring's place in its arena, for the process; unchanged if it is in none
 *
 * Context: process, may sleep.
 * Return: the zeroed memory; end it with smr_mmap_free(). Or an ERR_PTR: -ENOMEM, also if the
 *	pool is exhausted or RLIMIT_MEMLOCK is too small.
 */
struct smr_mmap *smr_arenas_alloc(struct smr_arenas *arenas, size_t size,
				  size_t extra, struct smr_ring_map *map)
{
	struct smr_mmap *m = NULL;

	guard(mutex)(&arenas->lock);
	if (size >> PAGE_SHIFT <= SMR_RING_MAP_PAGES / PAGES_PART)
		m = alloc_part(arenas, size, extra, map);
	/* The pool may have enough left for the ring even if it has too little for an arena. */
	if (!m)
		m = alloc_alone(arenas, size, extra);
	if (!IS_ERR(m))
		arenas->bytes += size;
	return m;
}
