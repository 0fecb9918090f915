// SPDX-License-Identifier: GPL-2.0
#include "pair.h"

#include <linux/delay.h>
#include <linux/err.h>
#include <linux/jiffies.h>
#include <linux/slab.h>

/* The longest time that a case waits; under emulation that is not much. */
#define PATIENCE	(20 * HZ)

static void request_done(struct ib_cq *cq, struct ib_wc *wc)
{
	struct request *r = container_of(wc->wr_cqe, struct request, cqe);

	r->wc = *wc;
	complete(&r->done);
}

void request_init(struct request *r)
{
	memset(r, 0, sizeof(*r));
	r->cqe.done = request_done;
	r->wc.status = -1;
	init_completion(&r->done);
}

/*
 * Return: the request's status, or -ETIMEDOUT. Polls a CQ that has no other
 * poller.
 */
int request_wait(struct side *s, struct request *r)
{
	unsigned long end = jiffies + PATIENCE;

	if (s->cq->poll_ctx != IB_POLL_DIRECT) {
		if (!wait_for_completion_timeout(&r->done, PATIENCE))
			return -ETIMEDOUT;
		return r->wc.status;
	}
	while (!try_wait_for_completion(&r->done)) {
		ib_process_cq_direct(s->cq, -1);
		if (time_after(jiffies, end))
			return -ETIMEDOUT;
		cond_resched();
	}
	return r->wc.status;
}

static int side_init(struct pair *p, struct side *s,
		     const struct pair_options *opt)
{
	struct ib_qp_init_attr init = {
		.qp_type = IB_QPT_RC,
		.sq_sig_type = opt->sig_all ? IB_SIGNAL_ALL_WR :
					      IB_SIGNAL_REQ_WR,
		.srq = p->srq,
		.cap = {
			.max_send_wr = MAX_WR,
			.max_recv_wr = p->srq ? 0 : MAX_WR,
			.max_send_sge = MAX_SGE,
			.max_recv_sge = p->srq ? 0 : MAX_SGE,
			.max_inline_data = MAX_INLINE,
		},
	};

	s->buf = kzalloc(BUF_SIZE, GFP_KERNEL);
	if (!s->buf)
		return -ENOMEM;
	s->dma = ib_dma_map_single(p->t->dev, s->buf, BUF_SIZE,
				   DMA_BIDIRECTIONAL);
	s->cq = ib_alloc_cq(p->t->dev, NULL, 4 * MAX_WR, 0, opt->ctx);
	if (IS_ERR(s->cq))
		return PTR_ERR(s->cq);
	init.send_cq = opt->cq ?: s->cq;
	init.recv_cq = init.send_cq;
	s->qp = ib_create_qp(p->pd, &init);
	return PTR_ERR_OR_ZERO(s->qp);
}

static int to_init(struct side *s)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_INIT,
		.port_num = 1,
		.qp_access_flags = IB_ACCESS_REMOTE_READ |
				   IB_ACCESS_REMOTE_WRITE |
				   IB_ACCESS_REMOTE_ATOMIC,
	};

	return ib_modify_qp(s->qp, &attr, IB_QP_STATE | IB_QP_PKEY_INDEX |
			    IB_QP_PORT | IB_QP_ACCESS_FLAGS);
}

static int to_rtr(const struct target *t, struct side *s, u32 peer)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTR,
		.path_mtu = IB_MTU_1024,
		.dest_qp_num = peer,
		.max_dest_rd_atomic = 4,
		.min_rnr_timer = 1,
	};

	attr.ah_attr.type = rdma_ah_find_type(t->dev, 1);
	rdma_ah_set_port_num(&attr.ah_attr, 1);
	rdma_ah_set_grh(&attr.ah_attr, (union ib_gid *)&t->gid, 0,
			t->gid_index, 1, 0);
	return ib_modify_qp(s->qp, &attr, IB_QP_STATE | IB_QP_AV |
			    IB_QP_PATH_MTU | IB_QP_DEST_QPN | IB_QP_RQ_PSN |
			    IB_QP_MAX_DEST_RD_ATOMIC | IB_QP_MIN_RNR_TIMER);
}

static int to_rts(struct side *s)
{
	struct ib_qp_attr attr = {
		.qp_state = IB_QPS_RTS,
		.timeout = 14,
		.retry_cnt = 7,
		.rnr_retry = 7,
		.max_rd_atomic = 4,
	};

	return ib_modify_qp(s->qp, &attr, IB_QP_STATE | IB_QP_TIMEOUT |
			    IB_QP_RETRY_CNT | IB_QP_RNR_RETRY | IB_QP_SQ_PSN |
			    IB_QP_MAX_QP_RD_ATOMIC);
}

