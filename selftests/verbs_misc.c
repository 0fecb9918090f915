// SPDX-License-Identifier: GPL-2.0
/*
 * Objects and their lifetimes, what a device reports about itself, limits that can be reached,
 * chains of work requests, ibv_wr_*().
 *
 * timeout: 120
 * paths: host wire
 */
#include "harness.h"

#define PORT	1

/* -- objects */

FIXTURE(life)
{
	struct vt_ep ep;
};

FIXTURE_SETUP(life)
{
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
}

FIXTURE_TEARDOWN(life)
{
	vt_ep_close(&self->ep);
}

/* An object with children cannot be destroyed, and still works. */
TEST_F(life, busy_while_in_use)
{
	struct vt_ep *ep = &self->ep;

	EXPECT_EQ(EBUSY, ibv_dealloc_pd(ep->pd));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(ep->scq));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(ep->rcq));
	ASSERT_EQ(0, ibv_destroy_qp(ep->qp));
	ep->qp = NULL;
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(ep->pd));
	vt_buf_close(&ep->buf);
	EXPECT_EQ(0, ibv_dealloc_pd(ep->pd));
	ep->pd = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(ep->scq));
	ep->scq = NULL;
	EXPECT_EQ(0, ibv_destroy_cq(ep->rcq));
	ep->rcq = NULL;
}

/* A parent domain exists in libibverbs only; the kernel does not know it. */
TEST_F(life, parent_domain_in_use)
{
	struct vt_ep *ep = &self->ep;
	struct ibv_parent_domain_init_attr attr = { .pd = ep->pd };
	struct ibv_srq_init_attr srq_init = {
		.attr = { .max_wr = 4, .max_sge = 1 },
	};
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq, .recv_cq = ep->rcq,
		.cap = { .max_send_wr = 1, .max_send_sge = 1 },
		.qp_type = IBV_QPT_RC,
	};
	struct ibv_pd *parent = ibv_alloc_parent_domain(ep->dev.ctx, &attr);
	struct ibv_qp *qp;

	if (!parent && errno == EOPNOTSUPP)
		SKIP(return, "no parent domains");
	ASSERT_NE(NULL, parent);
	init.srq = ibv_create_srq(parent, &srq_init);
	ASSERT_NE(NULL, init.srq);
	qp = ibv_create_qp(parent, &init);
	ASSERT_NE(NULL, qp);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_destroy_srq(init.srq));
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
}

TEST_F(life, many_of_each)
{
	enum { N = 50 };
	struct ibv_pd *pd[N];
	struct ibv_cq *cq[N];
	struct ibv_mr *mr[N];
	struct ibv_qp *qp[N];
	int i, round;

	for (round = 0; round < 2; round++) {
		for (i = 0; i < N; i++) {
			pd[i] = ibv_alloc_pd(self->ep.dev.ctx);
			ASSERT_NE(NULL, pd[i]);
			cq[i] = ibv_create_cq(self->ep.dev.ctx, 4, NULL, NULL, 0);
			ASSERT_NE(NULL, cq[i]);
			mr[i] = ibv_reg_mr(pd[i], self->ep.buf.p, 4096 + i,
					   VT_ACCESS_ALL);
			ASSERT_NE(NULL, mr[i]);
			qp[i] = vt_qp_create(&self->ep);
			ASSERT_NE(NULL, qp[i]);
		}
		/* destroy the first half forwards, the other backwards */
		for (i = 0; i < N; i++) {
			int k = i % 2 ? i : N - 2 - i;

			EXPECT_EQ(0, ibv_destroy_qp(qp[k]));
			EXPECT_EQ(0, ibv_dereg_mr(mr[k]));
			EXPECT_EQ(0, ibv_destroy_cq(cq[k]));
			EXPECT_EQ(0, ibv_dealloc_pd(pd[k]));
		}
	}
}

/* No two existing objects have the same number or key. */
TEST_F(life, names_are_unique)
{
	enum { N = 32 };
	struct ibv_mr *mr[N];
	struct ibv_qp *qp[N];
	int i, j;

	for (i = 0; i < N; i++) {
		mr[i] = ibv_reg_mr(self->ep.pd, self->ep.buf.p, 4096, 0);
		ASSERT_NE(NULL, mr[i]);
		qp[i] = vt_qp_create(&self->ep);
		ASSERT_NE(NULL, qp[i]);
		EXPECT_LT(1, qp[i]->qp_num);
		EXPECT_GT(1 << 24, qp[i]->qp_num);
		for (j = 0; j < i; j++) {
			EXPECT_NE(mr[i]->lkey, mr[j]->lkey);
			EXPECT_NE(mr[i]->rkey, mr[j]->rkey);
			EXPECT_NE(qp[i]->qp_num, qp[j]->qp_num);
		}
	}
	for (i = 0; i < N; i++) {
		EXPECT_EQ(0, ibv_destroy_qp(qp[i]));
		EXPECT_EQ(0, ibv_dereg_mr(mr[i]));
	}
}

