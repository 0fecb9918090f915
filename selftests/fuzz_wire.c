// SPDX-License-Identifier: GPL-2.0
/*
 * A fuzzer of received packets. It is guided by coverage if the module counts it (uml-checked). A
 * program is a list of steps: packets, and actions of the victims' process. The victims are QPs of
 * each kind, whose only peer is the fuzzer. It receives what they send, so its packets belong to
 * real connections. Then it lies: in fields, lengths, PSNs and the order of opcodes, in the ICRC,
 * with trains cut anywhere and other sources.
 *
 * The first programs are in fuzz/wire.programs. A program that executes a new edge is kept, and
 * is changed to make the next ones. "keep" lines in the output name those, so that
 *
 *   SMR_REPLAY=LOG ./fuzz_wire	runs the programs of an earlier run
 *   SMR_SEED=N ./fuzz_wire	draws the same numbers, and keeps programs that are new in this run
 *   SMR_FUZZ_SECONDS=N		for how long
 *
 * A finding is a splat, a write without a right to it, an impossible completion, or another
 * connection that stops working. The program is printed.
 *
 * beds: uml-checked uml
 * timeout: 150
 * boot: own
 * paths: wire
 */
#include "harness.h"
#include "cover.h"
#include "fail.h"
#include "roce.h"
#include "program.h"
#include "random.h"
#include "region.h"
#include "system.h"
#include "window.h"

#define SECONDS		40
#define BRIEFLY		14
#define PEER_QPN	0x300
#define PSN		0x1000
#define PKEY		0xffff
#define RECV_LEN	2048
#define RECVS		8
#define CLOSED_LEN	4096
#define MTU		1024
#define FAILSLAB	"/sys/kernel/debug/failslab/"

/* -- the victims */

enum { RC, RC6, UC, UD, ODP, XRC, NR_VICTIMS };

/**
 * struct victim - a QP whose peer is the fuzzer
 * @ep: all of it; of XRC, the QP is the receiving one
 * @ini: XRC: the sending one
 * @xrcd: XRC: the domain of @ep's SRQ
 * @closed: a region that no peer has rights on
 * @w: a window of type 2, and its region
 * @dead_key: of a region that was deregistered
 * @expected: the PSN that it expects
 * @asked: the PSNs of its first unanswered request, and of its last one
 * @waiting: it has sent a request that is not answered
 * @dirty: changed since vt_ep_connect()
 */
struct victim {
	struct vt_ep ep;
	struct ibv_qp *ini;
	struct ibv_xrcd *xrcd;
	struct ibv_mr *closed;
	uint8_t *closed_mem;
	struct vt_window w;
	uint32_t dead_key;
	uint32_t srqn;
	uint32_t expected;
	uint32_t asked, asked_last;
	bool waiting;
	bool dirty;
};

/* The counts that the last line prints */
struct counts {
	uint64_t programs, packets, lies, starved, kept, found;
};

FIXTURE(fuzz)
{
	struct vt_roce link;
	struct victim v[NR_VICTIMS];
	struct vt_pair healthy;
	struct vt_cover cover;
	struct counts counts;
	struct vt_corpus corpus;
	uint64_t random;
	unsigned long taint;
	int knobs[2];
	uint64_t starving;
	pthread_t beside;
	bool stop, broken;
};

static struct vt_conf victim_conf(int who)
{
	static const enum ibv_qp_type types[] = {
		[RC] = IBV_QPT_RC, [RC6] = IBV_QPT_RC, [UC] = IBV_QPT_UC, [UD] = IBV_QPT_UD,
		[ODP] = IBV_QPT_RC, [XRC] = IBV_QPT_RC,
	};
	struct vt_conf conf = vt_defaults;

