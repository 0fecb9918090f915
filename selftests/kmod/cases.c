// SPDX-License-Identifier: GPL-2.0
/* Queues: posting, completing, polling, waiting, draining. */
#include "cases.h"

#include <linux/err.h>
#include <linux/random.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/timer.h>

#include "pair.h"
#include "tap.h"

static const char *const ctx_names[] = {
	[IB_POLL_DIRECT] = "direct",
	[IB_POLL_SOFTIRQ] = "softirq",
	[IB_POLL_WORKQUEUE] = "workqueue",
	[IB_POLL_UNBOUND_WORKQUEUE] = "unbound workqueue",
};

/* Every byte arrives, in each way of polling. */
static int case_sends(struct pair *p)
{
	static const u32 sizes[] = { 0, 1, 1023, 1024, 1025, 9000, BUF_SIZE };
	static struct request send, recv;
	int i;

	for (i = 0; i < ARRAY_SIZE(sizes); i++) {
		get_random_bytes(p->a.buf, BUF_SIZE);
		memset(p->b.buf, 0, BUF_SIZE);
		EXPECT(!post_recv(p, &p->b, 0, BUF_SIZE, &recv));
		EXPECT(!send_bytes(p, &p->a, 0, sizes[i], 0, &send));
		EXPECT(request_wait(&p->a, &send) == IB_WC_SUCCESS);
		EXPECT(request_wait(&p->b, &recv) == IB_WC_SUCCESS);
		EXPECT(send.wc.opcode == IB_WC_SEND && send.wc.qp == p->a.qp);
		EXPECT(recv.wc.opcode == IB_WC_RECV && recv.wc.qp == p->b.qp);
		EXPECT(recv.wc.byte_len == sizes[i]);
		EXPECT(recv.wc.wc_flags == 0 && recv.wc.port_num == 1);
		EXPECT(!memcmp(p->a.buf, p->b.buf, sizes[i]));
	}
	return 0;
}

/* Inline data is copied by the post; it needs no key. */
static int case_inline(struct pair *p)
{
	struct ib_sge sge[2] = {
		{ .addr = (unsigned long)p->a.buf, .length = 5 },
		{ .addr = (unsigned long)p->a.buf + 9, .length = 4 },
	};
	struct ib_send_wr wr = {
		.opcode = IB_WR_SEND_WITH_IMM,
		.sg_list = sge,
		.num_sge = 2,
		.send_flags = IB_SEND_INLINE,
		.ex.imm_data = cpu_to_be32(0x01020304),
	};
	static struct request send, recv;

	memcpy(p->a.buf, "hello....kern", 13);
	EXPECT(!post_send(&p->a, &wr, &send));
	memset(p->a.buf, 0, 13);
	EXPECT(!post_recv(p, &p->b, 0, 64, &recv));
	EXPECT(request_wait(&p->b, &recv) == IB_WC_SUCCESS);
	EXPECT(request_wait(&p->a, &send) == IB_WC_SUCCESS);
	EXPECT(!memcmp(p->b.buf, "hellokern", 9));
	EXPECT(recv.wc.wc_flags == IB_WC_WITH_IMM);
	EXPECT(recv.wc.ex.imm_data == cpu_to_be32(0x01020304));
	sge[0].length = MAX_INLINE;
	EXPECT(post_send(&p->a, &wr, &send) == -EINVAL);
	return 0;
}

/*
 * Only signalled requests complete; the others free their queue entries, too.
 */
static int case_unsignalled(struct pair *p)
{
	static struct request send, recvs[MAX_WR];
	int i, err = 0;

	for (i = 0; i < MAX_WR && !err; i++) {
		err = post_recv(p, &p->b, 0, 64, &recvs[i]);
		if (!err)
			err = send_bytes(p, &p->a, 0, 64, 0,
					 i == MAX_WR - 1 ? &send : NULL);
	}
	err = err ?: request_wait(&p->a, &send);
	for (i = 0; i < MAX_WR && !err; i++)
		err = request_wait(&p->b, &recvs[i]);
	if (!err && ib_process_cq_direct(p->a.cq, -1))
		err = -EINVAL;
	return err;
}

