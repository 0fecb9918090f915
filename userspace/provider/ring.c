// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping and unmapping the rings that the kernel makes.
 *
 * An arena, which may have many rings, is mapped for the first of them and unmapped with the last.
 * This is invisible to the rest of the provider.
 */
#include "ring.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/driver.h>

/* A mapped arena */
struct smr_map {
	struct smr_maps *maps;	/* those of the context; their lock guards @next and @users */
	struct smr_map *next;	/* in @maps */
	uint64_t id;		/* identifies it */
	unsigned int users;	/* the number of rings in it */
	uint8_t *addr;		/* its address */
	size_t size;		/* bytes */
	bool not_for_child;	/* children of this process do not inherit it */
};

/**
 * smr_maps_init - initialise the mappings of a newly opened context
 * @maps: filled in
 * @fd: the context's command fd
 */
void smr_maps_init(struct smr_maps *maps, int fd)
{
	pthread_mutex_init(&maps->lock, NULL);
	maps->fd = fd;
	maps->first = NULL;
}

/**
 * smr_maps_destroy - undo smr_maps_init()
 * @maps: all rings are unmapped
 */
void smr_maps_destroy(struct smr_maps *maps)
{
	pthread_mutex_destroy(&maps->lock);
}

/* A ring that fails this check comes from a module that this provider does not know. */
static bool ring_geometry_ok(const struct smr_ring_info *info,
			     uint32_t min_stride)
{
	uint64_t bytes = sizeof(struct smr_ring_hdr) +
			 (uint64_t)info->depth * info->stride;

	if (info->depth & (info->depth - 1))
		return false;
	if (info->stride < min_stride || info->stride % sizeof(uint64_t))
		return false;
	if (info->offset % sizeof(uint64_t) || info->offset + bytes > info->mmap_size)
		return false;
	return info->max_wr <= info->depth;
}

/**
 * smr_room_reserve - reserve addresses for a ring that the kernel will make
 * @room: filled in; undo it by smr_room_release()
 * @entries: of the ring, at least
 * @stride: bytes from one to the next
 *
 * For a ring that replaces another one: once the kernel uses the new ring, running out of addresses
 * can no longer be handled. The ring may be the first one of an arena. No addresses are
 * reserved for a ring that exceeds all limits: the kernel returns the error.
 *
 * Return: 0 or a positive errno.
 */
int smr_room_reserve(struct smr_room *room, uint32_t entries, uint32_t stride)
{
	uint64_t page = sysconf(_SC_PAGESIZE), depth = 1, size;

	while (depth < entries)
		depth *= 2;
	size = (sizeof(struct smr_ring_hdr) + depth * stride + page - 1) & -page;

	*room = (struct smr_room){};
	/* mmap_size cannot hold such a size: let the kernel refuse it. */
	if (size > UINT32_MAX)
		return 0;
	if (size < SMR_ARENA_PAGES * page)
		size = SMR_ARENA_PAGES * page;
	room->map = malloc(sizeof(*room->map));
	if (!room->map)
		return ENOMEM;
	room->addr = mmap(NULL, size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room->addr == MAP_FAILED) {
		free(room->map);
		*room = (struct smr_room){};
		return ENOMEM;
	}
	room->size = size;
	return 0;
}

/**
 * smr_room_release - release the addresses that no ring uses
 * @room: the addresses
 */
void smr_room_release(struct smr_room *room)
{
	if (room->addr)
		munmap(room->addr, room->size);
	free(room->map);
	*room = (struct smr_room){};
}

/* Map @size bytes into the reserved addresses, if they suffice. */
static void *map_in_room(int fd, uint64_t offset, size_t size,
			 struct smr_room *room)
{
	void *addr;

	if (!room || room->size < size)
		return mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
			    (off_t)offset);
	/* Unmap the remainder first: the rest is then replaced as a whole. */
	if (room->size > size)
		munmap((uint8_t *)room->addr + size, room->size - size);
	addr = mmap(room->addr, size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, (off_t)offset);
	/* Also on failure: the addresses may have another user now. */
	room->addr = NULL;
	room->size = 0;
	return addr;
}

static struct smr_map *map_alloc(struct smr_room *room)
{
	struct smr_map *map = room ? room->map : NULL;

	if (!map)
		return malloc(sizeof(*map));
	room->map = NULL;
	return map;
}