	conf.qp_type = types[who];
	conf.family = who == RC6 ? AF_INET6 : AF_INET;
	conf.srq_depth = who == RC6 || who == XRC ? 2 * RECVS : 0;
	conf.cqe = 256;
	conf.timeout = 8;
	conf.retry_cnt = 2;
	conf.rnr_retry = 2;
	conf.min_rnr_timer = 1;
	conf.qp_access = VT_ACCESS_ALL;
	if (who == ODP)
		conf.buf_access |= IBV_ACCESS_ON_DEMAND;
	return conf;
}

/* Replace the endpoint's SRQ and QP by those of a domain. */
static int victim_make_xrc(struct victim *v)
{
	struct ibv_xrcd_init_attr domain = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_srq_init_attr_ex queue = {
		.attr = { .max_wr = 2 * RECVS, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC, .pd = v->ep.pd, .cq = v->ep.rcq,
	};
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_RECV, .comp_mask = IBV_QP_INIT_ATTR_XRCD,
	};

	ibv_destroy_qp(v->ep.qp);
	v->ep.qp = NULL;
	ibv_destroy_srq(v->ep.srq);
	v->ep.srq = NULL;
	v->xrcd = ibv_open_xrcd(v->ep.dev.ctx, &domain);
	if (!v->xrcd)
		return -errno;
	queue.xrcd = v->xrcd;
	init.xrcd = v->xrcd;
	v->ep.srq = ibv_create_srq_ex(v->ep.dev.ctx, &queue);
	v->ep.qp = v->ep.srq ? ibv_create_qp_ex(v->ep.dev.ctx, &init) : NULL;
	if (!v->ep.qp)
		return -errno;
	return -ibv_get_srq_num(v->ep.srq, &v->srqn);
}

