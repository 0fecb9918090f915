// SPDX-License-Identifier: GPL-2.0
/*
 * Extended reliable connections: domains, the queues in them, data and
 * completions of each opcode, invalid requests, a receive QP that outlives its
 * creator.
 *
 * race: yes
 * break: qemu-newest
 * timeout: 120
 * paths: host wire veth
 */
#include "harness.h"
#include "region.h"
#include "why.h"

#define DEPTH	16
#define QUEUES	3
#define LEN	5000
#define PORT	1
/* Twice this is far more than a doorbell call itself copies. */
#define HUGE_LEN	(48ul * 1024 * 1024)

/**
 * struct end - a receiver, or a sender
 * @ini: XRC_SEND QP
 * @tgt: XRC_RECV QP
 * @srq: queues of the domain; each with a CQ of its own
 */
struct end {
	struct vt_dev dev;
	struct ibv_pd *pd;
	struct vt_buf buf;
	struct ibv_xrcd *xrcd;
	struct ibv_cq *scq;
	struct ibv_cq *rcq[QUEUES];
	struct ibv_srq *srq[QUEUES];
	uint32_t srqn[QUEUES];
	struct ibv_qp *ini;
	struct ibv_qp *tgt;
};

FIXTURE(xrc)
{
	struct vt_conf conf;
	struct end a, b;
	struct ibv_sge local;
	struct ibv_send_wr wr;
};

static struct ibv_xrcd *open_xrcd(struct ibv_context *ctx, int fd, int flags)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = fd,
		.oflags = flags,
	};

	return ibv_open_xrcd(ctx, &attr);
}

static int open_queue(struct end *e, int i)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = DEPTH, .max_sge = 2 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = e->pd,
		.xrcd = e->xrcd,
	};

	e->rcq[i] = ibv_create_cq(e->dev.ctx, DEPTH, NULL, NULL, 0);
	attr.cq = e->rcq[i];
	e->srq[i] = attr.cq ? ibv_create_srq_ex(e->dev.ctx, &attr) : NULL;
	if (!e->srq[i])
		return -errno;
	return -ibv_get_srq_num(e->srq[i], &e->srqn[i]);
}

static struct ibv_qp *create_ini(struct end *e)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_SEND,
		.send_cq = e->scq,
		.cap = { .max_send_wr = DEPTH, .max_send_sge = 2,
			 .max_inline_data = 64 },
		.comp_mask = IBV_QP_INIT_ATTR_PD,
		.pd = e->pd,
	};

	return ibv_create_qp_ex(e->dev.ctx, &attr);
}

static struct ibv_qp *create_tgt(struct ibv_context *ctx,
				 struct ibv_xrcd *xrcd)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_XRC_RECV,
		.comp_mask = IBV_QP_INIT_ATTR_XRCD,
		.xrcd = xrcd,
	};

	return ibv_create_qp_ex(ctx, &attr);
}

static int end_open(struct end *e, const struct vt_conf *conf, int which)
{
	int i, ret = vt_dev_open(&e->dev, which, conf->family);

	if (ret)
		return ret;
	e->pd = ibv_alloc_pd(e->dev.ctx);
	if (!e->pd)
		return -errno;
	ret = vt_buf_open(&e->buf, e->pd, conf->buf_len, conf->buf_access);
	if (ret)
		return ret;
	e->scq = ibv_create_cq(e->dev.ctx, DEPTH, NULL, NULL, 0);
	e->xrcd = open_xrcd(e->dev.ctx, -1, O_CREAT);
	if (!e->scq || !e->xrcd)
		return -errno;
	for (i = 0; i < QUEUES && !ret; i++)
		ret = open_queue(e, i);
	if (ret)
		return ret;
	e->ini = create_ini(e);
	e->tgt = create_tgt(e->dev.ctx, e->xrcd);
	return e->ini && e->tgt ? 0 : -errno;
}

