// SPDX-License-Identifier: GPL-2.0
#include "work.h"

#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "grh.h"
#include "paths.h"
#include "pattern.h"

#define MAX_SGES	32

/* The wr_id of a request that must complete next */
#define QUIET_ID	0x7175696574ull

/* IB_WC_WITH_INVALIDATE */
#define KERNEL_WC_WITH_INVALIDATE	4

uint64_t vt_now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000ull + ts.tv_nsec / 1000;
}

uint64_t vt_now_ms(void)
{
	return vt_now_us() / 1000;
}

/**
 * vt_qp_reaches() - wait until a QP is in a state
 */
bool vt_qp_reaches(const struct ibv_qp *qp, enum ibv_qp_state state)
{
	return VT_UNTIL(vt_qp_state(qp) == (int)state);
}

/**
 * vt_wr() - a signalled request
 * @sge: its only part, or NULL
 */
struct ibv_send_wr vt_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge)
{
	return (struct ibv_send_wr){
		.wr_id = wr_id, .opcode = opcode, .send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge, .num_sge = !!sge,
	};
}

/**
 * vt_rdma_wr() - the same for memory of the peer
 */
struct ibv_send_wr vt_rdma_wr(enum ibv_wr_opcode opcode, uint64_t wr_id, struct ibv_sge *sge,
			      uint64_t addr, uint32_t rkey)
{
	struct ibv_send_wr wr = vt_wr(opcode, wr_id, sge);

	wr.wr.rdma.remote_addr = addr;
	wr.wr.rdma.rkey = rkey;
	return wr;
}

static void wr_data(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	struct ibv_data_buf bufs[MAX_SGES];
	int i;

	if (!(wr->send_flags & IBV_SEND_INLINE)) {
		ibv_wr_set_sge_list(qpx, wr->num_sge, wr->sg_list);
		return;
	}
	for (i = 0; i < wr->num_sge; i++) {
		bufs[i].addr = (void *)(uintptr_t)wr->sg_list[i].addr;
		bufs[i].length = wr->sg_list[i].length;
	}
	ibv_wr_set_inline_data_list(qpx, wr->num_sge, bufs);
}

static int wr_opcode(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	switch (wr->opcode) {
	case IBV_WR_SEND:
		ibv_wr_send(qpx);
		return 0;
	case IBV_WR_SEND_WITH_IMM:
		ibv_wr_send_imm(qpx, wr->imm_data);
		return 0;
	case IBV_WR_SEND_WITH_INV:
		ibv_wr_send_inv(qpx, wr->invalidate_rkey);
		return 0;
	case IBV_WR_RDMA_WRITE:
		ibv_wr_rdma_write(qpx, wr->wr.rdma.rkey,
				  wr->wr.rdma.remote_addr);
		return 0;
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		ibv_wr_rdma_write_imm(qpx, wr->wr.rdma.rkey,
				      wr->wr.rdma.remote_addr, wr->imm_data);
		return 0;
	case IBV_WR_RDMA_READ:
		ibv_wr_rdma_read(qpx, wr->wr.rdma.rkey,
				 wr->wr.rdma.remote_addr);
		return 0;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		ibv_wr_atomic_fetch_add(qpx, wr->wr.atomic.rkey,
					wr->wr.atomic.remote_addr,
					wr->wr.atomic.compare_add);
		return 0;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		ibv_wr_atomic_cmp_swp(qpx, wr->wr.atomic.rkey,
				      wr->wr.atomic.remote_addr,
				      wr->wr.atomic.compare_add,
				      wr->wr.atomic.swap);
		return 0;
	case IBV_WR_LOCAL_INV:
		ibv_wr_local_inv(qpx, wr->invalidate_rkey);
		return 0;
	case IBV_WR_BIND_MW:
		ibv_wr_bind_mw(qpx, wr->bind_mw.mw, wr->bind_mw.rkey,
			       &wr->bind_mw.bind_info);
		return 0;
	default:
		return EINVAL;
	}
}

static bool op_has_data(enum ibv_wr_opcode op)
{
	return op != IBV_WR_LOCAL_INV && op != IBV_WR_BIND_MW;
}