static int victim_memory(struct victim *v)
{
	struct ibv_mr *mr;
	int ret;

	v->closed_mem = mmap(NULL, CLOSED_LEN, PROT_READ | PROT_WRITE,
			     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (v->closed_mem == MAP_FAILED)
		return -errno;
	vt_fill(v->closed_mem, CLOSED_LEN, 77, 0);
	v->closed = ibv_reg_mr(v->ep.pd, v->closed_mem, CLOSED_LEN, IBV_ACCESS_REMOTE_READ);
	mr = v->closed ? ibv_reg_mr(v->ep.pd, v->closed_mem, CLOSED_LEN, VT_ACCESS_ALL) : NULL;
	if (!mr)
		return -errno;
	v->dead_key = mr->rkey;
	ret = -ibv_dereg_mr(mr);
	return ret ? ret : vt_window_open(&v->w, &v->ep, IBV_MW_TYPE_2);
}

static int victim_open(struct victim *v, int who)
{
	struct vt_conf conf = victim_conf(who);
	int ret = vt_ep_open(&v->ep, &conf, 0);

	if (!ret && who == XRC)
		ret = victim_make_xrc(v);
	v->dirty = true;
	return ret ? ret : victim_memory(v);
}

static void victim_close(struct victim *v)
{
	if (v->ep.qp)
		ibv_destroy_qp(v->ep.qp);
	v->ep.qp = NULL;
	vt_window_close(&v->w);
	if (v->closed)
		ibv_dereg_mr(v->closed);
	if (v->ep.srq)
		ibv_destroy_srq(v->ep.srq);
	v->ep.srq = NULL;
	if (v->xrcd)
		ibv_close_xrcd(v->xrcd);
	vt_ep_close(&v->ep);
	if (v->closed_mem)
		munmap(v->closed_mem, CLOSED_LEN);
}

static int victim_recv(struct victim *v, int n)
{
	struct ibv_sge sge = vt_sge(&v->ep.buf, 0, RECV_LEN);
	int ret = 0;

	while (n-- && !ret) {
		sge.addr = (uintptr_t)v->ep.buf.p + n % RECVS * RECV_LEN;
		ret = vt_post_recv(&v->ep, n, &sge, 1);
	}
	return ret;
}

static union ibv_gid peer_gid(const struct vt_roce *link, bool ipv6)
{
	union ibv_gid gid = { .raw = { [10] = 0xff, [11] = 0xff } };

	if (ipv6)
		memcpy(gid.raw, &link->saddr6, 16);
	else
		memcpy(gid.raw + 12, &link->saddr, 4);
	return gid;
}

/* Connect again, unless the connection is unused. */
static int victim_connect(FIXTURE_DATA(fuzz) *self, int who)
{
	struct victim *v = &self->v[who];
	struct vt_addr to = {
		.gid = peer_gid(&self->link, who == RC6), .qpn = PEER_QPN + who, .psn = PSN,
	};
	int ret;

	if (!v->dirty)
		return 0;
	ret = vt_qp_reset(v->ep.qp);
	if (!ret)
		ret = vt_qp_init(v->ep.qp, &v->ep.conf);
	if (!ret && who == XRC)
		ret = vt_qp_rtr(v->ep.qp, &v->ep.conf, v->ep.dev.gid_index, &to);
	else if (!ret)
		ret = vt_qp_rtr(v->ep.qp, &v->ep.conf, v->ep.dev.gid_index, &to) ?:
		      vt_qp_rts(v->ep.qp, &v->ep.conf);
	if (ret)
		return ret;
	if (who == UD && !v->ep.ah) {
		struct ibv_ah_attr attr = vt_ah_attr(v->ep.dev.gid_index, &to.gid);

		v->ep.ah = ibv_create_ah(v->ep.pd, &attr);
		v->ep.peer = to;
	}
	v->expected = PSN;
	v->waiting = false;
	v->dirty = false;
	/* an SRQ may still have its receives */
	victim_recv(v, RECVS);
	return 0;
}

/* -- packets */

static uint32_t victim_key(FIXTURE_DATA(fuzz) *self, struct victim *v, int key)
{
	switch (key & 7) {
	case 0:
		return v->ep.buf.mr->rkey;
	case 1:
		return v->ep.buf.mr->rkey ^ 1u << (key >> 3 & 31);
	case 2:
		return self->v[(key >> 3 & 15) % NR_VICTIMS].ep.buf.mr->rkey;
	case 3:
		return v->closed->rkey;
	case 4:
		return v->w.mw->rkey;
	case 5:
		return v->dead_key;
	case 6:
		return 0;
	}
	return key >> 3;
}

static bool op_is_answer(int op)
{
	int base = op & 0x1f, transport = op & 0xe0;

	return (transport == 0 || transport == 0xa0) && base >= VT_OP_READ_RESPONSE_FIRST &&
	       base <= VT_OP_ATOMIC_ACK;
}

/* The address, key and length that an opcode has, in the order of the wire. */
static uint8_t *put_access(FIXTURE_DATA(fuzz) *self, struct victim *v, const struct vt_fuzz_step *s,
			   uint8_t *p)
{
	uint32_t key = victim_key(self, v, s->f[F_KEY]);
	uint8_t *base = key == v->closed->rkey ? v->closed_mem : v->ep.buf.p + RECVS * RECV_LEN;
	uint64_t va = (uintptr_t)base + (int64_t)s->f[F_OFF];

	switch (s->f[F_OP] & 0x1f) {
	case 0x1c:
		p = vt_put32(p, 1 + s->f[F_SUB]);
		/* fall through */
	case VT_OP_WRITE_FIRST:
	case VT_OP_WRITE_ONLY:
	case VT_OP_WRITE_ONLY + 1:
	case VT_OP_READ_REQUEST:
	case 0x1d:
		return vt_put32(vt_put32(vt_put64(p, va), key), s->f[F_LEN] + s->f[F_DMA]);
	case VT_OP_CMP_SWAP:
	case VT_OP_FETCH_ADD:
		return vt_put64(vt_put64(vt_put32(vt_put64(p, va), key), s->f[F_SUB]), s->f[F_DMA]);
	}
	return p;
}

/* The headers between BTH and payload */
static uint8_t *put_headers(FIXTURE_DATA(fuzz) *self, struct victim *v, const struct vt_fuzz_step *s,
			    uint8_t *p)
{
	int op = s->f[F_OP] & 0x1f, transport = s->f[F_OP] & 0xe0;

	if (transport == 0x60)
		p = vt_put32(vt_put32(p, v->ep.conf.qkey + s->f[F_SUB]), PEER_QPN + UD);
	if (transport == 0xa0 && !op_is_answer(s->f[F_OP]))
		p = vt_put32(p, v->srqn + s->f[F_SUB]);
	if (op_is_answer(s->f[F_OP])) {
		if (op != VT_OP_READ_RESPONSE_MIDDLE)
			p = vt_put32(p, s->f[F_AETH]);
		return op == VT_OP_ATOMIC_ACK ? vt_put64(p, s->f[F_SUB]) : p;
	}
	if (transport != 0x60)
		p = put_access(self, v, s, p);
	if (op == 3 || op == 5 || op == 9 || op == 11)
		p = vt_put32(p, s->f[F_SUB]);
	if (op == 0x16 || op == 0x17)
		p = vt_put32(p, victim_key(self, v, s->f[F_KEY] ? s->f[F_KEY] : 4));
	return p;
}

/* The PSN that is due, for a request or for an answer of this opcode */
static uint32_t psn_due(const struct victim *v, int op)
{
	if (!op_is_answer(op))
		return v->expected;
	return (op & 0x1f) >= VT_OP_ACK ? v->asked_last : v->asked;
}

static bool is_lie(const struct vt_fuzz_step *s)
{
	static const uint8_t lies[] = {
		F_PSN_OFF, F_KEY, F_OFF, F_DMA, F_AETH, F_FLAGS, F_ICRC, F_CUT, F_SPOOF, F_FAMILY, F_UDP, F_PKEY_OFF, F_QPN,
		F_GROUP,
	};
	int i;

	for (i = 0; i < (int)ARRAY_SIZE(lies); i++)
		if (s->f[lies[i]])
			return true;
	return false;
}

static void note_sent(struct victim *v, const struct vt_fuzz_step *s, unsigned int n)
{
	int op = s->f[F_OP];

	if (s->f[F_PSN_OFF] || s->f[F_ICRC] || s->f[F_CUT] || s->f[F_SPOOF])
		return;
	if (op_is_answer(op))
		v->asked = (v->asked + n) & 0xffffff;
	else if ((op & 0x1f) == VT_OP_READ_REQUEST)
		v->expected += 1 + (s->f[F_LEN] + s->f[F_DMA] - 1) / MTU;
	else
		v->expected += n;
	v->expected &= 0xffffff;
}

static void do_packet(FIXTURE_DATA(fuzz) *self, const struct vt_fuzz_step *s)
{
	int who = (uint32_t)s->f[F_WHO] % NR_VICTIMS;
	struct victim *v = &self->v[who];
	uint32_t len = (uint32_t)s->f[F_LEN] % 4200, pad = -len & 3;
	uint8_t data[64 + 4200 + 4], *p;
	struct vt_inject_frame frame = {
		.bth = {
			.opcode = s->f[F_OP], .flags = pad << 4 ^ s->f[F_FLAGS],
			.pkey = PKEY + s->f[F_PKEY_OFF], .qpn = v->ep.qp->qp_num + s->f[F_QPN],
			.psn = psn_due(v, s->f[F_OP]) + s->f[F_PSN_OFF], .ack_req = true,
		},
		.n = 1 + (uint32_t)s->f[F_N] % VT_MAX_TRAIN,
		.ipv6 = (who == RC6) ^ (s->f[F_FAMILY] & 1),
		.spoof = s->f[F_SPOOF], .cut = s->f[F_CUT], .bad_icrc = s->f[F_ICRC],
		.bad_len = s->f[F_UDP], .tos = s->f[F_TOS], .group = s->f[F_GROUP],
	};

	memset(data, 0, 64);
	p = put_headers(self, v, s, data);
	if (op_is_answer(s->f[F_OP]) && (s->f[F_OP] & 0x1f) >= VT_OP_ACK)
		len = pad = 0;
	if ((s->f[F_OP] & 0x1f) == VT_OP_READ_REQUEST && !(s->f[F_OP] & 0x40))
		len = pad = 0;
	vt_fill(p, len + pad, s->f[F_SUB], 0);
	if (!vt_inject_send(&self->link, &frame, data, p - data + len + pad)) {
		self->counts.packets += frame.n;
		self->counts.lies += is_lie(s);
		note_sent(v, s, frame.n);
	}
	v->dirty = true;
}

static void do_bytes(FIXTURE_DATA(fuzz) *self, const struct vt_fuzz_step *s)
{
	uint8_t data[2048];
	uint32_t len = (uint32_t)s->f[F_LEN] % sizeof(data);

	vt_fill(data, sizeof(data), s->f[F_SUB], 0);
	if (!vt_inject_bytes(&self->link, s->f[F_FAMILY] & 1, data, len)) {
		self->counts.packets++;
		self->counts.lies++;
	}
}

/* Learn the victims' PSNs from the packets that they have sent. */
static void hear(FIXTURE_DATA(fuzz) *self)
{
	struct vt_said said;
	struct victim *v;
	uint32_t who;

	while (vt_inject_said(&self->link, &said)) {
		who = said.bth.qpn - PEER_QPN;
		if (who >= NR_VICTIMS)
			continue;
		v = &self->v[who];
		if (op_is_answer(said.bth.opcode)) {
			/* not for READs: their PSNs were counted when they were sent */
			if ((said.bth.opcode & 0x1f) == VT_OP_ACK && said.aeth >> 29 == 3)
				v->expected = said.bth.psn;
			continue;
		}
		if (!v->waiting)
			v->asked = said.bth.psn;
		v->waiting = true;
		v->asked_last = (said.bth.psn + said.n - 1) & 0xffffff;
	}
}

/* -- what the victims' process does */

static void do_post(FIXTURE_DATA(fuzz) *self, const struct vt_fuzz_step *s)
{
	struct victim *v = &self->v[(uint32_t)s->f[F_WHO] % NR_VICTIMS];
	struct ibv_sge sge = vt_sge(&v->ep.buf, v->ep.buf.len / 2, (uint32_t)s->f[F_LEN] % 9000);
	struct ibv_send_wr wr = {
		.wr_id = 1, .sg_list = &sge, .num_sge = 1, .opcode = (uint32_t)s->f[F_OP] % 12,
		.send_flags = IBV_SEND_SIGNALED | (s->f[F_FLAGS] & (IBV_SEND_FENCE | IBV_SEND_SOLICITED)),
		.wr.rdma = { .remote_addr = 0x10000 + (int64_t)s->f[F_OFF], .rkey = 0x1234 },
	};

	if (v == &self->v[XRC])
		return;
	if (wr.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wr.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		sge.length = 8;
		wr.wr.atomic.remote_addr = 0x10000;
		wr.wr.atomic.rkey = 0x1234;
	}
	if (wr.opcode == IBV_WR_LOCAL_INV || wr.opcode == IBV_WR_SEND_WITH_INV)
		wr.invalidate_rkey = victim_key(self, v, s->f[F_KEY]);
	if (wr.opcode == IBV_WR_BIND_MW)
		return;
	if (vt_is_ud(&v->ep))
		vt_wr_to_peer(&v->ep, &wr);
	vt_post(&v->ep, &wr);
	v->dirty = true;
}

static void do_state(struct victim *v, const struct vt_fuzz_step *s)
{
	static const enum ibv_qp_state states[] = {
		IBV_QPS_SQD, IBV_QPS_RTS, IBV_QPS_ERR, IBV_QPS_RESET,
	};
	struct ibv_qp_attr attr = { .qp_state = states[s->f[F_OP] & 3] };

	ibv_modify_qp(v->ep.qp, &attr, IBV_QP_STATE);
	v->dirty = true;
}

static void do_window(FIXTURE_DATA(fuzz) *self, const struct vt_fuzz_step *s)
{
	struct victim *v = &self->v[(uint32_t)s->f[F_WHO] % NR_VICTIMS];
	uint32_t rkey = ibv_inc_rkey(v->w.mw->rkey);
	struct ibv_send_wr wr = {
		.wr_id = 2, .send_flags = IBV_SEND_SIGNALED, .opcode = IBV_WR_BIND_MW,
		.bind_mw = {
			.mw = v->w.mw, .rkey = rkey,
			.bind_info = {
				.mr = v->w.mr, .addr = (uintptr_t)v->ep.buf.p + (uint32_t)s->f[F_OFF],
				.length = v->ep.buf.len - (uint32_t)s->f[F_OFF],
				.mw_access_flags = VT_ACCESS_ALL & ~IBV_ACCESS_LOCAL_WRITE,
			},
		},
	};

	if (v == &self->v[XRC] || vt_is_ud(&v->ep))
		return;
	if (s->f[F_OP] & 1) {
		wr.opcode = IBV_WR_LOCAL_INV;
		wr.invalidate_rkey = v->w.mw->rkey;
	}
	if (!vt_post(&v->ep, &wr) && wr.opcode == IBV_WR_BIND_MW)
		v->w.mw->rkey = rkey;
	v->dirty = true;
}

/* Let some of the next allocations in the whole kernel fail, also in softirqs. */
static void starve(FIXTURE_DATA(fuzz) *self, int times)
{
	char text[16];
	int len = snprintf(text, sizeof(text), "%d", times);

	if (self->knobs[0] < 0)
		return;
	__atomic_fetch_add(&self->starving, 1, __ATOMIC_RELAXED);
	if (write(self->knobs[0], text, len) != len || write(self->knobs[1], "50", 2) != 2)
		self->knobs[0] = -1;
}

/* End that, and count failed allocations. The file with the count cannot be opened earlier. */
static void starve_end(FIXTURE_DATA(fuzz) *self, int times)
{
	char text[16] = "";
	int fd;

	if (self->knobs[0] < 0 || write(self->knobs[1], "0", 1) != 1)
		return;
	__atomic_fetch_add(&self->starving, 1, __ATOMIC_RELAXED);
	fd = open(FAILSLAB "times", O_RDONLY);
	if (fd < 0)
		return;
	if (read(fd, text, sizeof(text) - 1) > 0)
		self->counts.starved += times - atoi(text);
	close(fd);
}

static void run_step(FIXTURE_DATA(fuzz) *self, const struct vt_fuzz_step *s)
{
	struct victim *v = &self->v[(uint32_t)s->f[F_WHO] % NR_VICTIMS];

	switch (s->what) {
	case S_PACKET:
		do_packet(self, s);
		break;
	case S_BYTES:
		do_bytes(self, s);
		break;
	case S_POST:
		do_post(self, s);
		break;
	case S_RECV:
		victim_recv(v, (uint32_t)s->f[F_N] % RECVS);
		break;
	case S_STATE:
		do_state(v, s);
		break;
	case S_PAGEOUT:
		madvise(self->v[ODP].ep.buf.p, self->v[ODP].ep.buf.len, MADV_DONTNEED);
		break;
	case S_WINDOW:
		do_window(self, s);
		break;
	case S_WAIT:
		usleep(500 * ((uint32_t)s->f[F_N] % 8));
		break;
	}
}

/* -- one program */

/* A completion with more data than was requested is a finding. */
static bool poll_all(struct victim *v)
{
	struct ibv_wc wc[16];
	bool ok = true;
	int i, n;

	while ((n = ibv_poll_cq(v->ep.rcq, 16, wc)) > 0)
		for (i = 0; i < n; i++) {
			if (wc[i].status == IBV_WC_SUCCESS &&
			    wc[i].opcode == IBV_WC_RECV && wc[i].byte_len > RECV_LEN)
				ok = false;
			if (wc[i].status > IBV_WC_TM_RNDV_INCOMPLETE)
				ok = false;
		}
	while (ibv_poll_cq(v->ep.scq, 16, wc) > 0)
		;
	return ok && n == 0;
}

static void run_program(FIXTURE_DATA(fuzz) *self, const struct vt_program *p)
{
	int i, times = 0;

	for (i = 0; i < p->n; i++) {
		if (p->step[i].what == S_STARVE) {
			times = 1 + (uint32_t)p->step[i].f[F_N] % 4;
			starve(self, times);
			continue;
		}
		run_step(self, &p->step[i]);
		if (times)
			starve_end(self, times);
		times = 0;
		hear(self);
	}
	if (times)
		starve_end(self, times);
}

/* What is wrong after a program, or NULL. */
static const char *judge(FIXTURE_DATA(fuzz) *self)
{
	int who;

	if (vt_tainted() != self->taint)
		return "the kernel has printed a splat";
	for (who = 0; who < NR_VICTIMS; who++) {
		if (!poll_all(&self->v[who]))
			return "a completion that cannot be";
		if (memcmp(self->v[who].closed_mem, self->v[RC].closed_mem, CLOSED_LEN) ||
		    (!who && vt_match(self->v[0].closed_mem, CLOSED_LEN, 77, 0) != CLOSED_LEN))
			return "memory without rights was written";
	}
	if (__atomic_load_n(&self->broken, __ATOMIC_RELAXED))
		return "another connection does not work";
	return NULL;
}

/* -- the run */

static void keep(FIXTURE_DATA(fuzz) *self, const struct vt_program *p, uint64_t n)
{
	static char text[4096];

	if (!vt_corpus_add(&self->corpus, p))
		return;
	self->counts.kept++;
	vt_program_print(p, text, sizeof(text));
	printf("# keep %llu: %s\n", (unsigned long long)n, text);
}

static void report(FIXTURE_DATA(fuzz) *self, const struct vt_program *p, uint64_t n,
		   const char *what)
{
	static char text[4096];

	self->counts.found++;
	vt_program_print(p, text, sizeof(text));
	printf("# found: %s, after program %llu: %s\n", what, (unsigned long long)n, text);
	self->taint = vt_tainted();
}

/* Run programs until the time is over. False: something was found. */
static bool run(FIXTURE_DATA(fuzz) *self, uint64_t seed, FILE *log, int seconds)
{
	uint64_t end = vt_now_ms() + 1000ull * seconds, n, r;
	uint64_t kept = log ? vt_log_kept(log) : 0;
	int seeds = self->corpus.n, who;
	struct vt_program p;
	const char *what;
	bool grows;

	for (n = 0; vt_now_ms() < end; n++) {
		r = vt_random_begin(seed, n);
		if (n < seeds)
			p = self->corpus.program[n];
		else
			vt_program_make(&self->corpus, &p, &r);
		for (who = 0; who < NR_VICTIMS; who++)
			if (victim_connect(self, who))
				self->v[who].dirty = true;
		run_program(self, &p);
		self->counts.programs++;
		what = judge(self);
		grows = vt_cover_grows(&self->cover);
		if (n >= seeds && (log ? n == kept : grows)) {
			keep(self, &p, n);
			if (log)
				kept = vt_log_kept(log);
		}
		if (what)
			report(self, &p, n, what);
		if (self->counts.found >= 3)
			break;
	}
	return !self->counts.found;
}

/*
 * Whether allocations have failed since @before, the value of an earlier call. The value is odd
 * while they fail
 */
static bool starved_since(FIXTURE_DATA(fuzz) *self, uint64_t before)
{
	return before % 2 || before != __atomic_load_n(&self->starving, __ATOMIC_RELAXED);
}

/*
 * Continuous traffic of another connection. If an allocation for it fails, it must be possible to
 * connect again.
 */
static void *beside(void *arg)
{
	FIXTURE_DATA(fuzz) *self = arg;
	uint64_t before;
	int tries;

	while (!__atomic_load_n(&self->stop, __ATOMIC_RELAXED)) {
		before = __atomic_load_n(&self->starving, __ATOMIC_RELAXED);
		if (vt_pair_works(&self->healthy)) {
			usleep(50000);
			continue;
		}
		for (tries = 0; tries < 20 && starved_since(self, before); tries++)
			if (!vt_pair_recover(&self->healthy))
				break;
		if (tries == 20 || !starved_since(self, before)) {
			__atomic_store_n(&self->broken, true, __ATOMIC_RELAXED);
			break;
		}
	}
	return NULL;
}

FIXTURE_SETUP(fuzz)
{
	int who;

	memset(self, 0, sizeof(*self));
	VT_SETUP(vt_inject_open(&self->link));
	for (who = 0; who < NR_VICTIMS; who++)
		VT_SETUP(victim_open(&self->v[who], who));
	VT_SETUP(vt_pair_open(&self->healthy, &vt_defaults));
	VT_SETUP(vt_corpus_open(&self->corpus, "fuzz/wire.programs", NR_VICTIMS));
	self->knobs[0] = self->knobs[1] = -1;
	if (vt_fail_prepare()) {
		vt_write_file(FAILSLAB "task-filter", "N");
		self->knobs[0] = open(FAILSLAB "times", O_WRONLY);
		self->knobs[1] = open(FAILSLAB "probability", O_WRONLY);
	}
	self->taint = vt_tainted();
	vt_cover_open(&self->cover);
}

FIXTURE_TEARDOWN(fuzz)
{
	int who;

	vt_cover_close(&self->cover);
	for (who = 0; who < NR_VICTIMS; who++)
		victim_close(&self->v[who]);
	vt_pair_close(&self->healthy);
	vt_roce_close(&self->link);
	vt_corpus_close(&self->corpus);
}

TEST_F_TIMEOUT(fuzz, wire, 100000)
{
	const char *name = getenv("SMR_REPLAY");
	FILE *log = name ? fopen(name, "r") : NULL;
	struct counts *c = &self->counts;
	uint64_t seed;

	ASSERT_TRUE(log || !name);
	seed = log ? vt_log_seed(log) : vt_seed();
	ASSERT_EQ(0, pthread_create(&self->beside, NULL, beside, self));
	EXPECT_TRUE(run(self, seed, log, vt_fuzz_seconds(SECONDS, BRIEFLY)));
	__atomic_store_n(&self->stop, true, __ATOMIC_RELAXED);
	pthread_join(self->beside, NULL);
	EXPECT_TRUE(vt_pair_works(&self->healthy));
	EXPECT_EQ(self->taint, vt_tainted());
	printf("# fuzz_wire: %llu programs, %llu packets, %llu of them lies, %llu allocations failed, %d blocks and %d edges covered, %llu programs kept, %llu found\n",
	       (unsigned long long)c->programs, (unsigned long long)c->packets,
	       (unsigned long long)c->lies, (unsigned long long)c->starved,
	       self->cover.blocks, self->cover.edges, (unsigned long long)c->kept,
	       (unsigned long long)c->found);
	/* some programs were worth keeping */
	EXPECT_LT(self->corpus.n - c->kept, c->programs);
	if (self->cover.fd >= 0)
		EXPECT_LT(1000, self->cover.blocks);
	if (self->knobs[1] >= 0)
		EXPECT_LT(0, c->starved);
	if (log)
		fclose(log);
}

VT_HARNESS_MAIN
