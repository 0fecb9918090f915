// SPDX-License-Identifier: GPL-2.0
#include "rights.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "pattern.h"
#include "work.h"

#define PAGES	3
#define START	104	/* in the first page; aligned for atomics */
#define TAIL	40	/* in front of the last page's end */
#define LEN_MAX	(PAGES * 65536)
#define HUGE	(2ul << 20)

/* Other memory may have been mapped there since, so unmap it only once. */
static int unmap_from(struct vt_place *r, size_t off)
{
	if (munmap(r->base + off, r->room - off))
		return -errno;
	r->room = off;
	if (!off)
		r->base = NULL;
	return 0;
}

static bool of_file(enum vt_mem sort)
{
	return sort == VT_MEM_FILE || sort == VT_MEM_FILE_READ ||
	       sort == VT_MEM_SHARED || sort == VT_MEM_SHARED_READ_ONLY;
}

static bool is_shared(enum vt_mem sort)
{
	return sort == VT_MEM_SHARED || sort == VT_MEM_SHARED_READ_ONLY;
}

static bool was_read(enum vt_mem sort)
{
	return sort == VT_MEM_READ || sort == VT_MEM_HUGE || sort == VT_MEM_FILE_READ;
}

/**
 * vt_place_writable() - may the process write to the memory?
 */
bool vt_place_writable(const struct vt_place *r)
{
	return r->sort != VT_MEM_READ_ONLY && r->sort != VT_MEM_SHARED_READ_ONLY;
}

/* A file with other bytes than the test's, on a file system of disks if there is one */
static int make_file(size_t len)
{
	char name[] = "/var/tmp/vt-place-XXXXXX";
	int fd = mkstemp(name);
	uint8_t *bytes;
	int ret = 0;

	if (fd < 0)
		return -errno;
	unlink(name);
	bytes = malloc(len);
	if (!bytes)
		ret = -ENOMEM;
	if (!ret) {
		vt_fill(bytes, len, 99, 0);
		ret = write(fd, bytes, len) == (ssize_t)len ? 0 : -EIO;
	}
	free(bytes);
	if (!ret)
		return fd;
	close(fd);
	return ret;
}

/* Map @r->room bytes of a kind. */
static int map_kind(struct vt_place *r)
{
	bool huge = r->sort == VT_MEM_HUGE;
	int fd = of_file(r->sort) ? make_file(r->room) : -1;
	int err;

	if (of_file(r->sort) && fd < 0)
		return fd;
	r->base = vt_map(r->room, huge ? r->room : (size_t)sysconf(_SC_PAGESIZE),
			 is_shared(r->sort) ? MAP_SHARED : MAP_PRIVATE, fd);
	err = errno;
	if (fd >= 0)
		close(fd);
	if (!r->base)
		return -err;
	/* A kernel without huge pages does not know the advice. */
	if (huge)
		madvise(r->base, r->room, MADV_HUGEPAGE);
	return 0;
}

static void read_pages(const struct vt_place *r)
{
	volatile uint8_t *p = r->base;
	size_t off;

	for (off = 0; off < r->room; off += sysconf(_SC_PAGESIZE))
		(void)p[off];
}

/**
 * vt_place_map() - create memory for a region
 * @r: filled in; call vt_place_close() even after a failure
 * @sort: the kind of memory
 *
 * Writable memory is not written to yet, so that it is registered in that state.
 *
 * Return: 0 or a negative errno
 */
int vt_place_map(struct vt_place *r, enum vt_mem sort)
{
	size_t page = sysconf(_SC_PAGESIZE);
	int ret;

	memset(r, 0, sizeof(*r));
	r->sort = sort;
	r->room = sort == VT_MEM_HUGE ? HUGE : PAGES * page;
	ret = map_kind(r);
	if (ret)
		return ret;
	r->p = r->base + START;
	r->len = PAGES * page - START - TAIL;
	r->iova = (uintptr_t)r->p;
	if (was_read(sort))
		read_pages(r);
	if (!vt_place_writable(r)) {
		vt_fill(r->p, r->len, 7, 0);
		return mprotect(r->base, r->room, PROT_READ) ? -errno : 0;
	}
	if (sort == VT_MEM_HOLE)
		return unmap_from(r, r->room - page);
	return sort == VT_MEM_NONE ? unmap_from(r, 0) : 0;
}