/* Invalid requests are refused, and the consumer gets the first of them. */
static int case_refused(struct pair *p)
{
	struct ib_send_wr second = { .opcode = 77 };
	struct ib_send_wr first = {
		.opcode = IB_WR_SEND, .next = &second,
	};
	const struct ib_send_wr *bad;
	const struct ib_recv_wr *bad_recv;
	struct ib_recv_wr recv = { .num_sge = MAX_SGE + 1 };
	static struct request one;
	int i;

	EXPECT(!post_recv(p, &p->b, 0, 64, &one));
	EXPECT(ib_post_send(p->a.qp, &first, &bad) == -EINVAL);
	EXPECT(bad == &second);
	EXPECT(request_wait(&p->b, &one) == IB_WC_SUCCESS);
	second.opcode = IB_WR_SEND;
	second.num_sge = MAX_SGE + 1;
	EXPECT(ib_post_send(p->a.qp, &second, &bad) == -EINVAL);
	EXPECT(ib_post_recv(p->b.qp, &recv, &bad_recv) == -EINVAL);
	EXPECT(bad_recv == &recv);
	recv.num_sge = 0;
	recv.wr_cqe = &one.cqe;
	request_init(&one);
	for (i = 0; i < MAX_WR; i++)
		EXPECT(!ib_post_recv(p->b.qp, &recv, NULL));
	EXPECT(ib_post_recv(p->b.qp, &recv, NULL) == -ENOMEM);
	ib_drain_qp(p->b.qp);
	EXPECT(one.wc.status == IB_WC_WR_FLUSH_ERR);
	return 0;
}

/*
 * ib_drain_qp() posts, too: flush the requests that fill a queue, so that it
 * can.
 */
static int make_room(struct side *s, struct request *flushed)
{
	struct ib_qp_attr attr = { .qp_state = IB_QPS_ERR };

	EXPECT(!ib_modify_qp(s->qp, &attr, IB_QP_STATE));
	EXPECT(request_wait(s, flushed) == IB_WC_WR_FLUSH_ERR);
	return 0;
}

/*
 * A post that fails sets *bad; a post that succeeds does not touch it. Some
 * consumers (RDS) check only *bad.
 */
static int case_bad_send(struct pair *p)
{
	static const struct ib_send_wr untouched;
	const struct ib_send_wr *bad = &untouched;
	static struct request recvs[2], one, two;
	struct ib_send_wr second = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.wr_cqe = &two.cqe,
	};
	struct ib_send_wr first = {
		.opcode = IB_WR_SEND, .send_flags = IB_SEND_SIGNALED,
		.wr_cqe = &one.cqe, .next = &second,
	};
	int err, n = 0;

	request_init(&one);
	request_init(&two);
	EXPECT(!post_recv(p, &p->b, 0, 64, &recvs[0]));
	EXPECT(!post_recv(p, &p->b, 0, 64, &recvs[1]));
	EXPECT(!ib_post_send(p->a.qp, &first, &bad));
	EXPECT(bad == &untouched);
	EXPECT(request_wait(&p->a, &one) == IB_WC_SUCCESS);
	EXPECT(request_wait(&p->a, &two) == IB_WC_SUCCESS);

	second.num_sge = MAX_SGE + 1;
	EXPECT(ib_post_send(p->a.qp, &first, &bad) == -EINVAL);
	EXPECT(bad == &second);
	first.num_sge = MAX_SGE + 1;
	bad = &untouched;
	EXPECT(ib_post_send(p->a.qp, &first, &bad) == -EINVAL);
	EXPECT(bad == &first);

	/* The peer posts no receives, so the queue is full in the end. */
	second.num_sge = 0;
	bad = &untouched;
	while (!(err = ib_post_send(p->a.qp, &second, &bad)) && n++ < MAX_WR)
		EXPECT(bad == &untouched);
	EXPECT(err == -ENOMEM && bad == &second);
	return make_room(&p->a, &two);
}