static int connect_pair(struct pair *p)
{
	return to_init(&p->a) ?: to_init(&p->b) ?:
	       to_rtr(p->t, &p->a, p->b.qp->qp_num) ?:
	       to_rtr(p->t, &p->b, p->a.qp->qp_num) ?:
	       to_rts(&p->a) ?: to_rts(&p->b);
}

static int pair_make(struct pair *p, const struct pair_options *opt)
{
	struct ib_srq_init_attr srq = {
		.srq_type = IB_SRQT_BASIC,
		.attr = { .max_wr = MAX_WR, .max_sge = MAX_SGE },
	};

	p->pd = ib_alloc_pd(p->t->dev, 0);
	if (IS_ERR(p->pd))
		return PTR_ERR(p->pd);
	if (opt->with_srq) {
		p->srq = ib_create_srq(p->pd, &srq);
		if (IS_ERR(p->srq))
			return PTR_ERR(p->srq);
	}
	return side_init(p, &p->a, opt) ?: side_init(p, &p->b, opt) ?:
	       connect_pair(p);
}

int pair_init(struct pair *p, const struct target *t,
	      const struct pair_options *opt)
{
	int err;

	memset(p, 0, sizeof(*p));
	p->t = t;
	err = pair_make(p, opt);
	if (err) {
		pr_info("kverbs: # no pair: %d\n", err);
		pair_fini(p);
	}
	return err;
}

static void side_fini(struct pair *p, struct side *s)
{
	if (!IS_ERR_OR_NULL(s->qp)) {
		ib_drain_qp(s->qp);
		ib_destroy_qp(s->qp);
	}
	if (!IS_ERR_OR_NULL(s->cq))
		ib_free_cq(s->cq);
	if (s->buf)
		ib_dma_unmap_single(p->t->dev, s->dma, BUF_SIZE,
				    DMA_BIDIRECTIONAL);
	kfree(s->buf);
}

void pair_fini(struct pair *p)
{
	side_fini(p, &p->a);
	side_fini(p, &p->b);
	if (!IS_ERR_OR_NULL(p->srq))
		ib_destroy_srq(p->srq);
	if (!IS_ERR_OR_NULL(p->pd))
		ib_dealloc_pd(p->pd);
}

static void ignore_done(struct ib_cq *cq, struct ib_wc *wc)
{
}

/* Without a request: it is not signalled, and its status does not matter. */
int post_send(struct side *s, struct ib_send_wr *wr, struct request *r)
{
	static struct ib_cqe ignored = { .done = ignore_done };

	wr->wr_cqe = &ignored;
	if (r) {
		request_init(r);
		wr->wr_cqe = &r->cqe;
		wr->send_flags |= IB_SEND_SIGNALED;
	}
	return ib_post_send(s->qp, wr, NULL);
}

int post_recv(struct pair *p, struct side *s, u32 off, u32 len,
	      struct request *r)
{
	struct ib_sge sge = {
		.addr = s->dma + off,
		.length = len,
		.lkey = p->pd->local_dma_lkey,
	};
	struct ib_recv_wr wr = {
		.wr_cqe = &r->cqe,
		.sg_list = &sge,
		.num_sge = 1,
	};

	request_init(r);
	return p->srq ? ib_post_srq_recv(p->srq, &wr, NULL) :
			ib_post_recv(s->qp, &wr, NULL);
}

int send_bytes(struct pair *p, struct side *s, u32 off, u32 len, int flags,
	       struct request *r)
{
	struct ib_sge sge = {
		.addr = flags & IB_SEND_INLINE ?
			(unsigned long)(s->buf + off) : s->dma + off,
		.length = len,
		.lkey = p->pd->local_dma_lkey,
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND,
		.sg_list = &sge,
		.num_sge = 1,
		.send_flags = flags,
	};

	return post_send(s, &wr, r);
}

int rdma(struct pair *p, struct side *s, enum ib_wr_opcode op, u32 len,
	 u64 addr, u32 rkey, struct request *r)
{
	struct ib_sge sge = {
		.addr = s->dma,
		.length = len,
		.lkey = p->pd->local_dma_lkey,
	};
	struct ib_rdma_wr wr = {
		.wr = {
			.opcode = op,
			.sg_list = &sge,
			.num_sge = 1,
		},
		.remote_addr = addr,
		.rkey = rkey,
	};

	return post_send(s, &wr.wr, r) ?: request_wait(s, r);
}