/**
 * vt_place_reg() - register the memory of a region
 *
 * Return: 0 or a negative errno
 */
int vt_place_reg(struct vt_place *r, struct ibv_pd *pd, int access)
{
	errno = 0;
	r->mr = ibv_reg_mr(pd, r->p, r->len, access);
	if (!r->mr)
		return errno ? -errno : -EPROTO;
	r->iova = access & IBV_ACCESS_ZERO_BASED ? 0 : (uintptr_t)r->p;
	return 0;
}

/**
 * vt_place_open() - plain memory, registered, and filled with vt_fill(..., 7, 0) then
 */
int vt_place_open(struct vt_place *r, struct ibv_pd *pd, int access)
{
	int ret = vt_place_map(r, VT_MEM_PLAIN);

	if (!ret)
		ret = vt_place_reg(r, pd, access);
	if (!ret)
		vt_fill(r->p, r->len, 7, 0);
	return ret;
}

void vt_place_close(struct vt_place *r)
{
	if (r->mr)
		ibv_dereg_mr(r->mr);
	if (r->base)
		munmap(r->base, r->room);
	memset(r, 0, sizeof(*r));
}

struct ibv_sge vt_place_sge(const struct vt_place *r, size_t off,
			     uint32_t len)
{
	return (struct ibv_sge){
		.addr = r->iova + off,
		.length = len,
		.lkey = r->mr->lkey,
	};
}

/**
 * vt_op() - execute one operation
 * @ep: where it is posted
 * @op: opcode; an atomic adds 1
 * @local: the only part, or NULL
 * @remote: the target, unless it is a SEND
 *
 * Return: the status it completes with, or a negative errno
 */
int vt_op(struct vt_ep *ep, enum ibv_wr_opcode op, struct ibv_sge *local,
	  struct vt_remote remote)
{
	static uint64_t serial = 0x0be40000;
	struct ibv_send_wr wr = {
		.wr_id = ++serial,
		.opcode = op,
		.sg_list = local,
		.num_sge = !!local,
		.send_flags = IBV_SEND_SIGNALED,
	};

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr.wr.atomic.remote_addr = remote.addr;
		wr.wr.atomic.rkey = remote.rkey;
		wr.wr.atomic.compare_add = 1;
	} else {
		wr.wr.rdma.remote_addr = remote.addr;
		wr.wr.rdma.rkey = remote.rkey;
	}
	return vt_outcome(ep, &wr);
}

/*
 * One operation whose result is known; @to is written if the operation is
 * allowed
 */
struct step {
	const char *what;
	struct vt_ep *ep;
	enum ibv_wr_opcode op;
	struct ibv_sge local;
	struct vt_remote remote;
	int status;
	const uint8_t *from;
	const uint8_t *to;
	size_t len;
};

static bool step_run(struct vt_pair *pair, struct step *s)
{
	static uint8_t before[LEN_MAX];
	bool good = s->status == IBV_WC_SUCCESS;
	int status, ret = 0;

	memcpy(before, good ? s->from : s->to, s->len);
	status = vt_op(s->ep, s->op, &s->local, s->remote);
	if (status != s->status)
		printf("# %s: status %d (%s), expected %d (%s)\n", s->what,
		       status, ibv_wc_status_str(status), s->status,
		       ibv_wc_status_str(s->status));
	if (status != IBV_WC_SUCCESS)
		ret = vt_pair_recover(pair);
	if (ret)
		printf("# %s: reset: %s\n", s->what, strerror(-ret));
	if (status != s->status || ret)
		return false;
	if (!memcmp(s->to, before, s->len))
		return true;
	printf("# %s: %s\n", s->what, good ? "other data arrived" :
	       "it failed, and memory was written");
	return false;
}

static uint8_t *scratch(struct vt_ep *ep, size_t len, struct ibv_sge *sge)
{
	static uint32_t seed = 1000;

	*sge = vt_sge(&ep->buf, VT_GUARD, len);
	vt_fill(ep->buf.p + VT_GUARD, len, ++seed, 0);
	return ep->buf.p + VT_GUARD;
}

/* The process writes, and RDMA must see the data: the region must have the process's pages. */
static void rewrite(const struct vt_place *r, size_t off, size_t len)
{
	static uint32_t seed = 500000;

	if (vt_place_writable(r))
		vt_fill(r->p + off, len, ++seed, 0);
}