static int recv_list(struct pair *p, const struct ib_recv_wr *wr,
		     const struct ib_recv_wr **bad)
{
	return p->srq ? ib_post_srq_recv(p->srq, wr, bad) :
			ib_post_recv(p->b.qp, wr, bad);
}

static int case_bad_recv(struct pair *p)
{
	static const struct ib_recv_wr untouched;
	const struct ib_recv_wr *bad = &untouched;
	static struct request send, one, two;
	struct ib_recv_wr second = { .wr_cqe = &two.cqe };
	struct ib_recv_wr first = { .wr_cqe = &one.cqe, .next = &second };
	int err, n = 0;

	request_init(&one);
	request_init(&two);
	EXPECT(!recv_list(p, &first, &bad));
	EXPECT(bad == &untouched);
	EXPECT(!send_bytes(p, &p->a, 0, 0, 0, &send));
	EXPECT(request_wait(&p->b, &one) == IB_WC_SUCCESS);
	EXPECT(!send_bytes(p, &p->a, 0, 0, 0, NULL));
	EXPECT(request_wait(&p->b, &two) == IB_WC_SUCCESS);

	second.num_sge = MAX_SGE + 1;
	EXPECT(recv_list(p, &first, &bad) == -EINVAL);
	EXPECT(bad == &second);
	first.num_sge = MAX_SGE + 1;
	bad = &untouched;
	EXPECT(recv_list(p, &first, &bad) == -EINVAL);
	EXPECT(bad == &first);

	second.num_sge = 0;
	bad = &untouched;
	while (!(err = recv_list(p, &second, &bad)) && n++ < MAX_WR)
		EXPECT(bad == &untouched);
	EXPECT(err == -ENOMEM && bad == &second);
	if (!p->srq)
		return make_room(&p->b, &two);
	/* A post of receives to a QP with an SRQ is refused. */
	bad = &untouched;
	EXPECT(ib_post_recv(p->b.qp, &second, &bad) == -EINVAL);
	EXPECT(bad == &second);
	return 0;
}

/* When a drain returns, all posted requests have completed, each once. */
static int case_drain(struct pair *p)
{
	static struct request recvs[8], send;
	int i;

	for (i = 0; i < ARRAY_SIZE(recvs); i++)
		EXPECT(!post_recv(p, &p->b, 0, 64, &recvs[i]));
	EXPECT(!send_bytes(p, &p->a, 0, 64, 0, &send));
	EXPECT(request_wait(&p->a, &send) == IB_WC_SUCCESS);
	EXPECT(request_wait(&p->b, &recvs[0]) == IB_WC_SUCCESS);
	ib_drain_qp(p->b.qp);
	for (i = 1; i < ARRAY_SIZE(recvs); i++) {
		EXPECT(completion_done(&recvs[i].done));
		EXPECT(recvs[i].wc.status == IB_WC_WR_FLUSH_ERR);
	}
	/*
	 * The peer does not answer any more, but the drain does not wait for
	 * answers.
	 */
	EXPECT(!send_bytes(p, &p->a, 0, 64, 0, &send));
	ib_drain_qp(p->a.qp);
	EXPECT(completion_done(&send.done));
	EXPECT(send.wc.status != IB_WC_SUCCESS);
	return 0;
}

/* Completions of a destroyed QP are removed, because they would name it. */
static int case_forgotten(struct pair *p)
{
	static struct request send, recv;
	struct ib_wc wc;

	EXPECT(!post_recv(p, &p->b, 0, 64, &recv));
	EXPECT(!send_bytes(p, &p->a, 0, 64, 0, &send));
	EXPECT(request_wait(&p->a, &send) == IB_WC_SUCCESS);
	ib_destroy_qp(p->b.qp);
	p->b.qp = NULL;
	EXPECT(!ib_poll_cq(p->b.cq, 1, &wc));
	return 0;
}

