// SPDX-License-Identifier: GPL-2.0
/*
 * Each allocation of each verb fails once, when objects are created, changed and destroyed. The verb still succeeds, or
 * it fails for lack of memory and changes nothing. Then it succeeds when it is repeated, and as many objects can be
 * created as before. mr_fail_nth.c tests regions and windows in this way.
 *
 * beds: uml-checked
 * timeout: 240
 * boot: kmemleak
 * paths: host
 * params: max_objects=80
 */
#include "harness.h"

#include "fail.h"
#include "objects.h"
#include "raw.h"
#include "why.h"

/* More than any verb makes */
#define SWEEP_MAX	2000
/* More than the limit of any kind, except rules */
#define ROOM_MAX	100

FIXTURE(nth)
{
	struct vt_pair pair;
	struct vt_parts parts;
	struct vt_addr to;		/* a peer for QPs */
	struct vt_raw raw;
	struct ibv_qp *qp;		/* the QP that a verb changes */
	struct ibv_qp *ud;
	struct ibv_cq *cq;
	struct ibv_srq *srq;
	struct ibv_xrcd *xrcd;
	struct ibv_dm *dm;
	struct ibv_qp *sub;		/* the QP that has a counter */
	void *made;			/* by the verb */
	int fd;
};

#define S FIXTURE_DATA(nth)

/**
 * FIXTURE_VARIANT(nth) - a verb
 * @begin: before each try, without failures; or NULL. 0 or an errno
 * @make: calls the verb. Returns what it has made or changed; NULL with errno
 * @end: destroys that, or reverts it; or NULL. 0 or an errno
 * @room: count how many objects can be made, before and after
 * @driver: the driver has allocations of its own, and gives their reason
 */
FIXTURE_VARIANT(nth)
{
	int (*begin)(S *self);
	void *(*make)(S *self);
	int (*end)(S *self);
	bool room;
	bool driver;
};

/* What a verb that makes nothing returns */
static void *changed(int err, void *what)
{
	errno = err;
	return err ? NULL : what;
}

/* Handles are numbers from 0 on */

/* -- objects of which there is one simple kind */