static int post_wr_api(struct ibv_qp_ex *qpx, const struct ibv_send_wr *wr)
{
	int ret;

	ibv_wr_start(qpx);
	for (; wr; wr = wr->next) {
		qpx->wr_id = wr->wr_id;
		qpx->wr_flags = wr->send_flags;
		ret = wr_opcode(qpx, wr);
		if (ret) {
			ibv_wr_abort(qpx);
			return ret;
		}
		if (qpx->qp_base.qp_type == IBV_QPT_UD)
			ibv_wr_set_ud_addr(qpx, wr->wr.ud.ah, wr->wr.ud.remote_qpn,
					   wr->wr.ud.remote_qkey);
		if (op_has_data(wr->opcode))
			wr_data(qpx, wr);
	}
	return ibv_wr_complete(qpx);
}

/**
 * vt_post() - post a list of send WRs, mostly of one, by the API the endpoint was made for
 *
 * Return: 0 or a negative errno
 */
int vt_post(struct vt_ep *ep, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad = NULL;

	if (ep->qpx)
		return -post_wr_api(ep->qpx, wr);
	return -ibv_post_send(ep->qp, wr, &bad);
}

int vt_post_recv(struct vt_ep *ep, uint64_t wr_id, struct ibv_sge *sge, int n)
{
	struct ibv_recv_wr *bad = NULL, wr = {
		.wr_id = wr_id,
		.sg_list = sge,
		.num_sge = n,
	};

	if (ep->srq)
		return -ibv_post_srq_recv(ep->srq, &wr, &bad);
	return -ibv_post_recv(ep->qp, &wr, &bad);
}

/**
 * vt_poll() - poll a CQ until there are @n completions or the time is up
 *
 * Return: how many there were, or a negative errno
 */
int vt_poll(struct ibv_cq *cq, struct ibv_wc *wc, int n, int timeout_ms)
{
	uint64_t end = vt_now_ms() + timeout_ms;
	int got = 0, ret;

	do {
		ret = ibv_poll_cq(cq, n - got, wc + got);
		if (ret < 0)
			return -EIO;
		got += ret;
		if (!ret)
			sched_yield();
	} while (got < n && vt_now_ms() <= end);
	return got;
}

/**
 * vt_wait() - wait for one completion
 *
 * Return: 0, or -ETIMEDOUT
 */
int vt_wait(struct ibv_cq *cq, struct ibv_wc *wc)
{
	int ret = vt_poll(cq, wc, 1, VT_TIMEOUT_MS);

	if (ret == 1)
		return 0;
	if (!ret)
		printf("# no completion within %d ms\n", VT_TIMEOUT_MS);
	return ret ? ret : -ETIMEDOUT;
}

/**
 * vt_no_completion() - check that no completion is there, or comes within some time
 *
 * What comes later is not seen. Where something can be sent that must complete next, do that:
 * vt_sq_quiet(), vt_rq_quiet().
 */
bool vt_no_completion(struct ibv_cq *cq, int ms)
{
	struct ibv_wc wc;

	if (!vt_poll(cq, &wc, 1, ms))
		return true;
	printf("# unexpected completion: wr_id %llu %s\n",
	       (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status));
	return false;
}

/**
 * vt_sq_quiet() - no completion of the send queue is there, or on its way
 * @ep: an endpoint that works, or whose QP is in error
 *
 * Requests complete in order. So an empty one, which is posted now, completes next, well or not.
 * That a completion that has not come within some time does not come at all would be a guess.
 */
bool vt_sq_quiet(struct vt_ep *ep)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, QUIET_ID, NULL);

	if (vt_is_ud(ep)) {
		wr.opcode = IBV_WR_SEND;
		vt_wr_to_peer(ep, &wr);
	}
	return !vt_post(ep, &wr) && vt_status(ep->scq, QUIET_ID) >= 0;
}

/**
 * vt_rq_quiet() - no completion of the receive queue is there, or on its way
 * @ep: no receive is posted
 * @from: its peer, or NULL: the QP of @ep is in error
 *
 * As vt_sq_quiet(): an empty message, which is sent now, is the next one.
 */