/* One message, with a completion at both ends. */
static int exchange(struct pair *p)
{
	struct ib_recv_wr recv = {};
	struct ib_send_wr send = { .opcode = IB_WR_SEND };

	return ib_post_recv(p->b.qp, &recv, NULL) ?:
	       ib_post_send(p->a.qp, &send, NULL);
}

static int poll_one(struct ib_cq *cq)
{
	unsigned long end = jiffies + 20 * HZ;
	struct ib_wc wc;
	int n;

	do {
		n = ib_poll_cq(cq, 1, &wc);
		if (n)
			return n == 1 ? wc.status : -EINVAL;
		cond_resched();
	} while (time_before(jiffies, end));
	return -ETIMEDOUT;
}

static void events_handler(struct ib_cq *cq, void *context)
{
	atomic_inc(context);
}

#define ARM_FLAGS	(IB_CQ_NEXT_COMP | IB_CQ_REPORT_MISSED_EVENTS)

/*
 * An armed CQ raises one event. Arming fails if completions are there already.
 */
static int events_check(struct pair *p, struct ib_cq *cq, atomic_t *events)
{
	unsigned long end = jiffies + 20 * HZ;

	EXPECT(!ib_req_notify_cq(cq, ARM_FLAGS));
	EXPECT(!exchange(p));
	EXPECT(!poll_one(cq) && !poll_one(cq));
	EXPECT(atomic_read(events) == 1);
	EXPECT(!exchange(p));
	EXPECT(!poll_one(cq));
	while (!ib_req_notify_cq(cq, ARM_FLAGS)) {
		EXPECT(time_before(jiffies, end));
		cond_resched();
	}
	EXPECT(!poll_one(cq));
	EXPECT(!ib_req_notify_cq(cq, ARM_FLAGS));
	EXPECT(atomic_read(events) <= 2);
	return 0;
}

/* With both QPs completing into one CQ, which has a handler of its own. */
static int with_cq(const struct target *t, void (*handler)(struct ib_cq *, void *),
		   void *context, int (*fn)(struct pair *, struct ib_cq *, void *))
{
	struct ib_cq_init_attr attr = { .cqe = 4 * MAX_WR };
	struct pair_options opt = { .ctx = IB_POLL_DIRECT, .sig_all = true };
	struct ib_cq *cq;
	struct pair p;
	int err;

	cq = ib_create_cq(t->dev, handler, NULL, context, &attr);
	if (IS_ERR(cq))
		return PTR_ERR(cq);
	opt.cq = cq;
	err = pair_init(&p, t, &opt);
	if (!err) {
		err = fn(&p, cq, context);
		/*
		 * ib_drain_qp() is not for a CQ that has a handler of its own.
		 */
		ib_destroy_qp(p.a.qp);
		ib_destroy_qp(p.b.qp);
		p.a.qp = NULL;
		p.b.qp = NULL;
		pair_fini(&p);
	}
	ib_destroy_cq(cq);
	return err;
}

static int events_play(struct pair *p, struct ib_cq *cq, void *context)
{
	return events_check(p, cq, context);
}

static int case_events(const struct target *t)
{
	atomic_t events = ATOMIC_INIT(0);

	return with_cq(t, events_handler, &events, events_play);
}

/* Two QPs that answer each other from their completion handlers. */
struct rally {
	spinlock_t lock;	/* guards all below but @over */
	struct timer_list serve;
	int left;
	int err;
	struct completion over;
	struct ib_qp *a;
};

#define RALLY_LENGTH	500

static int rally_hit(struct rally *r, struct ib_qp *qp)
{
	struct ib_recv_wr recv = {};
	struct ib_send_wr send = { .opcode = IB_WR_SEND };

	lockdep_assert_held(&r->lock);
	return ib_post_recv(qp, &recv, NULL) ?: ib_post_send(qp, &send, NULL);
}

/*
 * A post may complete requests and so call this. If it did with the lock held,
 * it would hang.
 */