#define OBJECT(name, kind) \
	static void *make_##name(S *self) { return vt_object_create(kind, &self->parts); } \
	static int end_##name(S *self) { return vt_object_destroy(kind, self->made); } \
	FIXTURE_VARIANT_ADD(nth, name) { .make = make_##name, .end = end_##name, .room = true }

OBJECT(pd, VT_PD);
OBJECT(cq, VT_CQ);
OBJECT(qp, VT_QP);
OBJECT(srq, VT_SRQ);
OBJECT(ah, VT_AH);
OBJECT(dm, VT_DM);
OBJECT(xrcd, VT_XRCD);

/* libibverbs also reads sysfs, and has other errors if a file is missing there */
static void *make_context(S *self)
{
	struct ibv_context *ctx = ibv_open_device(self->parts.pd->context->device);

	return changed(ctx ? 0 : ENOMEM, ctx);
}

static int end_context(S *self)
{
	return ibv_close_device(self->made);
}

FIXTURE_VARIANT_ADD(nth, context) { .make = make_context, .end = end_context };

/* -- queues whose rings are many pages, and other types of queue pairs */

static void *make_big_cq(S *self)
{
	return ibv_create_cq(self->parts.pd->context, 20000, NULL, NULL, 0);
}

FIXTURE_VARIANT_ADD(nth, big_cq) { .make = make_big_cq, .end = end_cq, .driver = true };

static void *qp_of(S *self, enum ibv_qp_type type, uint32_t depth)
{
	struct ibv_qp_init_attr init = {
		.send_cq = self->parts.cq, .recv_cq = self->parts.cq, .qp_type = type,
		.cap = { depth, depth, 2, 2, 64 },
	};

	return ibv_create_qp(self->parts.pd, &init);
}

static void *make_big_qp(S *self) { return qp_of(self, IBV_QPT_RC, 4000); }
static void *make_uc_qp(S *self) { return qp_of(self, IBV_QPT_UC, 4); }
static void *make_ud_qp(S *self) { return qp_of(self, IBV_QPT_UD, 4); }
static void *make_raw_qp(S *self) { return qp_of(self, IBV_QPT_RAW_PACKET, 4); }

FIXTURE_VARIANT_ADD(nth, big_qp) { .make = make_big_qp, .end = end_qp, .driver = true };
FIXTURE_VARIANT_ADD(nth, uc_qp) { .make = make_uc_qp, .end = end_qp, .room = true };
FIXTURE_VARIANT_ADD(nth, ud_qp) { .make = make_ud_qp, .end = end_qp, .room = true };
FIXTURE_VARIANT_ADD(nth, raw_qp) { .make = make_raw_qp, .end = end_qp, .room = true };

static void *make_xrc_send(S *self)
{
	struct ibv_qp_init_attr_ex init = {
		.qp_type = IBV_QPT_XRC_SEND, .send_cq = self->parts.cq, .cap = { 4, 0, 1, 0, 0 },
		.comp_mask = IBV_QP_INIT_ATTR_PD, .pd = self->parts.pd,
	};

	return ibv_create_qp_ex(self->parts.pd->context, &init);
}

static void *make_xrc_srq(S *self)
{
	struct ibv_srq_init_attr_ex init = {
		.attr = { .max_wr = 8, .max_sge = 1 }, .srq_type = IBV_SRQT_XRC,
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.pd = self->parts.pd, .xrcd = self->xrcd, .cq = self->parts.cq,
	};

	return ibv_create_srq_ex(self->parts.pd->context, &init);
}

FIXTURE_VARIANT_ADD(nth, xrc_send) { .make = make_xrc_send, .end = end_qp, .room = true };
/*
 * No XRC_RECV: when its own allocation fails, after the driver's, ib_core forgets a use of the domain,
 * and warns when the process ends (create_xrc_qp_user()).
 */
FIXTURE_VARIANT_ADD(nth, xrc_srq) { .make = make_xrc_srq, .end = end_srq, .room = true };

/* -- verbs that change an object */

static void *make_resize_cq(S *self)
{
	return changed(ibv_resize_cq(self->cq, self->cq->cqe > 100 ? 50 : 5000), self->cq);
}

FIXTURE_VARIANT_ADD(nth, resize_cq) { .make = make_resize_cq };

static void *modify_srq(S *self, int mask, int max_wr)
{
	struct ibv_srq_attr attr = { .max_wr = max_wr, .srq_limit = 1 };

	return changed(ibv_modify_srq(self->srq, &attr, mask), self->srq);
}

static void *make_srq_limit(S *self) { return modify_srq(self, IBV_SRQ_LIMIT, 0); }
static void *make_srq_grow(S *self) { return modify_srq(self, IBV_SRQ_MAX_WR, 3000); }

static int shrink(S *self)
{
	return modify_srq(self, IBV_SRQ_MAX_WR, 8) ? 0 : errno;
}

FIXTURE_VARIANT_ADD(nth, srq_limit) { .make = make_srq_limit };
FIXTURE_VARIANT_ADD(nth, srq_resize) { .make = make_srq_grow, .end = shrink };

/* Bring the QP to the state before the one that is tried */
static int state(S *self, enum ibv_qp_state to)
{
	const struct vt_conf *conf = &self->pair.b.conf;
	int ret = vt_qp_reset(self->qp);

	if (!ret && to > IBV_QPS_RESET)
		ret = vt_qp_init(self->qp, conf);
	if (!ret && to > IBV_QPS_INIT)
		ret = vt_qp_rtr(self->qp, conf, self->pair.b.dev.gid_index, &self->to);
	if (!ret && to > IBV_QPS_RTR)
		ret = vt_qp_rts(self->qp, conf);
	return -ret;
}

static int to_reset(S *self) { return state(self, IBV_QPS_RESET); }
static int to_init(S *self) { return state(self, IBV_QPS_INIT); }
static int to_rtr(S *self) { return state(self, IBV_QPS_RTR); }
static int to_rts(S *self) { return state(self, IBV_QPS_RTS); }

/* A change that failed leaves the state unchanged. */
static void *modified(S *self, int ret, enum ibv_qp_state before)
{
	int now = vt_qp_state(self->qp);

	/* the query may have failed, too */
	if (ret && now >= 0 && now != before)
		ret = -EUCLEAN;
	return changed(-ret, self->qp);
}

static void *make_init(S *self)
{
	return modified(self, vt_qp_init(self->qp, &self->pair.b.conf), IBV_QPS_RESET);
}

static void *make_rtr(S *self)
{
	return modified(self, vt_qp_rtr(self->qp, &self->pair.b.conf, self->pair.b.dev.gid_index,
					&self->to), IBV_QPS_INIT);
}

static void *make_rts(S *self)
{
	return modified(self, vt_qp_rts(self->qp, &self->pair.b.conf), IBV_QPS_RTR);
}

static void *make_reset(S *self)
{
	return modified(self, vt_qp_reset(self->qp), IBV_QPS_RTS);
}

static void *make_query(S *self)
{
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;

	return changed(ibv_query_qp(self->qp, &attr, IBV_QP_STATE | IBV_QP_AV, &init), self->qp);
}

FIXTURE_VARIANT_ADD(nth, modify_to_init) { .begin = to_reset, .make = make_init };
FIXTURE_VARIANT_ADD(nth, modify_to_rtr) { .begin = to_init, .make = make_rtr };
FIXTURE_VARIANT_ADD(nth, modify_to_rts) { .begin = to_rtr, .make = make_rts };
FIXTURE_VARIANT_ADD(nth, modify_to_reset) { .begin = to_rts, .make = make_reset };
FIXTURE_VARIANT_ADD(nth, query_qp) { .begin = to_rts, .make = make_query };

/* -- groups and steering rules */

static void group(union ibv_gid *gid)
{
	inet_pton(AF_INET6, "ff15::4321", gid->raw);
}

static void *make_member(S *self)
{
	union ibv_gid gid;

	group(&gid);
	return changed(ibv_attach_mcast(self->ud, &gid, 0), self->ud);
}

static int end_member(S *self)
{
	union ibv_gid gid;

	group(&gid);
	return ibv_detach_mcast(self->made, &gid, 0);
}

FIXTURE_VARIANT_ADD(nth, attach_mcast) { .make = make_member, .end = end_member };

static int end_rule(S *self) { return ibv_destroy_flow(self->made); }

static void *make_rule(S *self)
{
	static const uint8_t mac[6] = { 2, 7, 7, 7, 7, 7 };

	return vt_rule_mac(&self->raw, mac, 0, 0);
}

static void *make_all_multicast(S *self)
{
	struct vt_rule rule;

	vt_rule_init(&rule, IBV_FLOW_ATTR_MC_DEFAULT, 0);
	return vt_rule_apply(&self->raw, &rule);
}

FIXTURE_VARIANT_ADD(nth, rule) { .make = make_rule, .end = end_rule, .room = true };
FIXTURE_VARIANT_ADD(nth, rule_multicast) { .make = make_all_multicast, .end = end_rule };

/* -- regions of device memory */

static void *make_dm_mr(S *self)
{
	return ibv_reg_dm_mr(self->parts.pd, self->dm, 0, 4096, IBV_ACCESS_ZERO_BASED);
}

static int end_mr(S *self) { return ibv_dereg_mr(self->made); }

FIXTURE_VARIANT_ADD(nth, dm_mr) { .make = make_dm_mr, .end = end_mr, .room = true };

/* -- the test */

static int open_all(S *self)
{
	struct ibv_alloc_dm_attr dm = { .length = 4096 };
	struct vt_conf conf = vt_defaults;
	int ret = vt_pair_open(&self->pair, &conf);

	if (!ret)
		ret = vt_raw_open(&self->raw, 1, 0);
	if (ret)
		return ret;
	self->parts.pd = self->pair.b.pd;
	self->parts.cq = self->pair.b.scq;
	self->parts.address = vt_ah_attr(self->pair.b.dev.gid_index, &self->pair.a.dev.gid);
	self->to = vt_ep_addr(&self->pair.a);
	self->cq = make_cq(self);
	self->srq = make_srq(self);
	self->xrcd = make_xrcd(self);
	self->qp = qp_of(self, IBV_QPT_RC, 4);
	self->dm = ibv_alloc_dm(self->parts.pd->context, &dm);
	self->ud = qp_of(self, IBV_QPT_UD, 4);
	if (!self->cq || !self->srq || !self->xrcd || !self->qp || !self->dm || !self->ud)
		return -errno;
	conf.qp_type = IBV_QPT_UD;
	return vt_qp_init(self->ud, &conf);
}

FIXTURE_SETUP(nth)
{
	memset(self, 0, sizeof(*self));
	self->fd = open("/proc/thread-self/fail-nth", O_RDWR);
	if (self->fd < 0 || !vt_fail_prepare())
		SKIP(return, "this kernel does not inject faults");
	VT_SETUP(open_all(self));
}

FIXTURE_TEARDOWN(nth)
{
	EXPECT_EQ(0, ibv_destroy_qp(self->ud));
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_cq(self->cq));
	EXPECT_EQ(0, ibv_close_xrcd(self->xrcd));
	EXPECT_EQ(0, ibv_free_dm(self->dm));
	vt_raw_close(&self->raw);
	vt_pair_close(&self->pair);
	close(self->fd);
}

