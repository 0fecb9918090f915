// SPDX-License-Identifier: GPL-2.0
#include "region.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pattern.h"
#include "work.h"

/* A receive's wr_id; a send's is 1. */
#define RECV_ID	2

static uint32_t serial;

/**
 * vt_need_odp() - does the device page memory on demand?
 * @caps: enum ibv_odp_general_caps that it must have
 *
 * Return: 0, -EOPNOTSUPP if it does not, or another negative errno
 */
int vt_need_odp(const struct vt_ep *ep, uint64_t caps)
{
	struct ibv_device_attr_ex attr;
	int ret = ibv_query_device_ex(ep->dev.ctx, NULL, &attr);

	if (ret)
		return -ret;
	return (attr.odp_caps.general_caps & caps) == caps ? 0 : -EOPNOTSUPP;
}

/**
 * vt_map() - map memory, readable and writable
 * @len: bytes
 * @align: a power of two
 * @flags: of mmap(); MAP_ANONYMOUS is added without @fd
 * @fd: a file, or -1
 *
 * Return: the memory, or NULL with errno
 */
void *vt_map(size_t len, size_t align, int flags, int fd)
{
	char *room = mmap(NULL, len + align, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	char *at = (char *)(((uintptr_t)room + align - 1) & -align);

	if (room == MAP_FAILED)
		return NULL;
	munmap(room, at - room);
	munmap(at + len, room + align - at);
	at = mmap(at, len, PROT_READ | PROT_WRITE,
		  flags | MAP_FIXED | (fd < 0 ? MAP_ANONYMOUS : 0), fd, 0);
	return at == MAP_FAILED ? NULL : at;
}

/**
 * vt_region_reg() - register memory
 *
 * Return: 0 or a negative errno
 */
int vt_region_reg(struct vt_region *r, struct ibv_pd *pd, void *p, size_t len,
		  uint64_t iova, int access)
{
	*r = (struct vt_region){ .p = p, .len = len, .iova = iova };
	r->mr = ibv_reg_mr_iova(pd, p, len, iova, access);
	return r->mr ? 0 : -errno;
}

/**
 * vt_region_close() - deregister and unmap
 */
void vt_region_close(struct vt_region *r)
{
	if (r->mr)
		ibv_dereg_mr(r->mr);
	if (r->p)
		munmap(r->p, r->len);
	memset(r, 0, sizeof(*r));
}

static bool from_region(enum vt_way way)
{
	return way == VT_READ || way == VT_SEND || way == VT_PUSH;
}

static enum ibv_wr_opcode way_opcode(enum vt_way way)
{
	switch (way) {
	case VT_RECV:
	case VT_SEND:
		return IBV_WR_SEND;
	case VT_READ:
	case VT_FETCH:
		return IBV_WR_RDMA_READ;
	default:
		return IBV_WR_RDMA_WRITE;
	}
}

/* Does end a post the request? */
static bool asks_at_a(enum vt_way way)
{
	return way == VT_WRITE || way == VT_READ || way == VT_RECV;
}

/**
 * vt_region_post() - post a request that moves bytes between the region and the peer's buffer
 * @off: where in the region; in the buffer the bytes are behind the guard
 *
 * The request has the wr_id 1, the receive of a SEND has 2.
 *
 * Return: 0 or a negative errno
 */
int vt_region_post(struct vt_pair *pair, const struct vt_region *r,
		   enum vt_way way, size_t off, size_t len)
{
	bool at_a = asks_at_a(way);
	struct vt_ep *from = at_a ? &pair->a : &pair->b;
	struct vt_ep *to = at_a ? &pair->b : &pair->a;
	struct ibv_sge buf = vt_sge(&pair->a.buf, VT_GUARD, len);
	struct ibv_sge mem = {
		.addr = r->iova + off, .length = len, .lkey = r->mr->lkey,
	};
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = way_opcode(way),
		.sg_list = at_a ? &buf : &mem, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
	};
	int ret = 0;

	wr.wr.rdma.remote_addr = at_a ? mem.addr : buf.addr;
	wr.wr.rdma.rkey = at_a ? r->mr->rkey : pair->a.buf.mr->rkey;
	if (wr.opcode == IBV_WR_SEND)
		ret = vt_post_recv(to, RECV_ID, at_a ? &mem : &buf, 1);
	return ret ? ret : vt_post(from, &wr);
}