/*
 * Processes that exit without cleaning up leave nothing behind, however many
 * they are.
 */
TEST_F(life, exit_without_cleaning_up)
{
	int i, status;
	pid_t pid;

	for (i = 0; i < 8; i++) {
		pid = fork();
		ASSERT_LE(0, pid);
		if (!pid) {
			struct vt_pair pair;

			status = vt_pair_open(&pair, &vt_defaults);
			if (!status)
				vt_post_recv(&pair.a, 1, NULL, 0);
			_exit(status ? 1 : 0);
		}
		ASSERT_EQ(pid, waitpid(pid, &status, 0));
		ASSERT_EQ(0, status);
	}
}

TEST_F(life, address_handles)
{
	struct ibv_ah_attr attr = vt_ah_attr(self->ep.dev.gid_index, &self->ep.dev.gid);
	struct ibv_ah *ah[50];
	int i;

	ah[0] = ibv_create_ah(self->ep.pd, &attr);
	if (!ah[0] && (errno == EOPNOTSUPP || errno == ENOSYS))
		SKIP(return, "no address handles");
	ASSERT_NE(NULL, ah[0]);
	for (i = 1; i < 50; i++) {
		ah[i] = ibv_create_ah(self->ep.pd, &attr);
		ASSERT_NE(NULL, ah[i]);
	}
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(self->ep.pd));
	for (i = 0; i < 50; i++)
		EXPECT_EQ(0, ibv_destroy_ah(ah[i]));
}

/* -- what a device reports about itself */

TEST_F(life, device_and_port)
{
	struct ibv_device_attr *attr = &self->ep.dev.attr;
	struct ibv_port_attr *port = &self->ep.dev.port;

	EXPECT_EQ(1, attr->phys_port_cnt);
	EXPECT_LT(0, attr->max_qp);
	EXPECT_LT(0, attr->max_qp_wr);
	EXPECT_LT(0, attr->max_sge);
	EXPECT_LT(0, attr->max_cq);
	EXPECT_LT(0, attr->max_cqe);
	EXPECT_LT(0, attr->max_mr);
	EXPECT_LT(0, attr->max_pd);
	EXPECT_LE(1ull << 30, attr->max_mr_size);
	EXPECT_NE(0, attr->page_size_cap & 4096);
	EXPECT_NE(0, attr->node_guid);
	EXPECT_EQ(IBV_PORT_ACTIVE, port->state);
	EXPECT_EQ(IBV_LINK_LAYER_ETHERNET, port->link_layer);
	EXPECT_LE(port->active_mtu, port->max_mtu);
	EXPECT_LE(IBV_MTU_256, port->active_mtu);
	EXPECT_LE(1u << 31, port->max_msg_sz);
	EXPECT_LE(1, port->gid_tbl_len);
	EXPECT_LE(1, port->pkey_tbl_len);
	EXPECT_LT(0, port->active_speed);
	EXPECT_LT(0, port->active_width);
}

TEST_F(life, port_that_is_not_there)
{
	struct ibv_port_attr port;
	union ibv_gid gid;
	__be16 pkey;

	EXPECT_NE(0, ibv_query_port(self->ep.dev.ctx, 0, &port));
	EXPECT_NE(0, ibv_query_port(self->ep.dev.ctx, 2, &port));
	EXPECT_NE(0, ibv_query_gid(self->ep.dev.ctx, 2, 0, &gid));
	EXPECT_NE(0, ibv_query_pkey(self->ep.dev.ctx, 2, 0, &pkey));
}