/* How many can be made */
static int room(S *self, const FIXTURE_VARIANT(nth) *verb)
{
	void *made[ROOM_MAX];
	int i, n;

	for (n = 0; n < ROOM_MAX; n++) {
		made[n] = verb->make(self);
		if (!made[n])
			break;
	}
	for (i = 0; i < n; i++) {
		self->made = made[i];
		if (verb->end(self))
			return -1;
	}
	return n;
}

/**
 * struct sweep - results so far
 * @n: the next allocation @worked, @failed: how often the verb did so when an allocation had failed
 */
struct sweep {
	int n, worked, failed;
};

/* Let the next allocation of @run fail. Return: whether there was one */
static bool next(struct __test_metadata *_metadata, S *self, struct sweep *sweep,
		 int (*run)(S *self, const FIXTURE_VARIANT(nth) *verb),
		 const FIXTURE_VARIANT(nth) *verb)
{
	int ret, injected;

	ASSERT_EQ(0, vt_fail_nth(self->fd, ++sweep->n));
	ret = run(self, verb);
	injected = vt_fail_happened(self->fd);
	ASSERT_LE(0, injected);
	/* ENOBUFS: the kernel's table of neighbours has none for an address */
	ASSERT_TRUE(!ret || (injected && (ret == ENOMEM || ret == ENOBUFS)))
		TH_LOG("allocation %d: error %d", sweep->n, ret);
	sweep->worked += injected && !ret;
	sweep->failed += !!ret;
	/* it can be repeated */
	if (ret)
		ASSERT_EQ(0, run(self, verb)) TH_LOG("allocation %d", sweep->n);
	return injected && sweep->n < SWEEP_MAX;
}