/**
 * vt_region_copy() - move bytes between the region and the peer's buffer
 * @off: where in the region; in the buffer the bytes are behind the guard
 *
 * Return: the status of the receive if that failed, or else the requester's; or
 * a negative errno
 */
int vt_region_copy(struct vt_pair *pair, const struct vt_region *r,
		   enum vt_way way, size_t off, size_t len)
{
	bool at_a = asks_at_a(way);
	struct vt_ep *from = at_a ? &pair->a : &pair->b;
	struct vt_ep *to = at_a ? &pair->b : &pair->a;
	int ret = vt_region_post(pair, r, way, off, len), status;

	if (ret)
		return ret;
	ret = vt_status(from->scq, 1);
	/*
	 * User-Mode Linux updates a process's page tables at the end of a system call. So do
	 * one before the memory is checked.
	 */
	getppid();
	/* A SEND that was not sent is not received. */
	if (way_opcode(way) != IBV_WR_SEND || ret == IBV_WC_LOC_PROT_ERR)
		return ret;
	/* The sender gets only a general status; the receiver knows the cause. */
	status = vt_status(to->rcq, RECV_ID);
	return status ? status : ret;
}

/**
 * vt_region_moves() - move bytes in one way, and check each byte
 * @off: where in the region
 * @len: bytes
 *
 * All other bytes must stay as they were: the peer's guards, and in the region
 * the bytes beside the range in the same pages.
 */
bool vt_region_moves(struct vt_pair *pair, const struct vt_region *r,
		     enum vt_way way, size_t off, size_t len)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD, len);
	uint8_t *mem = r->p + off, *buf = pair->a.buf.p + VT_GUARD;
	bool out = from_region(way), ok;
	uint32_t seed = ++serial;
	int status;

	vt_fill(out ? mem : buf, len, seed, 0);
	status = vt_region_copy(pair, r, way, off, len);
	if (status)
		printf("# way %d, %zu bytes at %zu: %s\n", way, len, off,
		       status < 0 ? strerror(-status) :
				    ibv_wc_status_str(status));
	ok = !status && vt_check("target", out ? buf : mem, len, seed, 0);
	ok &= vt_check("source", out ? mem : buf, len, seed, 0);
	return vt_buf_restore(&pair->a.buf, &sge, 1, len) && ok;
}

static bool atomic_works(struct vt_pair *pair, const struct vt_region *r,
			 size_t off)
{
	struct ibv_sge buf = vt_sge(&pair->a.buf, VT_GUARD, 8);
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_ATOMIC_FETCH_AND_ADD,
		.sg_list = &buf, .num_sge = 1, .send_flags = IBV_SEND_SIGNALED,
		.wr.atomic.remote_addr = r->iova + off,
		.wr.atomic.rkey = r->mr->rkey,
		.wr.atomic.compare_add = 77,
	};
	volatile uint64_t *word = (uint64_t *)(r->p + off);
	uint64_t before = *word = 1234567890123 * ++serial, found;
	bool ok;

	if (vt_post(&pair->a, &wr) || vt_status(pair->a.scq, 1))
		return false;
	memcpy(&found, pair->a.buf.p + VT_GUARD, 8);
	ok = *word == before + 77 && found == before;
	return vt_buf_restore(&pair->a.buf, &buf, 1, 8) && ok;
}

/**
 * vt_region_works() - whether a range can be reached in each way; checks the
 * data
 * @off: a multiple of 8
 * @len: bytes
 */
bool vt_region_works(struct vt_pair *pair, const struct vt_region *r,
		     size_t off, size_t len)
{
	bool ok = true;
	int way;

	for (way = 0; way < VT_WAYS; way++)
		ok &= vt_region_moves(pair, r, way, off, len);
	return ok && atomic_works(pair, r, off);
}

/**
 * vt_pair_recover() - after an error: drop completions, and connect again
 *
 * Return: 0 or a negative errno
 */
int vt_pair_recover(struct vt_pair *pair)
{
	struct ibv_cq *cqs[] = {
		pair->a.scq, pair->a.rcq, pair->b.scq, pair->b.rcq,
	};
	int ret = vt_pair_reset(pair);
	struct ibv_wc wc;
	unsigned int i;

	for (i = 0; i < sizeof(cqs) / sizeof(cqs[0]); i++)
		while (ibv_poll_cq(cqs[i], 1, &wc) == 1)
			;
	return ret;
}
