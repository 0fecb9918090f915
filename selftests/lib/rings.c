// SPDX-License-Identifier: GPL-2.0
#include "rings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "uverbs.h"
#include "work.h"

/**
 * struct marks - the ids of the first of two requests in each queue
 *
 * Each endpoint uses other ids, because rings of other endpoints may be mapped,
 * too.
 */
struct marks {
	uint64_t send;
	uint64_t recv;
};

/**
 * struct place - where a ring may begin
 * @hdr: its head
 * @room: bytes from there to the end of the mapping
 */
struct place {
	struct smr_ring_hdr *hdr;
	size_t room;
};

static uint64_t entry_id(const struct place *place, size_t off)
{
	uint64_t id;

	off += sizeof(struct smr_ring_hdr);
	if (off + sizeof(id) > place->room)
		return 0;
	memcpy(&id, (uint8_t *)place->hdr + off, sizeof(id));
	return id;
}

/*
 * The distance between the entries with @id and @id + 1; 0 if they are not in this ring.
 */
static uint32_t stride_of(const struct place *place, uint64_t id)
{
	uint32_t off;

	if (entry_id(place, 0) != id)
		return 0;
	for (off = 8; off < 4096; off += 8)
		if (entry_id(place, off) == id + 1)
			return off;
	return 0;
}

static struct vt_ring ring_at(const struct place *place, uint32_t depth,
			      uint32_t stride)
{
	size_t page = sysconf(_SC_PAGESIZE);
	size_t len = sizeof(struct smr_ring_hdr) + (size_t)depth * stride;

	return (struct vt_ring){
		.hdr = place->hdr,
		.len = (len + page - 1) & -page,
	};
}

static void take(const struct place *place, uint64_t id, uint32_t cq_depth,
		 uint32_t wq_depth, struct vt_ring *cq, struct vt_ring *wq,
		 uint32_t *wq_stride)
{
	uint32_t stride = stride_of(place, id);

	if (stride == sizeof(struct smr_cqe)) {
		*cq = ring_at(place, cq_depth, stride);
	} else if (stride) {
		*wq = ring_at(place, wq_depth, stride);
		*wq_stride = stride;
	}
}

/* A mapping may have many rings. Each begins with a page. */
static void look_through_maps(struct vt_rings *rings, const struct marks *marks,
			      const struct vt_ep *ep)
{
	FILE *maps = fopen("/proc/self/maps", "r");
	size_t page = sysconf(_SC_PAGESIZE);
	unsigned long start, end;
	struct place place;
	char line[512];

	while (maps && fgets(line, sizeof(line), maps)) {
		if (!strstr(line, "/uverbs") ||
		    sscanf(line, "%lx-%lx", &start, &end) != 2)
			continue;
		for (; start < end; start += page) {
			place.hdr = (void *)start;
			place.room = end - start;
			take(&place, marks->send, ep->scq->cqe, rings->depth,
			     &rings->scq, &rings->sq, &rings->sq_stride);
			take(&place, marks->recv, ep->rcq->cqe, rings->depth,
			     &rings->rcq, &rings->rq, &rings->rq_stride);
		}
	}
	if (maps)
		fclose(maps);
}

/* Flush two requests in each queue: their ids show which ring is which. */
static int leave_marks(struct vt_ep *ep, const struct marks *marks)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	struct ibv_wc wc[2];
	int i, ret;

	ret = vt_qp_reset(ep->qp);
	if (!ret)
		ret = vt_qp_init(ep->qp, &ep->conf);
	if (!ret)
		ret = -vt_qp_to(ep->qp, IBV_QPS_ERR);
	if (vt_is_ud(ep))
		vt_wr_to_peer(ep, &wr);
	for (i = 0; i < 2 && !ret; i++) {
		wr.wr_id = marks->send + i;
		ret = vt_post(ep, &wr);
		if (!ret)
			ret = vt_post_recv(ep, marks->recv + i, NULL, 0);
	}
	if (!ret && (vt_poll(ep->scq, wc, 2, 1000) != 2 ||
		     vt_poll(ep->rcq, wc, 2, 1000) != 2))
		ret = -ETIMEDOUT;
	return ret;
}

/**
 * vt_rings_find() - find the rings of an endpoint that was not used yet
 * @rings: filled in
 * @ep: with 4 SGEs, so that no work queue's stride is a CQ's; its QP is in ERR
 *	after that
 *
 * Return: 0; -EOPNOTSUPP if this device has no such rings
 */
int vt_rings_find(struct vt_rings *rings, struct vt_ep *ep)
{
	static uint32_t serial;
	struct marks marks = {
		.send = 0x5e4d000000000000ull + 16 * ++serial,
		.recv = 0x4ec4000000000000ull + 16 * serial,
	};
	int ret = leave_marks(ep, &marks);

	memset(rings, 0, sizeof(*rings));
	if (ret)
		return ret;
	for (rings->depth = 1; rings->depth < ep->conf.depth;)
		rings->depth *= 2;
	look_through_maps(rings, &marks, ep);
	if (!rings->sq.hdr || !rings->rq.hdr || !rings->scq.hdr ||
	    !rings->rcq.hdr)
		return -EOPNOTSUPP;
	return vt_ring_sq(ep) ? -EOPNOTSUPP : 0;
}

/**
 * vt_arena_find() - find the mapping that a ring is in
 * @ring: from vt_rings_find()
 * @arena: filled in
 *
 * Return: 0 or -ENOENT
 */
int vt_arena_find(const struct vt_ring *ring, struct vt_arena *arena)
{
	unsigned long start, end, offset, hdr = (unsigned long)ring->hdr;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512];
	int ret = -ENOENT;

	while (ret && maps && fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %*s %lx", &start, &end, &offset) != 3 ||
		    hdr < start || hdr >= end)
			continue;
		*arena = (struct vt_arena){ (void *)start, end - start, offset };
		ret = 0;
	}
	if (maps)
		fclose(maps);
	return ret;
}

/**
 * vt_ring_map_again() - a second mapping of a ring, which the provider does not know
 * @again: filled in
 * @ring: from vt_rings_find()
 * @fd: the command fd of its context
 *
 * Return: 0 or a negative errno
 */
int vt_ring_map_again(struct vt_ring *again, const struct vt_ring *ring, int fd)
{
	struct vt_arena arena;
	uint8_t *p;
	int ret = vt_arena_find(ring, &arena);

	if (ret)
		return ret;
	p = mmap(NULL, arena.len, PROT_READ | PROT_WRITE, MAP_SHARED, fd, arena.offset);
	if (p == MAP_FAILED)
		return -errno;
	again->hdr = (void *)(p + ((uint8_t *)ring->hdr - (uint8_t *)arena.p));
	again->len = ring->len;
	return 0;
}

/**
 * vt_doorbell() - ring a QP
 * @request: SMR_IOC_RING_SQ or SMR_IOC_RING_RQ
 *
 * By a doorbell file of its own, not by the provider's.
 *
 * Return: 0 or a negative errno
 */
int vt_doorbell(struct ibv_context *ctx, unsigned long request, uint32_t qpn)
{
	int fd = vt_ucmd_file(ctx, SMR_METHOD_DOORBELL_OPEN, SMR_ATTR_DOORBELL_FD);
	int ret;

	if (fd < 0)
		return fd;
	ret = ioctl(fd, request, (unsigned long)qpn) ? -errno : 0;
	close(fd);
	return ret;
}
