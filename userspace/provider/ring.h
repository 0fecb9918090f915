/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Rings shared with the kernel: how they are mapped, and the few accesses that
 * need memory ordering.
 */
#ifndef SMR_PROVIDER_RING_H
#define SMR_PROVIDER_RING_H

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <softmr-abi.h>

struct smr_map;

/* The mapped arenas of a context */
struct smr_maps {
	pthread_mutex_t lock;	/* guards @first */
	int fd;			/* the context's command fd; constant */
	struct smr_map *first;	/* a list */
};

/* One mapped ring */
struct smr_ring {
	struct smr_ring_hdr *hdr;	/* its head; NULL: there is no such ring */
	uint8_t *entries;		/* the first entry, directly after the head */
	uint32_t depth;			/* entries, a power of two */
	uint32_t stride;		/* bytes from one entry to the next */
	struct smr_map *map;		/* the mapping that it is in; NULL: see smr_ring_lose() */
};

/* Addresses that are reserved for a ring */
struct smr_room {
	void *addr;		/* the first one; NULL: none */
	size_t size;		/* bytes */
	struct smr_map *map;	/* will describe the mapping */
};

void smr_maps_init(struct smr_maps *maps, int fd);
void smr_maps_destroy(struct smr_maps *maps);

int smr_room_reserve(struct smr_room *room, uint32_t entries, uint32_t stride);
void smr_room_release(struct smr_room *room);

int smr_ring_map(struct smr_ring *ring, struct smr_maps *maps,
		 const struct smr_ring_info *info, uint32_t min_stride,
		 struct smr_room *room);
void smr_ring_unmap(struct smr_ring *ring);
void smr_ring_lose(struct smr_ring *ring);

static inline uint32_t smr_load_acquire(const __u32 *index)
{
	return __atomic_load_n(index, __ATOMIC_ACQUIRE);
}

static inline void smr_store_release(__u32 *index, uint32_t value)
{
	__atomic_store_n(index, value, __ATOMIC_RELEASE);
}

/* The entry at the free-running @index */
static inline void *smr_ring_entry(const struct smr_ring *ring, uint32_t index)
{
	return ring->entries + (size_t)(index & (ring->depth - 1)) * ring->stride;
}

/*
 * The kernel's flags about doorbells for the entries that were just published,
 * enum smr_ring_flags. The fence orders our store to prod before our load of
 * flags. The kernel orders its store to flags before its last load of prod. So
 * one of the two sees the other's store.
 */
static inline uint32_t smr_ring_flags(const struct smr_ring *ring)
{
	__atomic_thread_fence(__ATOMIC_SEQ_CST);
	return __atomic_load_n(&ring->hdr->flags, __ATOMIC_RELAXED);
}

#endif /* SMR_PROVIDER_RING_H */