static bool end_close(struct end *e)
{
	bool ok = true;
	int i;

	if (e->tgt)
		ok &= !ibv_destroy_qp(e->tgt);
	if (e->ini)
		ok &= !ibv_destroy_qp(e->ini);
	for (i = 0; i < QUEUES; i++) {
		if (e->srq[i])
			ok &= !ibv_destroy_srq(e->srq[i]);
		if (e->rcq[i])
			ok &= !ibv_destroy_cq(e->rcq[i]);
	}
	if (e->xrcd)
		ok &= !ibv_close_xrcd(e->xrcd);
	if (e->scq)
		ok &= !ibv_destroy_cq(e->scq);
	vt_buf_close(&e->buf);
	if (e->pd)
		ok &= !ibv_dealloc_pd(e->pd);
	vt_dev_close(&e->dev);
	return ok;
}

/* One direction: from @from's send QP to @to's receive QP. */
static int connect_one_way(const struct vt_conf *conf, struct end *from,
			   struct end *to)
{
	struct vt_addr f = { .gid = from->dev.gid, .qpn = from->ini->qp_num,
			     .psn = conf->sq_psn };
	struct vt_addr t = { .gid = to->dev.gid, .qpn = to->tgt->qp_num,
			     .psn = conf->sq_psn };
	int ret;

	ret = vt_qp_init(to->tgt, conf);
	if (!ret)
		ret = vt_qp_rtr(to->tgt, conf, to->dev.gid_index, &f);
	if (!ret)
		ret = vt_qp_init(from->ini, conf);
	if (!ret)
		ret = vt_qp_rtr(from->ini, conf, from->dev.gid_index, &t);
	return ret ? ret : vt_qp_rts(from->ini, conf);
}

FIXTURE_SETUP(xrc)
{
	self->conf = vt_defaults;
	self->conf.timeout = 14;
	VT_SETUP(end_open(&self->a, &self->conf, 0));
	VT_SETUP(end_open(&self->b, &self->conf, 1));
	VT_SETUP(connect_one_way(&self->conf, &self->a, &self->b));
	self->local = vt_sge(&self->a.buf, VT_GUARD, LEN);
	self->wr = (struct ibv_send_wr){
		.wr_id = 1, .opcode = IBV_WR_SEND,
		.sg_list = &self->local, .num_sge = 1,
		.send_flags = IBV_SEND_SIGNALED,
		.qp_type.xrc.remote_srqn = self->b.srqn[0],
	};
	vt_fill_sges(&self->local, 1, LEN, 4);
}

FIXTURE_TEARDOWN(xrc)
{
	EXPECT_TRUE(end_close(&self->a));
	EXPECT_TRUE(end_close(&self->b));
}

/* Reset the sender only; the receiver is not changed. */
static int reconnect_ini(FIXTURE_DATA(xrc) *self)
{
	struct end *a = &self->a, *b = &self->b;
	struct vt_addr to = { .gid = b->dev.gid, .qpn = b->tgt->qp_num,
			      .psn = self->conf.sq_psn };
	int ret = vt_qp_reset(a->ini);

	return ret ? ret : vt_qp_connect(a->ini, &self->conf, a->dev.gid_index,
					 &to);
}

static int post(struct end *e, struct ibv_send_wr *wr)
{
	struct ibv_send_wr *bad;

	return ibv_post_send(e->ini, wr, &bad);
}

static int post_recv(struct end *e, int queue, uint64_t wr_id)
{
	struct ibv_sge to = vt_sge(&e->buf, VT_GUARD + queue * 8192, LEN);
	struct ibv_recv_wr *bad, wr = {
		.wr_id = wr_id, .sg_list = &to, .num_sge = 1,
	};

	return ibv_post_srq_recv(e->srq[queue], &wr, &bad);
}

/*
 * Each message goes to the queue that it names, and completes in that queue's
 * CQ.
 */