/**
 * vt_local_allows() - whether local operations on a region succeed or fail as
 * @access says
 * @pair: connected
 * @r: on the PD of pair->b
 * @access: the rights it should have
 */
bool vt_local_allows(struct vt_pair *pair, struct vt_place *r, int access)
{
	struct ibv_sge sge;
	uint8_t *far = scratch(&pair->a, r->len, &sge);
	struct step s = {
		.what = "local read", .ep = &pair->b, .op = IBV_WR_RDMA_WRITE,
		.local = vt_place_sge(r, 0, r->len),
		.remote = { sge.addr, pair->a.buf.mr->rkey },
		.from = r->p, .to = far, .len = r->len,
	};
	bool ok;

	rewrite(r, 0, r->len);
	ok = step_run(pair, &s);
	scratch(&pair->a, r->len, &sge);
	s.what = "local write";
	s.op = IBV_WR_RDMA_READ;
	s.from = far;
	s.to = r->p;
	if (!(access & IBV_ACCESS_LOCAL_WRITE))
		s.status = IBV_WC_LOC_PROT_ERR;
	return step_run(pair, &s) && ok;
}

static bool atomic_allowed(struct vt_pair *pair, struct vt_place *r,
			   struct vt_remote remote, size_t off, bool allowed)
{
	struct ibv_sge sge;
	uint8_t *near = scratch(&pair->a, 8, &sge);
	struct step s = {
		.what = "remote atomic", .ep = &pair->a,
		.op = IBV_WR_ATOMIC_FETCH_AND_ADD, .local = sge,
		.remote = remote, .from = r->p + off, .to = near, .len = 8,
	};
	uint64_t value;
	bool ok;

	if (pair->a.dev.attr.atomic_cap == IBV_ATOMIC_NONE)
		return true;
	memcpy(&value, r->p + off, 8);
	if (!allowed) {
		s.status = IBV_WC_REM_ACCESS_ERR;
		s.to = r->p + off;
	}
	ok = step_run(pair, &s);
	value += allowed;
	if (!memcmp(&value, r->p + off, 8))
		return ok;
	printf("# remote atomic: the memory does not hold the sum\n");
	return false;
}

/**
 * vt_remote_allows() - whether the peer's operations by a key succeed or fail
 * as @access says
 * @pair: connected
 * @r: on the PD of pair->b
 * @remote: the key, of the region or of a window of it
 * @off: which byte of the region @remote names
 * @len: how many bytes from there are tried
 * @access: the rights it should have
 */
bool vt_remote_allows(struct vt_pair *pair, struct vt_place *r,
		      struct vt_remote remote, size_t off, size_t len,
		      int access)
{
	struct ibv_sge sge;
	uint8_t *near = scratch(&pair->a, len, &sge);
	struct step s = {
		.what = "remote write", .ep = &pair->a,
		.op = IBV_WR_RDMA_WRITE, .local = sge, .remote = remote,
		.from = near, .to = r->p + off, .len = len,
	};
	bool ok;

	if (!(access & IBV_ACCESS_REMOTE_WRITE))
		s.status = IBV_WC_REM_ACCESS_ERR;
	ok = step_run(pair, &s);
	scratch(&pair->a, len, &sge);
	rewrite(r, off, len);
	s.what = "remote read";
	s.op = IBV_WR_RDMA_READ;
	s.from = r->p + off;
	s.to = near;
	s.status = IBV_WC_SUCCESS;
	if (!(access & IBV_ACCESS_REMOTE_READ))
		s.status = IBV_WC_REM_ACCESS_ERR;
	ok &= step_run(pair, &s);
	return atomic_allowed(pair, r, remote, off,
			      access & IBV_ACCESS_REMOTE_ATOMIC) && ok;
}

/**
 * vt_place_allows() - whether a region allows exactly what @access says,
 * locally and remotely
 * @pair: connected
 * @r: on the PD of pair->b
 * @access: the rights it should have
 *
 * Each allowed operation moves all of the region, and the data is compared.
 */
bool vt_place_allows(struct vt_pair *pair, struct vt_place *r, int access)
{
	struct vt_remote remote = { r->iova, r->mr->rkey };
	bool ok = vt_local_allows(pair, r, access);

	return vt_remote_allows(pair, r, remote, 0, r->len, access) && ok;
}
