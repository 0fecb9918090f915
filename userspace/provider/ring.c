// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Mapping and unmapping the rings that the kernel hands out.
 */
#include "ring.h"

#include <errno.h>
#include <sys/mman.h>

#include <infiniband/driver.h>

/* A ring that fails this was made by a module this provider does not know. */
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
 * smr_ring_map - map a ring that the kernel described
 * @ring: filled in; all zero when the kernel says that there is no such ring
 * @fd: the context's command fd
 * @info: the kernel's description
 * @min_stride: bytes that an entry of this kind has at least
 *
 * Return: 0, or a positive errno with nothing mapped.
 */
int smr_ring_map(struct smr_ring *ring, int fd,
		 const struct smr_ring_info *info, uint32_t min_stride)
{
	void *addr;

	*ring = (struct smr_ring){};
	if (!info->depth)
		return 0;
	if (!ring_geometry_ok(info, min_stride))
		return EPROTO;

	addr = mmap(NULL, info->mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		    fd, (off_t)info->mmap_offset);
	if (addr == MAP_FAILED)
		return errno;
	if (ibv_dontfork_range(addr, info->mmap_size)) {
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
 * @ring: may be one that was never there
 */
void smr_ring_unmap(struct smr_ring *ring)
{
	if (!ring->hdr)
		return;
	ibv_dofork_range(ring->hdr, ring->map_size);
	munmap(ring->hdr, ring->map_size);
	*ring = (struct smr_ring){};
}