bool vt_rq_quiet(struct vt_ep *ep, struct vt_ep *from)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, QUIET_ID, NULL);

	if (vt_post_recv(ep, QUIET_ID, NULL, 0))
		return false;
	if (from && (vt_post(from, &wr) || vt_status(from->scq, QUIET_ID)))
		return false;
	return vt_status(ep->rcq, QUIET_ID) >= 0;
}

/**
 * vt_status() - wait for the next completion, which must be that of @wr_id
 *
 * Return: its status, or a negative errno
 */
int vt_status(struct ibv_cq *cq, uint64_t wr_id)
{
	struct ibv_wc wc;
	int ret = vt_wait(cq, &wc);

	if (ret)
		return ret;
	if (wc.wr_id == wr_id)
		return wc.status;
	printf("# wr_id is %llu, not %llu\n", (unsigned long long)wc.wr_id,
	       (unsigned long long)wr_id);
	return -EBADMSG;
}

/**
 * vt_cq_event() - wait for an event of the endpoint's channel, and acknowledge it
 * @of: the CQ that it must be of
 *
 * Return: 0, -ETIMEDOUT, or another negative errno
 */
int vt_cq_event(struct vt_ep *ep, const struct ibv_cq *of, int timeout_ms)
{
	struct pollfd fd = { .fd = ep->chan->fd, .events = POLLIN };
	struct ibv_cq *cq;
	void *context;

	if (poll(&fd, 1, timeout_ms) != 1)
		return -ETIMEDOUT;
	if (ibv_get_cq_event(ep->chan, &cq, &context))
		return -errno;
	ibv_ack_cq_events(cq, 1);
	return cq == of ? 0 : -EBADMSG;
}

/**
 * vt_outcome() - post a signalled request and wait for it; no other may be
 * pending
 *
 * Return: the status it completes with, or a negative errno
 */
int vt_outcome(struct vt_ep *ep, struct ibv_send_wr *wr)
{
	int ret = vt_post(ep, wr);

	return ret ? ret : vt_status(ep->scq, wr->wr_id);
}

static bool same(const char *field, uint64_t seen, uint64_t want)
{
	if (seen == want)
		return true;
	printf("# wc.%s is 0x%llx, not 0x%llx\n", field,
	       (unsigned long long)seen, (unsigned long long)want);
	return false;
}

static enum ibv_wc_opcode wc_opcode(enum ibv_wr_opcode op)
{
	switch (op) {
	case IBV_WR_RDMA_READ:
		return IBV_WC_RDMA_READ;
	case IBV_WR_RDMA_WRITE:
	case IBV_WR_RDMA_WRITE_WITH_IMM:
		return IBV_WC_RDMA_WRITE;
	case IBV_WR_ATOMIC_FETCH_AND_ADD:
		return IBV_WC_FETCH_ADD;
	case IBV_WR_ATOMIC_CMP_AND_SWP:
		return IBV_WC_COMP_SWAP;
	default:
		return IBV_WC_SEND;
	}
}

static uint32_t list_len(const struct ibv_send_wr *wr)
{
	uint32_t len = 0;
	int i;

	for (i = 0; i < wr->num_sge; i++)
		len += wr->sg_list[i].length;
	return len;
}

/* Only these operations bring data back, so only these report a length. */
static bool op_returns_data(enum ibv_wr_opcode op)
{
	return op == IBV_WR_RDMA_READ || op == IBV_WR_ATOMIC_CMP_AND_SWP ||
	       op == IBV_WR_ATOMIC_FETCH_AND_ADD;
}

/**
 * vt_wc_send_ok() - whether each field of a requester's successful completion
 * is right
 */
bool vt_wc_send_ok(const struct vt_ep *ep, const struct ibv_wc *wc,
		   const struct ibv_send_wr *wr)
{
	bool ok = same("status", wc->status, IBV_WC_SUCCESS);

	ok &= same("wr_id", wc->wr_id, wr->wr_id);
	ok &= same("qp_num", wc->qp_num, ep->qp->qp_num);
	ok &= same("opcode", wc->opcode, wc_opcode(wr->opcode));
	if (op_returns_data(wr->opcode))
		ok &= same("byte_len", wc->byte_len, list_len(wr));
	return ok;
}