TEST_F(xrc, send)
{
	struct ibv_wc wc;
	int i, q;

	for (i = 0; i < 2 * QUEUES; i++) {
		q = i % QUEUES;
		ASSERT_EQ(0, post_recv(&self->b, q, 100 + i));
		self->wr.qp_type.xrc.remote_srqn = self->b.srqn[q];
		self->wr.opcode = i & 1 ? IBV_WR_SEND_WITH_IMM : IBV_WR_SEND;
		self->wr.imm_data = htonl(i);
		ASSERT_EQ(0, post(&self->a, &self->wr));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
		ASSERT_EQ(0, vt_wait(self->b.rcq[q], &wc));
		EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
		EXPECT_EQ(100 + i, wc.wr_id);
		EXPECT_EQ(self->b.tgt->qp_num, wc.qp_num);
		EXPECT_EQ(LEN, wc.byte_len);
		if (i & 1)
			EXPECT_EQ(htonl(i), wc.imm_data);
		EXPECT_TRUE(vt_check("data", self->b.buf.p + VT_GUARD +
				     q * 8192, LEN, 4, 0));
	}
}

/* The protection domain of the queue decides which memory is reached. */
TEST_F(xrc, write_read_atomic)
{
	uint64_t before, after, *word = (uint64_t *)(self->b.buf.p + VT_GUARD);

	self->wr.wr.rdma.remote_addr = (uintptr_t)word;
	self->wr.wr.rdma.rkey = self->b.buf.mr->rkey;
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_TRUE(vt_check("written", word, LEN, 4, 0));

	vt_fill(word, LEN, 9, 0);
	self->wr.opcode = IBV_WR_RDMA_READ;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_TRUE(vt_check_sges(&self->local, 1, LEN, 9));

	before = *word;
	self->local.length = 8;
	self->wr.opcode = IBV_WR_ATOMIC_FETCH_AND_ADD;
	self->wr.wr.atomic.remote_addr = (uintptr_t)word;
	self->wr.wr.atomic.rkey = self->b.buf.mr->rkey;
	self->wr.wr.atomic.compare_add = 5;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_EQ(before + 5, *word);
	memcpy(&after, self->a.buf.p + VT_GUARD, 8);
	EXPECT_EQ(before, after);

	self->wr.opcode = IBV_WR_ATOMIC_CMP_AND_SWP;
	self->wr.wr.atomic.compare_add = before + 5;
	self->wr.wr.atomic.swap = 77;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_EQ(77, *word);
}

TEST_F(xrc, write_with_immediate)
{
	struct ibv_wc wc;

	ASSERT_EQ(0, post_recv(&self->b, 2, 50));
	self->wr.opcode = IBV_WR_RDMA_WRITE_WITH_IMM;
	self->wr.imm_data = htonl(0xabcd);
	self->wr.qp_type.xrc.remote_srqn = self->b.srqn[2];
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b.buf.p + VT_GUARD;
	self->wr.wr.rdma.rkey = self->b.buf.mr->rkey;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	ASSERT_EQ(0, vt_wait(self->b.rcq[2], &wc));
	EXPECT_EQ(IBV_WC_RECV_RDMA_WITH_IMM, wc.opcode);
	EXPECT_EQ(50, wc.wr_id);
	EXPECT_EQ(htonl(0xabcd), wc.imm_data);
	EXPECT_TRUE(vt_check("data", self->b.buf.p + VT_GUARD, LEN, 4, 0));
}

/* No receive is posted: the sender waits, and continues when there is one. */
TEST_F(xrc, receiver_late)
{
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_TRUE(vt_no_completion(self->a.scq, 20));
	ASSERT_EQ(0, post_recv(&self->b, 0, 3));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b.rcq[0], 3));
}

/* IBTA A14.5.2: a queue that does not exist, or one of another domain */
TEST_F(xrc, unknown_queue)
{
	self->wr.qp_type.xrc.remote_srqn = 0xabcdef;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_status(self->a.scq, 1));
	EXPECT_TRUE(vt_qp_reaches(self->b.tgt, IBV_QPS_ERR));
	EXPECT_TRUE(vt_why_is(self->b.dev.ctx, REQ_XRC, 0xabcdef));
}

TEST_F(xrc, queue_of_another_domain)
{
	struct end other = { .dev = self->b.dev, .pd = self->b.pd };

	other.xrcd = open_xrcd(other.dev.ctx, -1, O_CREAT);
	ASSERT_NE(NULL, other.xrcd);
	ASSERT_EQ(0, open_queue(&other, 0));
	self->wr.qp_type.xrc.remote_srqn = other.srqn[0];
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_status(self->a.scq, 1));
	EXPECT_EQ(0, ibv_destroy_srq(other.srq[0]));
	EXPECT_EQ(0, ibv_destroy_cq(other.rcq[0]));
	EXPECT_EQ(0, ibv_close_xrcd(other.xrcd));
}