TEST_F(life, pkeys_and_gids)
{
	struct vt_dev *dev = &self->ep.dev;
	union ibv_gid gid;
	__be16 pkey;

	ASSERT_EQ(0, ibv_query_pkey(dev->ctx, PORT, 0, &pkey));
	EXPECT_EQ(0xffff, ntohs(pkey));
	EXPECT_NE(0, ibv_query_pkey(dev->ctx, PORT, dev->port.pkey_tbl_len,
				    &pkey));
	ASSERT_EQ(0, ibv_query_gid(dev->ctx, PORT, dev->gid_index, &gid));
	EXPECT_EQ(0, memcmp(&gid, &dev->gid, sizeof(gid)));
	EXPECT_NE(0, ibv_query_gid(dev->ctx, PORT, dev->port.gid_tbl_len,
				   &gid));
}

/* -- limits that query_device reports: they can be reached. why_verbs.c exceeds them. */

static struct ibv_qp *with_cap(struct vt_ep *ep, struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq, .recv_cq = ep->rcq, .cap = cap, .qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(ep->pd, &init);
}

TEST_F(life, queues_at_the_limit)
{
	struct ibv_device_attr *limit = &self->ep.dev.attr;
	struct ibv_srq_init_attr init = { .attr = { limit->max_srq_wr, limit->max_srq_sge } };
	struct ibv_qp *qp = with_cap(&self->ep, (struct ibv_qp_cap){
		limit->max_qp_wr, limit->max_qp_wr, limit->max_sge, limit->max_sge });
	struct ibv_srq *srq;

	ASSERT_NE(NULL, qp)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	srq = ibv_create_srq(self->ep.pd, &init);
	ASSERT_NE(NULL, srq)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(life, smallest_qp)
{
	struct ibv_qp *qp = with_cap(&self->ep, (struct ibv_qp_cap){});

	ASSERT_NE(NULL, qp)
		TH_LOG("errno %d", errno);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(life, cq_at_the_limit)
{
	struct ibv_context *ctx = self->ep.dev.ctx;
	const int cqes[] = { self->ep.dev.attr.max_cqe, 100 };
	struct ibv_cq *cq;
	int i;

	for (i = 0; i < 2; i++) {
		cq = ibv_create_cq(ctx, cqes[i], NULL, NULL, 0);
		ASSERT_NE(NULL, cq)
			TH_LOG("%d CQEs: errno %d", cqes[i], errno);
		EXPECT_LE(cqes[i], cq->cqe);
		EXPECT_EQ(0, ibv_destroy_cq(cq));
	}
	errno = 0;
	EXPECT_EQ(NULL, ibv_create_cq(ctx, 0, NULL, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_EQ(NULL, ibv_create_cq(ctx, -1, NULL, NULL, 0));
	errno = 0;
	EXPECT_EQ(NULL, ibv_create_cq(ctx, 1, NULL, NULL, ctx->num_comp_vectors));
	EXPECT_EQ(EINVAL, errno);
}

/* -- posting lists */

TEST(bad_request_in_a_chain)
{
	struct ibv_send_wr wr[5], *bad = NULL;
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.sges = 2)));
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 5; i++) {
		wr[i].wr_id = i;
		wr[i].opcode = IBV_WR_RDMA_WRITE;
		wr[i].send_flags = IBV_SEND_SIGNALED;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	wr[3].num_sge = pair.a.dev.attr.max_sge + 1;
	EXPECT_NE(0, ibv_post_send(pair.a.qp, wr, &bad));
	EXPECT_EQ(&wr[3], bad);
	for (i = 0; i < 3; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, i));
	EXPECT_TRUE(vt_sq_quiet(&pair.a));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

TEST(bad_receive_in_a_chain)
{
	struct ibv_recv_wr wr[5], *bad = NULL;
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &vt_defaults));
	memset(wr, 0, sizeof(wr));
	for (i = 0; i < 5; i++) {
		wr[i].wr_id = i;
		wr[i].next = i < 4 ? &wr[i + 1] : NULL;
	}
	wr[2].num_sge = pair.a.dev.attr.max_sge + 1;
	EXPECT_NE(0, ibv_post_recv(pair.a.qp, wr, &bad));
	EXPECT_EQ(&wr[2], bad);
	ASSERT_EQ(0, ibv_modify_qp(pair.a.qp, &attr, IBV_QP_STATE));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(pair.a.rcq, 0));
	EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(pair.a.rcq, 1));
	EXPECT_TRUE(vt_rq_quiet(&pair.a, NULL));
	vt_pair_close(&pair);
}

