// SPDX-License-Identifier: GPL-2.0
/*
 * A process has more rings than it may have mappings (vm.max_map_count): it makes, uses, resizes
 * and destroys queues in random order. At the end mappings and memory are released. SMR_SEED
 * repeats a run.
 *
 * timeout: 120
 * paths: host
 */
#include "harness.h"

#include <sys/param.h>

#include "random.h"
#include "system.h"

#define MAX_MAP_COUNT	"/proc/sys/vm/max_map_count"
/* Each set has four rings, and there are this many mappings for all of them. */
#define SETS		300
#define SPARE_MAPS	200
#define STEPS		3000
/* Mappings that a growing heap may take, and memory that others take meanwhile */
#define HEAP_MAPS	4
#define SLACK_KB	1024
#define MSG		64
#define PAGE_KB		4

/**
 * struct set - a QP that is connected to itself
 * @srq: NULL: it has a receive queue
 */
struct set {
	struct ibv_cq *scq;
	struct ibv_cq *rcq;
	struct ibv_srq *srq;
	struct ibv_qp *qp;
};

FIXTURE(many)
{
	struct vt_ep ep;
	struct set *sets;
	uint64_t random;
	uint64_t serial;
	long vmalloc_kb;
	int max_maps;
};

static int limit_maps(int n)
{
	char text[16];

	snprintf(text, sizeof(text), "%d", n);
	return vt_write_file(MAX_MAP_COUNT, text);
}

FIXTURE_SETUP(many)
{
	self->vmalloc_kb = vt_meminfo("VmallocUsed:");
	self->max_maps = vt_number(MAX_MAP_COUNT, "");
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
	self->sets = calloc(SETS, sizeof(*self->sets));
	ASSERT_NE(NULL, self->sets);
	self->random = vt_random_begin(vt_seed(), 0);
	if (limit_maps(vt_mappings() + SPARE_MAPS))
		SKIP(return, "may not set vm.max_map_count");
}

FIXTURE_TEARDOWN(many)
{
	limit_maps(self->max_maps);
	free(self->sets);
}

/* A random number below @n */
static uint32_t draw(FIXTURE_DATA(many) *self, uint32_t n)
{
	return vt_random_below(&self->random, n);
}

/* Mostly one or a few pages; sometimes so many that the ring has its own mapping */
static uint32_t draw_depth(FIXTURE_DATA(many) *self)
{
	return 4 + draw(self, draw(self, 32) ? 250 : 8000);
}

static int destroy(struct set *s)
{
	int ret = 0;

	if (s->qp)
		ret = ibv_destroy_qp(s->qp);
	if (!ret && s->srq)
		ret = ibv_destroy_srq(s->srq);
	if (!ret && s->rcq)
		ret = ibv_destroy_cq(s->rcq);
	if (!ret && s->scq)
		ret = ibv_destroy_cq(s->scq);
	memset(s, 0, sizeof(*s));
	return ret;
}

static bool create(FIXTURE_DATA(many) *self, struct set *s)
{
	struct vt_ep *ep = &self->ep;
	struct ibv_srq_init_attr srq = {
		.attr = { .max_wr = 4 + draw(self, 60), .max_sge = 1 },
	};
	struct ibv_qp_init_attr init = {
		.qp_type = IBV_QPT_RC,
		.cap = {
			.max_send_wr = 4 + draw(self, 60),
			.max_recv_wr = 4 + draw(self, 60),
			.max_send_sge = 1, .max_recv_sge = 1,
		},
		.sq_sig_all = 1,
	};
	struct vt_addr me = vt_ep_addr(ep);

	s->scq = ibv_create_cq(ep->dev.ctx, draw_depth(self), NULL, NULL, 0);
	s->rcq = ibv_create_cq(ep->dev.ctx, draw_depth(self), NULL, NULL, 0);
	if (!draw(self, 3))
		s->srq = ibv_create_srq(ep->pd, &srq);
	init.send_cq = s->scq;
	init.recv_cq = s->rcq;
	init.srq = s->srq;
	s->qp = s->scq && s->rcq ? ibv_create_qp(ep->pd, &init) : NULL;
	if (!s->qp)
		return false;
	me.qpn = s->qp->qp_num;
	return !vt_qp_connect(s->qp, &ep->conf, ep->dev.gid_index, &me);
}