/* Adapters set sl to flags: UDP, and the IP version. rdma_rxe does not */
static unsigned int packet_kind(const struct vt_ep *ep)
{
	if (vt_on_path("to_rxe"))
		return 0;
	return ep->conf.family == AF_INET ? 0xa : 0x9;
}

/**
 * vt_wc_recv_ok() - whether each field of a receive's successful completion is
 * right
 * @ep: the receiver
 * @wc: the completion
 * @wr_id: of the receive
 * @wr: what the peer posted
 * @src_qp: the peer's number
 */
bool vt_wc_recv_ok(const struct vt_ep *ep, const struct ibv_wc *wc,
		   uint64_t wr_id, const struct ibv_send_wr *wr,
		   uint32_t src_qp)
{
	bool write = wr->opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
	bool inv = wr->opcode == IBV_WR_SEND_WITH_INV;
	bool imm = vt_op_has_imm(wr->opcode);
	bool ok = same("status", wc->status, IBV_WC_SUCCESS);
	unsigned int flags = imm ? IBV_WC_WITH_IMM : inv ? IBV_WC_WITH_INV : 0;
	bool ud = vt_is_ud(ep);

	/* rdma_rxe reports the kernel's value of this flag */
	if (inv && vt_on_path("to_rxe"))
		flags = KERNEL_WC_WITH_INVALIDATE;
	ok &= same("wr_id", wc->wr_id, wr_id);
	ok &= same("qp_num", wc->qp_num, ep->qp->qp_num);
	/* promised for UD only; if it is set, it must be right */
	if (wc->src_qp || ud)
		ok &= same("src_qp", wc->src_qp, src_qp);
	ok &= same("opcode", wc->opcode,
		   write ? IBV_WC_RECV_RDMA_WITH_IMM : IBV_WC_RECV);
	ok &= same("byte_len", wc->byte_len,
		   list_len(wr) + (ud ? VT_GRH_LEN : 0));
	/* means nothing for connections either: IBV_WC_GRH */
	ok &= same("wc_flags", wc->wc_flags & (ud ? ~0 : ~IBV_WC_GRH),
		   ud ? flags | IBV_WC_GRH : flags);
	ok &= same("pkey_index", wc->pkey_index, 0);
	ok &= same("slid", wc->slid, 0);
	ok &= same("sl", wc->sl, ud ? packet_kind(ep) : 0);
	ok &= same("dlid_path_bits", wc->dlid_path_bits, 0);
	if (imm)
		ok &= same("imm_data", wc->imm_data, wr->imm_data);
	if (inv)
		ok &= same("invalidated_rkey", wc->invalidated_rkey,
			   wr->invalidate_rkey);
	return ok;
}