static void rally_handler(struct ib_cq *cq, void *context)
{
	struct rally *r = context;
	unsigned long flags;
	struct ib_wc wc;

	spin_lock_irqsave(&r->lock, flags);
	do {
		while (ib_poll_cq(cq, 1, &wc) == 1) {
			if (wc.status)
				r->err = r->err ?: wc.status;
			else if (wc.opcode == IB_WC_RECV && r->left > 0)
				r->err = r->err ?: rally_hit(r, wc.qp);
			if (wc.opcode == IB_WC_RECV)
				r->left--;
			if (r->err || !r->left)
				complete(&r->over);
		}
	} while (ib_req_notify_cq(cq, IB_CQ_NEXT_COMP |
				      IB_CQ_REPORT_MISSED_EVENTS) > 0);
	spin_unlock_irqrestore(&r->lock, flags);
}

static void rally_serve(struct timer_list *timer)
{
	struct rally *r = container_of(timer, struct rally, serve);
	unsigned long flags;

	spin_lock_irqsave(&r->lock, flags);
	r->err = r->err ?: rally_hit(r, r->a);
	spin_unlock_irqrestore(&r->lock, flags);
}

/*
 * Posts from a timer and from the completion handler, with a lock held that the
 * handler takes, too.
 */
static int rally_play(struct pair *p, struct ib_cq *cq, void *context)
{
	struct ib_recv_wr recv = {};
	struct rally *r = context;

	r->a = p->a.qp;
	EXPECT(!ib_post_recv(p->b.qp, &recv, NULL));
	EXPECT(!ib_req_notify_cq(cq, IB_CQ_NEXT_COMP));
	mod_timer(&r->serve, jiffies + 1);
	EXPECT(wait_for_completion_timeout(&r->over, 30 * HZ));
	timer_shutdown_sync(&r->serve);
	EXPECT(!r->err);
	return 0;
}

static int case_rally(const struct target *t)
{
	struct rally *r = kzalloc(sizeof(*r), GFP_KERNEL);
	int err;

	if (!r)
		return -ENOMEM;
	r->left = RALLY_LENGTH;
	spin_lock_init(&r->lock);
	init_completion(&r->over);
	timer_setup(&r->serve, rally_serve, 0);
	err = with_cq(t, rally_handler, r, rally_play);
	timer_shutdown_sync(&r->serve);
	kfree(r);
	return err;
}

static void run_case(const struct target *t, const char *what,
		     enum ib_poll_context ctx, bool with_srq,
		     int (*fn)(struct pair *p))
{
	struct pair_options opt = { .ctx = ctx, .with_srq = with_srq };
	struct pair p;
	int err = pair_init(&p, t, &opt);

	if (!err) {
		err = fn(&p);
		pair_fini(&p);
	}
	report(what, ctx_names[ctx], err);
}

void run_cases(const struct target *t)
{
	int ctx;

	for (ctx = 0; ctx < ARRAY_SIZE(ctx_names); ctx++) {
		run_case(t, "sends", ctx, false, case_sends);
		run_case(t, "drain", ctx, false, case_drain);
	}
	run_case(t, "shared receive queue", IB_POLL_SOFTIRQ, true, case_sends);
	run_case(t, "inline data", IB_POLL_SOFTIRQ, false, case_inline);
	run_case(t, "unsignalled", IB_POLL_DIRECT, false, case_unsignalled);
	run_case(t, "refused", IB_POLL_DIRECT, false, case_refused);
	run_case(t, "bad_wr of sends", IB_POLL_DIRECT, false, case_bad_send);
	run_case(t, "bad_wr of receives", IB_POLL_DIRECT, false,
		 case_bad_recv);
	run_case(t, "bad_wr of an SRQ", IB_POLL_DIRECT, true, case_bad_recv);
	run_case(t, "a QP goes", IB_POLL_DIRECT, false, case_forgotten);
	report("events, and missed ones", NULL, case_events(t));
	report("posting from softirq and from the handler", NULL, case_rally(t));
}