/* A message from the first half of the buffer to the second */
static bool post(FIXTURE_DATA(many) *self, struct set *s, uint64_t id)
{
	struct ibv_sge from = vt_sge(&self->ep.buf, 0, MSG);
	struct ibv_sge to = vt_sge(&self->ep.buf, MSG, MSG);
	struct ibv_recv_wr recv = { .wr_id = id + 1, .sg_list = &to, .num_sge = 1 };
	struct ibv_send_wr send = {
		.wr_id = id, .sg_list = &from, .num_sge = 1,
		.opcode = IBV_WR_SEND,
	};
	struct ibv_recv_wr *bad_recv;
	struct ibv_send_wr *bad;

	memset(self->ep.buf.p, id, MSG);
	memset(self->ep.buf.p + MSG, ~id, MSG);
	if (s->srq ? ibv_post_srq_recv(s->srq, &recv, &bad_recv) :
		     ibv_post_recv(s->qp, &recv, &bad_recv))
		return false;
	return !ibv_post_send(s->qp, &send, &bad);
}

static bool arrived(FIXTURE_DATA(many) *self, struct set *s, uint64_t id)
{
	struct ibv_wc wc;

	if (vt_wait(s->scq, &wc) || wc.wr_id != id || wc.status ||
	    wc.qp_num != s->qp->qp_num)
		return false;
	if (vt_wait(s->rcq, &wc) || wc.wr_id != id + 1 || wc.status ||
	    wc.qp_num != s->qp->qp_num || wc.byte_len != MSG)
		return false;
	return !memcmp(self->ep.buf.p, self->ep.buf.p + MSG, MSG);
}

/* Completions that were not polled move to the new ring. */
static bool resize(FIXTURE_DATA(many) *self, struct set *s, bool *refused)
{
	struct ibv_srq_attr attr = { .max_wr = 4 + draw(self, 500) };
	int ret;

	switch (draw(self, s->srq ? 3 : 2)) {
	case 0:
		ret = ibv_resize_cq(s->scq, draw_depth(self));
		break;
	case 1:
		ret = ibv_resize_cq(s->rcq, draw_depth(self));
		break;
	default:
		ret = ibv_modify_srq(s->srq, &attr, IBV_SRQ_MAX_WR);
	}
	*refused |= ret;
	return !ret;
}

static bool step(FIXTURE_DATA(many) *self, struct set *s, bool *refused)
{
	uint64_t id = self->serial += 2;

	if (!s->qp)
		return create(self, s) && post(self, s, id) &&
		       arrived(self, s, id);
	if (!draw(self, 4))
		return !destroy(s);
	return post(self, s, id) && resize(self, s, refused) &&
	       arrived(self, s, id) && post(self, s, id) &&
	       arrived(self, s, id);
}

TEST_F(many, more_rings_than_mappings)
{
	int before = vt_mappings(), most = 0, i, live = 0;
	bool refused = false, ok = true;
	long kib;

	for (i = 0; i < SETS && ok; i++) {
		ok = step(self, &self->sets[i], &refused);
		if (!ok)
			printf("# set %d: errno %d, %d mappings\n", i, errno,
			       vt_mappings());
	}
	ASSERT_TRUE(ok);
	for (i = 0; i < STEPS && ok; i++) {
		ok = step(self, &self->sets[draw(self, SETS)], &refused);
		if (i % 100 == 0)
			most = MAX(most, vt_mappings());
		if (!ok)
			printf("# step %d: errno %d, %d mappings%s\n", i, errno,
			       vt_mappings(), refused ? ", a resize" : "");
	}
	ASSERT_TRUE(ok);
	/* rings that were unused for long still work */
	for (i = 0; i < SETS && ok; i++) {
		struct set *s = &self->sets[i];
		uint64_t id = self->serial += 2;

		if (!s->qp)
			continue;
		live++;
		ok = post(self, s, id) && arrived(self, s, id);
	}
	EXPECT_TRUE(ok);
	printf("# %d QPs, at most %d mappings more\n", live, most - before);
	EXPECT_LT(SPARE_MAPS, 4 * live);
	kib = vt_meminfo("VmallocUsed:");
	for (i = 0; i < SETS; i++)
		ASSERT_EQ(0, destroy(&self->sets[i]));
	EXPECT_GE(before + HEAP_MAPS, vt_mappings());
	/* all except the rings that were destroyed last */
	kib -= vt_meminfo("VmallocUsed:");
	printf("# %ld KiB came back for %d rings\n", kib, 4 * live);
	EXPECT_LT(4 * live * PAGE_KB / 2, kib);

	vt_ep_close(&self->ep);
	i = vt_meminfo("VmallocUsed:") - self->vmalloc_kb;
	printf("# %d KiB more of the kernel's memory are in use than before\n", i);
	EXPECT_GE(SLACK_KB, i);
}

VT_HARNESS_MAIN