bool vt_op_receives(enum ibv_wr_opcode op)
{
	return vt_op_sends(op) || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

bool vt_op_sends(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND || op == IBV_WR_SEND_WITH_IMM ||
	       op == IBV_WR_SEND_WITH_INV;
}

bool vt_op_has_imm(enum ibv_wr_opcode op)
{
	return op == IBV_WR_SEND_WITH_IMM || op == IBV_WR_RDMA_WRITE_WITH_IMM;
}

const char *vt_op_name(enum ibv_wr_opcode op)
{
	static const char * const names[] = {
		[IBV_WR_RDMA_WRITE] = "WRITE",
		[IBV_WR_RDMA_WRITE_WITH_IMM] = "WRITE_IMM",
		[IBV_WR_SEND] = "SEND",
		[IBV_WR_SEND_WITH_IMM] = "SEND_IMM",
		[IBV_WR_SEND_WITH_INV] = "SEND_INV",
		[IBV_WR_RDMA_READ] = "READ",
		[IBV_WR_ATOMIC_CMP_AND_SWP] = "CMP_SWAP",
		[IBV_WR_ATOMIC_FETCH_AND_ADD] = "FETCH_ADD",
	};

	return op < sizeof(names) / sizeof(names[0]) ? names[op] : "?";
}

/**
 * struct lists - where a transfer's data is, at both ends
 * @local: the requester's list, which it posts
 * @remote: the responder's list: of the receive, or the part that RDMA reaches
 */
struct lists {
	struct ibv_sge local[MAX_SGES];
	struct ibv_sge remote[MAX_SGES];
	/* @remote without the GRH in front */
	struct ibv_sge data[MAX_SGES];
	int nr_local;
	int nr_remote;
};

static int clamp_sges(const struct vt_ep *ep, int n)
{
	return n < (int)ep->conf.sges ? n : (int)ep->conf.sges;
}

static void make_lists(struct vt_pair *pair, const struct vt_xfer *x,
		       struct lists *l)
{
	bool read = x->op == IBV_WR_RDMA_READ;
	bool send = vt_op_sends(x->op);
	size_t grh = vt_is_ud(&pair->b) ? VT_GRH_LEN : 0;
	int local = clamp_sges(&pair->a, read ? x->dst_sges : x->src_sges);
	int remote = send ? clamp_sges(&pair->b, x->dst_sges) : 1;

	l->nr_local = vt_split(&pair->a.buf, l->local, local, x->len, x->zeros);
	l->nr_remote = vt_split(&pair->b.buf, l->remote, remote,
				grh + x->len + (send ? x->room : 0), x->zeros);
	vt_sges_skip(l->data, l->remote, l->nr_remote, grh);
}

/* Post both sides; the receive of a WRITE with immediate has no list. */
static int post_both(struct vt_pair *pair, struct ibv_send_wr *wr,
		     struct lists *l, uint64_t recv_id)
{
	bool send = wr->opcode != IBV_WR_RDMA_WRITE_WITH_IMM;
	int ret = 0;

	if (vt_op_receives(wr->opcode))
		ret = vt_post_recv(&pair->b, recv_id, l->remote,
				   send ? l->nr_remote : 0);
	return ret ? ret : vt_post(&pair->a, wr);
}

static bool check_completions(struct vt_pair *pair,
			      const struct ibv_send_wr *wr, uint64_t recv_id)
{
	struct ibv_wc wc;
	bool ok;

	ok = !vt_wait(pair->a.scq, &wc) && vt_wc_send_ok(&pair->a, &wc, wr);
	if (!vt_op_receives(wr->opcode))
		return ok;
	return !vt_wait(pair->b.rcq, &wc) &&
	       vt_wc_recv_ok(&pair->b, &wc, recv_id, wr,
			     pair->a.qp->qp_num) && ok;
}

static bool check_data(struct vt_pair *pair, const struct vt_xfer *x,
		       struct lists *l, uint32_t seed)
{
	bool ok = vt_check_sges(l->local, l->nr_local, x->len, seed) &&
		  vt_check_sges(l->data, l->nr_remote, x->len, seed);
	size_t grh = vt_is_ud(&pair->b) ? VT_GRH_LEN : 0;

	if (grh)
		ok &= vt_grh_ok(pair, l->remote, l->nr_remote, x->len,
				vt_op_has_imm(x->op));
	ok &= vt_buf_restore(&pair->a.buf, l->local, l->nr_local, x->len);
	ok &= vt_buf_restore(&pair->b.buf, l->remote, l->nr_remote,
			     grh + x->len);
	return ok;
}

/* A WRITE on UC completes before it has arrived: wait for the next message. */
static bool uc_settle(struct vt_pair *pair)
{
	struct ibv_send_wr wr = vt_wr(IBV_WR_SEND, 0, NULL);

	return !vt_post_recv(&pair->b, 1, NULL, 0) && !vt_post(&pair->a, &wr) &&
	       vt_status(pair->a.scq, 0) == IBV_WC_SUCCESS &&
	       vt_status(pair->b.rcq, 1) == IBV_WC_SUCCESS;
}

/**
 * vt_wr_to_peer() - address a request to the peer that a UD endpoint was
 *	connected to
 */
void vt_wr_to_peer(const struct vt_ep *ep, struct ibv_send_wr *wr)
{
	wr->wr.ud.ah = ep->ah;
	wr->wr.ud.remote_qpn = ep->peer.qpn;
	wr->wr.ud.remote_qkey = ep->conf.qkey;
}

/**
 * vt_transfer() - move a message from one end to the other and check everything
 * @pair: a posts the request; READ brings the data from b to a
 * @x: which transfer
 *
 * Checks every byte of the message, the bytes around each part at both ends,
 * and every field of the completions. Restores the buffers.
 */
bool vt_transfer(struct vt_pair *pair, const struct vt_xfer *x)
{
	static uint32_t last;
	/* other threads transfer, too */
	uint32_t serial = __atomic_add_fetch(&last, 1, __ATOMIC_RELAXED);
	uint64_t recv_id = 0x8000000000000000ull + serial;
	bool read = x->op == IBV_WR_RDMA_READ, ok;
	struct lists l;
	struct ibv_send_wr wr = {
		.wr_id = 0xfedcba9800000000ull + serial,
		.sg_list = l.local,
		.opcode = x->op,
		.send_flags = x->flags | IBV_SEND_SIGNALED,
		.imm_data = htonl(0xa0b0c000 + serial),
	};

	make_lists(pair, x, &l);
	wr.num_sge = l.nr_local;
	if (vt_is_ud(&pair->a)) {
		vt_wr_to_peer(&pair->a, &wr);
	} else {
		wr.wr.rdma.remote_addr = l.remote[0].addr;
		wr.wr.rdma.rkey = x->rkey ? x->rkey : pair->b.buf.mr->rkey;
	}
	if (x->op == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = x->rkey;
	if (read)
		vt_fill_sges(l.remote, l.nr_remote, x->len, serial);
	else
		vt_fill_sges(l.local, l.nr_local, x->len, serial);

	ok = !post_both(pair, &wr, &l, recv_id) &&
	     check_completions(pair, &wr, recv_id);
	if (ok && pair->a.conf.qp_type == IBV_QPT_UC &&
	    x->op == IBV_WR_RDMA_WRITE)
		ok = uc_settle(pair);
	ok &= check_data(pair, x, &l, serial);
	if (!ok)
		printf("# failed: %s of %zu bytes, %d -> %d parts%s, room %zu\n",
		       vt_op_name(x->op), x->len, x->src_sges, x->dst_sges,
		       x->zeros ? " with empty ones" : "", x->room);
	return ok;
}

/**
 * vt_transfer_lists() - repeat a transfer with lists of few and of many parts
 * @model: all other settings
 */
bool vt_transfer_lists(struct vt_pair *pair, const struct vt_xfer *model)
{
	static const int parts[] = { 1, 2, 3, MAX_SGES };
	const int n = sizeof(parts) / sizeof(parts[0]);
	struct vt_xfer x = *model;
	bool ok = true;
	int i;

	for (i = 0; i < n * n && ok; i++) {
		x.src_sges = parts[i / n];
		x.dst_sges = parts[i % n];
		ok = vt_transfer(pair, &x);
	}
	return ok;
}

/**
 * vt_pair_works() - whether each kind of operation works between two ends
 */
bool vt_pair_works(struct vt_pair *pair)
{
	static const enum ibv_wr_opcode ops[] = {
		IBV_WR_SEND, IBV_WR_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE,
		IBV_WR_RDMA_READ,
	};
	static const int nr_ops[] = {
		[IBV_QPT_RC] = 4, [IBV_QPT_UC] = 3, [IBV_QPT_UD] = 1,
	};
	int i, n = nr_ops[pair->a.conf.qp_type];
	bool ok = true;

	for (i = 0; i < n; i++)
		ok &= vt_transfer(pair, &(struct vt_xfer){
			.op = ops[i],
			.len = vt_is_ud(&pair->a) ? 901 : 9001,
			.src_sges = 2,
			.dst_sges = 3,
		});
	return ok;
}
