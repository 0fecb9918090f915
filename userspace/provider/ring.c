// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* Mapping and unmapping the rings that the kernel makes. */
#include "ring.h"

#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/driver.h>

/*
 * A ring that fails this was made by a module that this provider does not know.
 */
static bool ring_geometry_ok(const struct smr_ring_info *info,
			     uint32_t min_stride)
{
	uint64_t bytes = sizeof(struct smr_ring_hdr) +
			 (uint64_t)info->depth * info->stride;

	if (info->depth & (info->depth - 1))
		return false;
	if (info->stride < min_stride || info->stride % sizeof(uint64_t))
		return false;
	return info->max_wr <= info->depth && bytes <= info->mmap_size;
}

/**
 * smr_room_reserve - reserve addresses for a ring that the kernel will make
 * @room: filled in; undo it by smr_room_release()
 * @entries: of the ring, at least
 * @stride: bytes from one to the next
 *
 * For a ring that replaces another one: once the kernel uses the new ring, it
 * is too late to find that there are no addresses for it. No addresses are
 * reserved for a ring that exceeds all limits, so that the kernel returns the
 * error.
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
	room->addr = mmap(NULL, size, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (room->addr == MAP_FAILED) {
		room->addr = NULL;
		return errno;
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
	*room = (struct smr_room){};
}

/* Map a ring into its room, if it has one that is large enough. */
static void *map_in_room(int fd, const struct smr_ring_info *info,
			 struct smr_room *room)
{
	void *addr;

	if (!room || room->size < info->mmap_size)
		return mmap(NULL, info->mmap_size, PROT_READ | PROT_WRITE,
			    MAP_SHARED, fd, (off_t)info->mmap_offset);
	/* Unmap the remainder first: the rest is then replaced as a whole. */
	if (room->size > info->mmap_size)
		munmap((uint8_t *)room->addr + info->mmap_size,
		       room->size - info->mmap_size);
	room->size = info->mmap_size;
	addr = mmap(room->addr, info->mmap_size, PROT_READ | PROT_WRITE,
		    MAP_SHARED | MAP_FIXED, fd, (off_t)info->mmap_offset);
	/* Even if it failed: the addresses may have another user now. */
	*room = (struct smr_room){};
	return addr;
}

/**
 * smr_ring_map - map a ring that the kernel described
 * @ring: filled in; all zero if the kernel says that there is no such ring
 * @fd: the context's command fd
 * @info: the kernel's description
 * @min_stride: the least size of an entry of this kind
 * @room: reserved addresses, which the ring uses if they suffice; or NULL. With
 *	them it is no error if a child of this process inherits the ring: it is
 *	shared memory
 *
 * Return: 0, or a positive errno with nothing mapped.
 */
int smr_ring_map(struct smr_ring *ring, int fd,
		 const struct smr_ring_info *info, uint32_t min_stride,
		 struct smr_room *room)
{
	void *addr;

	*ring = (struct smr_ring){};
	if (!info->depth)
		return 0;
	if (!ring_geometry_ok(info, min_stride))
		return EPROTO;

	addr = map_in_room(fd, info, room);
	if (addr == MAP_FAILED)
		return errno;
	ring->not_for_child = !ibv_dontfork_range(addr, info->mmap_size);
	if (!ring->not_for_child && !room) {
		munmap(addr, info->mmap_size);
		return ENOMEM;
	}

	ring->hdr = addr;
	ring->entries = (uint8_t *)addr + sizeof(struct smr_ring_hdr);
	ring->depth = info->depth;
	ring->stride = info->stride;
	ring->map_size = info->mmap_size;
	return 0;
}

/**
 * smr_ring_unmap - undo smr_ring_map()
 * @ring: may be a ring that does not exist
 */
void smr_ring_unmap(struct smr_ring *ring)
{
	if (!ring->hdr)
		return;
	if (ring->not_for_child)
		ibv_dofork_range(ring->hdr, ring->map_size);
	munmap(ring->hdr, ring->map_size);
	*ring = (struct smr_ring){};
}