/* Map an arena that is not mapped yet. Return: 0 or a positive errno. */
static int map_new(struct smr_maps *maps, const struct smr_ring_info *info,
		   struct smr_room *room, struct smr_map **new)
{
	struct smr_map *map = map_alloc(room);
	size_t size = info->mmap_size;
	int ret;

	if (!map)
		return ENOMEM;
	*map = (struct smr_map){
		.maps = maps, .id = info->arena, .users = 1, .size = size,
	};
	map->addr = map_in_room(maps->fd, info->mmap_offset, size, room);
	if (map->addr == MAP_FAILED) {
		ret = errno;
		free(map);
		return ret;
	}
	map->not_for_child = !ibv_dontfork_range(map->addr, size);
	if (!map->not_for_child && !room) {
		munmap(map->addr, size);
		free(map);
		return ENOMEM;
	}
	*new = map;
	return 0;
}

/* The place of the pointer to the mapping @id. Caller holds the lock. */
static struct smr_map **map_find(struct smr_maps *maps, uint64_t id)
{
	struct smr_map **at = &maps->first;

	while (*at && (*at)->id != id)
		at = &(*at)->next;
	return at;
}

/* New rings are mostly in the same mapping as the last one: keep that in front. */
static void map_to_front(struct smr_maps *maps, struct smr_map **at)
{
	struct smr_map *map = *at;

	*at = map->next;
	map->next = maps->first;
	maps->first = map;
}

/* Map the arena of a ring, or use its mapping. Return: 0 or a positive errno. */
static int map_get(struct smr_maps *maps, const struct smr_ring_info *info,
		   struct smr_room *room, struct smr_map **map)
{
	struct smr_map **at;
	int ret = 0;

	pthread_mutex_lock(&maps->lock);
	at = map_find(maps, info->arena);
	if (*at) {
		(*at)->users++;
		map_to_front(maps, at);
		*map = maps->first;
	} else {
		ret = map_new(maps, info, room, map);
		if (!ret) {
			(*map)->next = maps->first;
			maps->first = *map;
		}
	}
	pthread_mutex_unlock(&maps->lock);
	return ret;
}

static void map_put(struct smr_map *map)
{
	struct smr_maps *maps = map->maps;
	bool last;

	pthread_mutex_lock(&maps->lock);
	last = !--map->users;
	if (last)
		*map_find(maps, map->id) = map->next;
	pthread_mutex_unlock(&maps->lock);
	if (!last)
		return;
	if (map->not_for_child)
		ibv_dofork_range(map->addr, map->size);
	munmap(map->addr, map->size);
	free(map);
}

/**
 * smr_ring_map - map a ring that the kernel described
 * @ring: filled in; all zero if the kernel says that there is no such ring
 * @maps: the context's
 * @info: the kernel's description of it
 * @min_stride: the least size of an entry of this kind
 * @room: reserved addresses, which the ring uses if they suffice; or NULL. With @room a child of
 *	this process may inherit the ring, which is shared memory
 *
 * Return: 0, or a positive errno with nothing mapped.
 */
int smr_ring_map(struct smr_ring *ring, struct smr_maps *maps,
		 const struct smr_ring_info *info, uint32_t min_stride,
		 struct smr_room *room)
{
	int ret;

	*ring = (struct smr_ring){};
	if (!info->depth)
		return 0;
	if (!ring_geometry_ok(info, min_stride))
		return EPROTO;

	ret = map_get(maps, info, room, &ring->map);
	if (ret)
		return ret;

	ring->hdr = (void *)(ring->map->addr + info->offset);
	ring->entries = (uint8_t *)(ring->hdr + 1);
	ring->depth = info->depth;
	ring->stride = info->stride;
	return 0;
}

/**
 * smr_ring_unmap - undo smr_ring_map() or smr_ring_lose()
 * @ring: may be a ring that does not exist
 */
void smr_ring_unmap(struct smr_ring *ring)
{
	if (ring->map)
		map_put(ring->map);
	*ring = (struct smr_ring){};
}

/**
 * smr_ring_lose - unmap a ring that the kernel has replaced by one that cannot be
 * mapped
 * @ring: becomes an empty ring of the process itself
 *
 * The kernel gives the old ring's memory to other rings, so it must not be touched. All indices of
 * the empty ring remain 0: it is always empty, and its user must not add entries.
 */
void smr_ring_lose(struct smr_ring *ring)
{
	static struct smr_ring_hdr empty;
	uint32_t stride = ring->stride;

	smr_ring_unmap(ring);
	ring->hdr = &empty;
	ring->stride = stride;
}