static int run_make(S *self, const FIXTURE_VARIANT(nth) *verb)
{
	errno = 0;
	self->made = verb->make(self);
	return self->made ? 0 : errno ? errno : EIO;
}

static int run_end(S *self, const FIXTURE_VARIANT(nth) *verb)
{
	return verb->end(self);
}

static void begin(struct __test_metadata *_metadata, S *self, const FIXTURE_VARIANT(nth) *verb)
{
	if (verb->begin)
		ASSERT_EQ(0, verb->begin(self));
}

TEST_F_TIMEOUT(nth, verb, 120)
{
	struct sweep making = {}, ending = {};
	int before = 0, ret;
	bool more = true;

	begin(_metadata, self, variant);
	ret = run_make(self, variant);
	if (ret == EOPNOTSUPP)
		SKIP(return, "this kernel has no such verb");
	ASSERT_EQ(0, ret);
	if (variant->end)
		ASSERT_EQ(0, variant->end(self));
	if (variant->room)
		before = room(self, variant);
	while (more) {
		begin(_metadata, self, variant);
		more = next(_metadata, self, &making, run_make, variant);
		if (variant->end)
			ASSERT_EQ(0, variant->end(self));
	}
	more = variant->end;
	while (more) {
		begin(_metadata, self, variant);
		ASSERT_EQ(0, run_make(self, variant));
		more = next(_metadata, self, &ending, run_end, variant);
	}
	TH_LOG("%d allocations, %d times it failed; then %d, %d times", making.n - 1,
	       making.failed, ending.n ? ending.n - 1 : 0, ending.failed);
	EXPECT_GT(SWEEP_MAX, making.n);
	EXPECT_GT(SWEEP_MAX, ending.n);
	if (variant->driver)
		EXPECT_TRUE(vt_why_is(self->parts.pd->context, NO_MEMORY));
	if (variant->room) {
		EXPECT_LT(0, before);
		EXPECT_EQ(before, room(self, variant));
	}
	EXPECT_TRUE(vt_pair_works(&self->pair));
}

VT_HARNESS_MAIN