/* A key of another protection domain than the queue's */
TEST_F(xrc, key_of_another_pd)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->b.dev.ctx);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, pd);
	mr = ibv_reg_mr(pd, self->b.buf.p, 8192, VT_ACCESS_ALL);
	ASSERT_NE(NULL, mr);
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b.buf.p;
	self->wr.wr.rdma.rkey = mr->rkey;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_status(self->a.scq, 1));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

/*
 * The receiving QP has no protection domain. Regions of the queue's may be another user's, so the
 * nearest one is not named.
 */
TEST_F(xrc, unknown_key)
{
	self->wr.opcode = IBV_WR_RDMA_WRITE;
	self->wr.wr.rdma.remote_addr = (uintptr_t)self->b.buf.p;
	self->wr.wr.rdma.rkey = self->b.buf.mr->rkey ^ 0x5a00;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_ACCESS_ERR, vt_status(self->a.scq, 1));
	EXPECT_TRUE(vt_why_is(self->b.dev.ctx, KEY_UNKNOWN, self->wr.wr.rdma.rkey,
			      self->wr.wr.rdma.remote_addr, self->local.length, 0, 0, 0, 0));
}

/*
 * The queue is destroyed in the middle of traffic; the sender gets an error,
 * nothing hangs.
 */
TEST_F(xrc, queue_destroyed)
{
	ASSERT_EQ(0, ibv_destroy_srq(self->b.srq[0]));
	self->b.srq[0] = NULL;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_REM_INV_REQ_ERR, vt_status(self->a.scq, 1));
}

/*
 * The sender is reset in the middle of a message that the receiver copies, and starts again. A
 * receive that was taken from one queue is not used for another one: its owner gets it back.
 */
TEST_F(xrc, given_up_for_another_queue)
{
	struct ibv_qp_attr attr = { .qp_state = IBV_QPS_ERR };
	struct ibv_recv_wr *bad, recv = { .wr_id = 5, .num_sge = 2 };
	struct vt_region from = {}, to = {};
	struct ibv_qp_init_attr init;
	struct ibv_sge sge[4];
	struct ibv_wc wc;
	void *p;

	/*
	 * On the wire the message is cut into packets, some of which have
	 * arrived.
	 */
	if (strcmp(getenv("SMR_PATH"), "host"))
		SKIP(return, "it is handed over whole on one host only");
	p = vt_map(HUGE_LEN, 4096, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&from, self->a.pd, p, HUGE_LEN, (uintptr_t)p,
				   VT_ACCESS_ALL));
	p = vt_map(HUGE_LEN, 4096, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&to, self->b.pd, p, HUGE_LEN, (uintptr_t)p,
				   VT_ACCESS_ALL));
	sge[0] = (struct ibv_sge){ to.iova, HUGE_LEN, to.mr->lkey };
	sge[1] = sge[0];
	sge[2] = (struct ibv_sge){ from.iova, HUGE_LEN, from.mr->lkey };
	sge[3] = sge[2];
	recv.sg_list = &sge[0];
	ASSERT_EQ(0, ibv_post_srq_recv(self->b.srq[0], &recv, &bad));
	self->wr.sg_list = &sge[2];
	self->wr.num_sge = 2;
	ASSERT_EQ(0, post(&self->a, &self->wr));
	ASSERT_EQ(0, ibv_modify_qp(self->a.ini, &attr, IBV_QP_STATE));
	ASSERT_EQ(0, vt_wait(self->a.scq, &wc));

	ASSERT_EQ(0, ibv_query_qp(self->b.tgt, &attr, IBV_QP_STATE | IBV_QP_RQ_PSN, &init));
	if (wc.status == IBV_WC_WR_FLUSH_ERR && attr.qp_state == IBV_QPS_RTR) {
		self->conf.sq_psn = attr.rq_psn;
		ASSERT_EQ(0, reconnect_ini(self));
		self->wr.sg_list = &self->local;
		self->wr.num_sge = 1;
		self->wr.qp_type.xrc.remote_srqn = self->b.srqn[1];
		ASSERT_EQ(0, post_recv(&self->b, 1, 6));
		ASSERT_EQ(0, post(&self->a, &self->wr));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b.rcq[1], 6));
		/* Its owner gets it back, unless the message had not taken it. */
		self->wr.qp_type.xrc.remote_srqn = self->b.srqn[0];
		ASSERT_EQ(0, post_recv(&self->b, 0, 7));
		ASSERT_EQ(0, post(&self->a, &self->wr));
		EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
		ASSERT_EQ(0, vt_wait(self->b.rcq[0], &wc));
		EXPECT_EQ(5, wc.wr_id);
		if (wc.status != IBV_WC_SUCCESS) {
			EXPECT_EQ(IBV_WC_WR_FLUSH_ERR, wc.status);
			EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->b.rcq[0], 7));
		}
	} else {
		/* The operation was faster than the test. */
		TH_LOG("status %d, state %d", wc.status, attr.qp_state);
	}
	vt_region_close(&from);
	ASSERT_EQ(0, ibv_destroy_qp(self->b.tgt));
	self->b.tgt = NULL;
	vt_region_close(&to);
}