/* A chain longer than the queue: as many requests as fit are posted. */
TEST(chain_longer_than_the_queue)
{
	enum { N = 4096 };
	static struct ibv_send_wr wr[N];
	struct ibv_send_wr *bad = NULL;
	struct vt_conf conf = vt_defaults;
	struct vt_pair pair;
	int i, n;

	conf.cqe = 512;
	VT_SETUP(vt_pair_open(&pair, &conf));
	/* SENDs that wait for a receive stay in the queue */
	for (i = 0; i < N; i++)
		wr[i] = (struct ibv_send_wr){
			.wr_id = i, .opcode = IBV_WR_SEND,
			.send_flags = IBV_SEND_SIGNALED,
			.next = i < N - 1 ? &wr[i + 1] : NULL,
		};
	EXPECT_EQ(ENOMEM, ibv_post_send(pair.a.qp, wr, &bad));
	ASSERT_NE(NULL, bad);
	n = bad - wr;
	EXPECT_LE(conf.depth, n);
	ASSERT_GE(512, n);
	ASSERT_EQ(0, vt_qp_to(pair.a.qp, IBV_QPS_ERR));
	for (i = 0; i < n; i++)
		ASSERT_EQ(IBV_WC_WR_FLUSH_ERR, vt_status(pair.a.scq, i));
	EXPECT_TRUE(vt_sq_quiet(&pair.a));
	vt_pair_close(&pair);
}

TEST(inline_longer_than_allowed)
{
	struct ibv_send_wr wr = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_INLINE,
		.num_sge = 4,
	}, *bad = NULL;
	struct ibv_qp_init_attr init;
	struct ibv_qp_attr attr;
	struct ibv_sge sge[4];
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.inline_len = 64)));
	ASSERT_EQ(0, ibv_query_qp(pair.a.qp, &attr, IBV_QP_CAP, &init));
	ASSERT_LE(64, init.cap.max_inline_data);
	wr.sg_list = sge;
	/* each part fits, their sum does not */
	for (i = 0; i < 4; i++)
		sge[i] = vt_sge(&pair.a.buf, 0,
				init.cap.max_inline_data / 4 + 1);
	EXPECT_NE(0, ibv_post_send(pair.a.qp, &wr, &bad));
	EXPECT_EQ(&wr, bad);
	/* nor does a sum that wraps */
	sge[0].length = sge[1].length = 0x80000000;
	sge[2].length = sge[3].length = 0;
	EXPECT_NE(0, ibv_post_send(pair.a.qp, &wr, &bad));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

/* ibv_wr_abort() discards requests; the others are posted together. */
TEST(wr_api_batch_and_abort)
{
	struct ibv_qp_ex *qpx;
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.wr_api = true)));
	qpx = pair.a.qpx;
	ibv_wr_start(qpx);
	for (i = 0; i < 3; i++) {
		qpx->wr_id = 100 + i;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qpx, pair.b.buf.mr->rkey,
				  (uintptr_t)pair.b.buf.p);
		ibv_wr_set_sge(qpx, pair.a.buf.mr->lkey,
			       (uintptr_t)pair.a.buf.p, 8);
	}
	ibv_wr_abort(qpx);
	vt_fill(pair.a.buf.p, 24, 5, 0);
	ibv_wr_start(qpx);
	for (i = 0; i < 3; i++) {
		qpx->wr_id = i;
		qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(qpx, pair.b.buf.mr->rkey,
				  (uintptr_t)pair.b.buf.p + 8 * i);
		ibv_wr_set_sge(qpx, pair.a.buf.mr->lkey,
			       (uintptr_t)pair.a.buf.p + 8 * i, 8);
	}
	ASSERT_EQ(0, ibv_wr_complete(qpx));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, i));
	EXPECT_TRUE(vt_check("batch", pair.b.buf.p, 24, 5, 0));
	vt_pair_close(&pair);
}

/* More than fits, by the ibv_wr API: ENOMEM at the end, and none is posted. */
TEST(wr_api_too_many)
{
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.wr_api = true)));
	ibv_wr_start(pair.a.qpx);
	for (i = 0; i < 4096; i++) {
		pair.a.qpx->wr_flags = IBV_SEND_SIGNALED;
		ibv_wr_rdma_write(pair.a.qpx, 0, 0);
		ibv_wr_set_sge_list(pair.a.qpx, 0, NULL);
	}
	EXPECT_EQ(ENOMEM, ibv_wr_complete(pair.a.qpx));
	EXPECT_TRUE(vt_sq_quiet(&pair.a));
	EXPECT_TRUE(vt_pair_works(&pair));
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