TEST_F(xrc, last_wqe)
{
	ASSERT_EQ(0, vt_qp_to(self->b.tgt, IBV_QPS_ERR));
	EXPECT_EQ(0, vt_async_event(self->b.dev.ctx,
				    IBV_EVENT_QP_LAST_WQE_REACHED,
				    VT_TIMEOUT_MS));
}

/* An object in use cannot be destroyed, and each QP has only its own side. */
TEST_F(xrc, refused)
{
	struct ibv_recv_wr *bad_recv, recv = {};
	struct ibv_send_wr *bad;

	EXPECT_EQ(EBUSY, ibv_close_xrcd(self->b.xrcd));
	EXPECT_EQ(EBUSY, ibv_destroy_cq(self->b.rcq[0]));
	EXPECT_EQ(EINVAL, ibv_post_send(self->b.tgt, &self->wr, &bad));
	EXPECT_EQ(EINVAL, ibv_post_recv(self->b.tgt, &recv, &bad_recv));
	EXPECT_EQ(EINVAL, ibv_post_recv(self->a.ini, &recv, &bad_recv));
}

/* A domain of a file, and a QP in it that another process created */
static int in_another_process(const char *path, int qpn_pipe, int done_pipe)
{
	struct vt_dev dev = {};
	struct ibv_xrcd *xrcd;
	struct ibv_qp *qp;
	int fd = open(path, O_RDONLY);
	char c;

	if (fd < 0 || vt_dev_open(&dev, 1, AF_INET))
		return 1;
	xrcd = open_xrcd(dev.ctx, fd, O_CREAT);
	qp = xrcd ? create_tgt(dev.ctx, xrcd) : NULL;
	if (!qp || write(qpn_pipe, &qp->qp_num, sizeof(qp->qp_num)) < 0)
		return 2;
	/* wait until the parent has opened it; then exit, and leave the QP */
	return read(done_pipe, &c, 1) == 1 ? 0 : 3;
}

TEST_F(xrc, shared_between_processes)
{
	struct ibv_qp_open_attr attr = {
		.comp_mask = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD |
			     IBV_QP_OPEN_ATTR_TYPE,
		.qp_type = IBV_QPT_XRC_RECV,
	};
	char path[] = "/tmp/xrcd.XXXXXX";
	int fd = mkstemp(path), up[2], down[2], status;
	struct end *b = &self->b;
	pid_t pid;

	ASSERT_LE(0, fd);
	ASSERT_EQ(0, pipe(up));
	ASSERT_EQ(0, pipe(down));
	pid = fork();
	ASSERT_LE(0, pid);
	if (!pid)
		_exit(in_another_process(path, up[1], down[0]));
	close(up[1]);
	ASSERT_EQ(sizeof(attr.qp_num),
		  read(up[0], &attr.qp_num, sizeof(attr.qp_num)));

	ASSERT_TRUE(end_close(b));
	memset(b, 0, sizeof(*b));
	ASSERT_EQ(0, end_open(b, &self->conf, 1));
	ASSERT_EQ(0, ibv_destroy_qp(b->tgt));
	b->tgt = NULL;
	attr.xrcd = open_xrcd(b->dev.ctx, fd, 0);
	ASSERT_NE(NULL, attr.xrcd);
	b->tgt = ibv_open_qp(b->dev.ctx, &attr);
	ASSERT_NE(NULL, b->tgt);
	ASSERT_EQ(1, write(down[1], "x", 1));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);

	/*
	 * a queue in the shared domain, instead of the one in the private
	 * domain
	 */
	ASSERT_EQ(0, ibv_destroy_srq(b->srq[0]));
	ASSERT_EQ(0, ibv_destroy_cq(b->rcq[0]));
	{
		struct ibv_xrcd *own = b->xrcd;

		b->xrcd = attr.xrcd;
		ASSERT_EQ(0, open_queue(b, 0));
		b->xrcd = own;
	}
	ASSERT_EQ(0, vt_qp_reset(self->a.ini));
	ASSERT_EQ(0, connect_one_way(&self->conf, &self->a, b));
	ASSERT_EQ(0, post_recv(b, 0, 8));
	self->wr.qp_type.xrc.remote_srqn = b->srqn[0];
	ASSERT_EQ(0, post(&self->a, &self->wr));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(self->a.scq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(b->rcq[0], 8));

	EXPECT_EQ(0, ibv_destroy_qp(b->tgt));
	b->tgt = NULL;
	EXPECT_EQ(0, ibv_destroy_srq(b->srq[0]));
	b->srq[0] = NULL;
	EXPECT_EQ(0, ibv_close_xrcd(attr.xrcd));
	close(fd);
	unlink(path);
}

/*
 * The domain of a file, opened several times. With O_EXCL only the first opener
 * succeeds.
 */
TEST_F(xrc, domain_of_a_file)
{
	char path[] = "/tmp/xrcd.XXXXXX";
	struct ibv_xrcd *first, *second;
	int fd = mkstemp(path);

	ASSERT_LE(0, fd);
	EXPECT_EQ(NULL, open_xrcd(self->a.dev.ctx, fd, 0));
	first = open_xrcd(self->a.dev.ctx, fd, O_CREAT | O_EXCL);
	ASSERT_NE(NULL, first);
	EXPECT_EQ(NULL, open_xrcd(self->a.dev.ctx, fd, O_CREAT | O_EXCL));
	second = open_xrcd(self->a.dev.ctx, fd, O_CREAT);
	ASSERT_NE(NULL, second);
	EXPECT_EQ(0, ibv_close_xrcd(first));
	EXPECT_EQ(0, ibv_close_xrcd(second));
	close(fd);
	unlink(path);
}

#define MANY	1000

/* A server may destroy thousands of queues one by one: no destroy waits for a grace period. */
TEST_F(xrc, many_queues_go_fast)
{
	struct ibv_srq_init_attr_ex attr = {
		.attr = { .max_wr = 1, .max_sge = 1 },
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD |
			     IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ,
		.srq_type = IBV_SRQT_XRC,
		.pd = self->a.pd, .xrcd = self->a.xrcd, .cq = self->a.rcq[0],
	};
	static struct ibv_srq *srq[MANY];
	uint64_t begin = vt_now_ms(), made, gone;
	int i;

	for (i = 0; i < MANY; i++) {
		srq[i] = ibv_create_srq_ex(self->a.dev.ctx, &attr);
		ASSERT_NE(NULL, srq[i]);
	}
	made = vt_now_ms() - begin;
	begin = vt_now_ms();
	for (i = 0; i < MANY; i++)
		ASSERT_EQ(0, ibv_destroy_srq(srq[i]));
	gone = vt_now_ms() - begin;
	TH_LOG("%d queues: made in %llu ms, gone in %llu ms", MANY,
	       (unsigned long long)made, (unsigned long long)gone);
	/* That many grace periods take at least 10 s. */
	EXPECT_LT(gone, 2 * made + 2000);
}

VT_HARNESS_MAIN
