// SPDX-License-Identifier: GPL-2.0
#include "qp/core.h"

#include <linux/minmax.h>
#include <linux/random.h>

#include "net/train.h"
#include "net/wire.h"
#include "qp/completer.h"
#include "qp/gsi.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/members.h"
#include "qp/requester.h"
#include "qp/responder.h"
#include "qp/rx_queue.h"
#include "qp/ud_recv.h"
#include "qp/userwq.h"
#include "stats.h"

/* IBTA 3.5.3: QP0 and QP1 are management's; the last is multicast. */
#define QPN_FIRST	2
#define QPN_LAST	(SMR_MULTICAST_QPN - 1)

/**
 * smr_qptab_init() - prepare a namespace's table of QPs
 * @tab: the table, zeroed
 */
void smr_qptab_init(struct smr_qptab *tab)
{
	xa_init_flags(&tab->xa, XA_FLAGS_ALLOC | XA_FLAGS_LOCK_BH);
	mutex_init(&tab->members.mutex);
}

/**
 * smr_qptab_fini() - the end of a table, which must be empty by now
 * @tab: the table
 */
void smr_qptab_fini(struct smr_qptab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->xa));
	xa_destroy(&tab->xa);
	mutex_destroy(&tab->members.mutex);
}

/**
 * smr_qp_find() - find a QP by its number
 * @tab: the namespace's table
 * @qpn: the number
 *
 * Context: any.
 * Return: the QP with a reference, which smr_qp_put() drops; or NULL.
 */
struct smr_qp *smr_qp_find(struct smr_qptab *tab, u32 qpn)
{
	struct smr_qp *qp;

	rcu_read_lock();
	qp = xa_load(&tab->xa, qpn);
	if (qp && !refcount_inc_not_zero(&qp->ref))
		qp = NULL;
	rcu_read_unlock();
	return qp;
}

/**
 * smr_qp_put() - drop a reference
 * @qp: the QP
 *
 * Context: any.
 */
void smr_qp_put(struct smr_qp *qp)
{
	if (refcount_dec_and_test(&qp->ref))
		complete(&qp->released);
}

static bool send_task_get(struct smr_task *task)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, send_task);

	return refcount_inc_not_zero(&qp->ref);
}

static void send_task_put(struct smr_task *task)
{
	smr_qp_put(container_of(task, struct smr_qp, send_task));
}

static bool resp_task_get(struct smr_task *task)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, resp_task);

	return refcount_inc_not_zero(&qp->ref);
}

static void resp_task_put(struct smr_task *task)
{
	smr_qp_put(container_of(task, struct smr_qp, resp_task));
}

/* Answers first: they make room in the window for what is to be sent. */
static enum smr_task_verdict send_task_fn(struct smr_task *task,
					  struct smr_run *run)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, send_task);
	enum smr_task_verdict verdict = smr_completer_run(qp, run);

	return verdict == SMR_TASK_IDLE ? smr_requester_run(qp, run) : verdict;
}

static enum smr_task_verdict resp_task_fn(struct smr_task *task,
					  struct smr_run *run)
{
	return smr_responder_run(container_of(task, struct smr_qp, resp_task),
				 run);
}

/* The stack takes packets again. It calls from within itself: go elsewhere. */
static void flow_wake(struct smr_flow *flow)
{
	struct smr_qp *qp = container_of(flow, struct smr_qp, flow);

	smr_task_defer(&qp->send_task);
	smr_task_defer(&qp->resp_task);
}

/**
 * smr_transport_init() - prepare a QP's transport
 * @qp: the QP, zeroed; @qp->user, @qp->pd and the CQs are set
 * @env: what it needs of its device
 *
 * Context: process. smr_transport_fini() ends it.
 */
void smr_transport_init(struct smr_qp *qp, struct smr_env *env)
{
	struct workqueue_struct *wq = qp->user ? qp->user->wq : env->wq;

	qp->env = env;
	refcount_set(&qp->ref, 1);
	init_completion(&qp->released);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	INIT_LIST_HEAD(&qp->rx_node);
	smr_path_init(&qp->path, env->egress);
	smr_flow_init(&qp->flow, flow_wake);
	smr_task_init(&qp->send_task, wq, send_task_fn, send_task_get,
		      send_task_put);
	smr_task_init(&qp->resp_task, wq, resp_task_fn, resp_task_get,
		      resp_task_put);
	smr_completer_init(qp);
	smr_responder_init(qp);
}

/**
 * smr_transport_publish() - give a QP its number and make it findable
 * @qp: the QP, all else done
 *
 * The number is random, so that packets for a QP that is gone rarely hit its
 * successor.
 *
 * Context: process.
 * Return: 0, or an errno from the table; -EBUSY: there is a QP1.
 */
int smr_transport_publish(struct smr_qp *qp)
{
	struct xarray *xa = &qp->env->tab->xa;
	u32 start = get_random_u32_inclusive(QPN_FIRST, QPN_LAST);
	u32 qpn;
	int err;

	if (qp->ibqp.qp_type == IB_QPT_GSI)
		return smr_gsi_publish(qp);
	err = xa_alloc_bh(xa, &qpn, qp, XA_LIMIT(start, QPN_LAST), GFP_KERNEL);
	if (err == -EBUSY)
		err = xa_alloc_bh(xa, &qpn, qp, XA_LIMIT(QPN_FIRST, start),
				  GFP_KERNEL);
	if (err)
		return err;
	qp->ibqp.qp_num = qpn;
	qp->index = qpn;
	smr_mw_owner_init(&qp->windows, qpn);
	return 0;
}

/**
 * smr_transport_fini() - stop a QP for good
 * @qp: the QP; published or not
 *
 * Unpublish, so that nobody finds it any more; stop what runs; wait for who
 * found it before. After that no CPU knows of it, except readers of the
 * table that failed to take a reference; and one that saw a window before that was
 * this QP's may be about to find out that it is not for it. A grace period sees
 * these off.
 *
 * Context: process, may sleep.
 */
void smr_transport_fini(struct smr_qp *qp)
{
	if (qp->index)
		xa_erase_bh(&qp->env->tab->xa, qp->index);
	smr_transport_pause(qp);
	WRITE_ONCE(qp->state, IB_QPS_RESET);
	WRITE_ONCE(qp->dead, true);
	smr_completer_stop(qp);
	smr_flow_fini(&qp->flow, qp->env->egress);
	smr_loopback_flush(qp);
	smr_local_wr_undo(qp);
	smr_qp_put(qp);
	/* A work that was handed a paused task looks at it once and goes. */
	wait_for_completion(&qp->released);
	/* Servers end their connections one by one, thousands of them. */
	synchronize_rcu_expedited();
	if (qp->index)
		smr_mw_owner_release(&qp->windows);
	skb_queue_purge(&qp->comp.queue);
	smr_responder_fini(qp);
	smr_path_fini(&qp->path);
}

/**
 * smr_transport_pause() - keep a QP's tasks from running
 * @qp: the QP
 *
 * What was executed by then is acknowledged.
 *
 * Context: process, may sleep; caller holds @qp->mutex, or is the only one.
 */
void smr_transport_pause(struct smr_qp *qp)
{
	smr_task_disable(&qp->send_task);
	smr_task_disable(&qp->resp_task);
	smr_responder_settle(qp);
}

/**
 * smr_transport_resume() - let a QP's tasks run again, and look once
 * @qp: the QP
 *
 * Context: process; as smr_transport_pause().
 */
void smr_transport_resume(struct smr_qp *qp)
{
	smr_task_enable(&qp->send_task);
	smr_task_enable(&qp->resp_task);
}

/**
 * smr_transport_reset() - back to how a QP is when it is new
 * @qp: the QP, paused
 *
 * Context: process, may sleep.
 */
void smr_transport_reset(struct smr_qp *qp)
{
	smr_completer_stop(qp);
	smr_loopback_flush(qp);
	smr_local_wr_undo(qp);
	smr_completer_reset(qp);
	smr_requester_reset(qp);
	smr_responder_reset(qp);
	qp->drained = false;
}

/**
 * smr_transport_doorbell() - a process has filled its rings
 * @qp: the QP
 * @flags: enum smr_doorbell_flags
 *
 * The caller's context runs the sides it rang for.
 *
 * Context: process.
 */
void smr_transport_doorbell(struct smr_qp *qp, u32 flags)
{
	struct smr_run run = {
		.can_sleep = true,
		.can_fault = true,
		.quota = SMR_QUOTA_PROCESS,
	};

	smr_stat_inc(qp->env->stats, SMR_CNT_DOORBELLS);
	if (flags & SMR_DOORBELL_SQ)
		smr_task_run(&qp->send_task, &run);
	if (flags & SMR_DOORBELL_RQ)
		smr_task_run(&qp->resp_task, &run);
}

/**
 * smr_qp_event() - raise an asynchronous event of a QP
 * @qp: the QP
 * @type: the event
 *
 * Context: any.
 */
void smr_qp_event(struct smr_qp *qp, enum ib_event_type type)
{
	struct ib_event ev = {
		.device = qp->ibqp.device,
		.element.qp = &qp->ibqp,
		.event = type,
	};

	if (qp->ibqp.event_handler)
		qp->ibqp.event_handler(&ev, qp->ibqp.qp_context);
}

/**
 * smr_qp_set_error() - put a QP into the error state
 * @qp: the QP
 *
 * Nothing is flushed before smr_qp_flush(): the completion of what has failed
 * comes first.
 *
 * Context: any; takes @qp->lock.
 */
void smr_qp_set_error(struct smr_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (qp->state != IB_QPS_RESET)
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
}

/**
 * smr_qp_error() - put a QP into the error state, and flush it
 * @qp: the QP
 *
 * Context: any; takes @qp->lock.
 */
void smr_qp_error(struct smr_qp *qp)
{
	smr_qp_set_error(qp);
	smr_qp_flush(qp);
}

/**
 * smr_qp_send_error() - a work request of the send queue has failed
 * @qp: the QP
 *
 * IBTA 10.3.1: that is the end of a reliable connection. Other QPs go on
 * receiving, and can be made to send again. As smr_qp_set_error(), it flushes
 * nothing.
 *
 * Context: any; takes @qp->lock.
 */
void smr_qp_send_error(struct smr_qp *qp)
{
	if (smr_qp_is_reliable(qp)) {
		smr_qp_set_error(qp);
		return;
	}
	spin_lock_bh(&qp->lock);
	if (qp->state == IB_QPS_RTS || qp->state == IB_QPS_SQD)
		WRITE_ONCE(qp->state, IB_QPS_SQE);
	spin_unlock_bh(&qp->lock);
}

/**
 * smr_qp_flush() - have both tasks flush what their state says is over
 * @qp: the QP
 *
 * When the caller is one of them it does so before it lets go.
 *
 * Context: any.
 */
void smr_qp_flush(struct smr_qp *qp)
{
	smr_task_defer(&qp->send_task);
	smr_task_defer(&qp->resp_task);
}

/**
 * smr_qp_receives() - does a QP in this state take requests?
 * @state: the state
 *
 * Return: true when it does.
 */
bool smr_qp_receives(enum ib_qp_state state)
{
	switch (state) {
	case IB_QPS_RTR:
	case IB_QPS_RTS:
	case IB_QPS_SQD:
	case IB_QPS_SQE:
		return true;
	default:
		return false;
	}
}

/*
 * IBTA 9.6.1: what must fit before a packet may touch its QP. A packet that
 * does not is dropped without an answer.
 */
static bool rx_source_ok(struct smr_qp *qp, const struct in6_addr *saddr,
			 const struct in6_addr *daddr)
{
	if (qp->service == SMR_TRANSPORT_UD)
		return smr_qp_has_addr(qp, daddr);
	return ipv6_addr_equal(saddr, &qp->path.daddr) &&
	       ipv6_addr_equal(daddr, &qp->path.saddr);
}

static bool rx_state_ok(const struct smr_qp *qp, u32 op_flags)
{
	enum ib_qp_state state = READ_ONCE(qp->state);

	if (op_flags & SMR_OP_RESPONSE)
		return qp->ibqp.qp_type != IB_QPT_XRC_TGT &&
		       (state == IB_QPS_RTS || state == IB_QPS_SQD);
	return smr_qp_receives(state);
}

static struct smr_qp *rx_lookup(struct smr_qptab *tab,
				const struct sk_buff *skb,
				const struct smr_hdr *hdr)
{
	struct in6_addr saddr, daddr;
	enum smr_counter why;
	struct smr_qp *qp;

	smr_rx_addrs(skb, &saddr, &daddr);
	qp = smr_qp_find_at(tab, hdr->qpn, &daddr);
	if (!qp)
		return NULL;
	if (!rx_state_ok(qp, hdr->op->flags) ||
	    (hdr->opcode & SMR_TRANSPORT_MASK) != qp->service)
		why = SMR_CNT_DROPPED;
	else if (!rx_source_ok(qp, &saddr, &daddr))
		why = SMR_CNT_BAD_SOURCE;
	else if (!smr_pkey_ok(hdr->pkey))
		why = SMR_CNT_BAD_PKEY;
	else
		return qp;
	smr_stat_inc(qp->env->stats, why);
	smr_qp_put(qp);
	return NULL;
}

/**
 * smr_qp_receive() - a packet for a QP has arrived
 * @qp: the QP, with a reference, which is consumed
 * @skb: the packet, described by struct smr_rx_part; consumed
 * @response: it is for the requester, not for the responder
 * @batch: QPs that are to be run
 *
 * Context: as struct smr_rx_ops.rx, whose batch it is.
 */
void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response,
		    struct list_head *batch)
{
	const struct smr_rx_part *part = smr_rx_part(skb);

	smr_stat_add(qp->env->stats, SMR_CNT_RX_PACKETS, part->count);
	smr_stat_add(qp->env->stats, SMR_CNT_RX_BYTES,
		     min(part->count * part->info.seg_len, part->info.len));
	smr_qp_queue(qp, skb, response);
	if (test_and_set_bit(0, &qp->rx_batched))
		smr_qp_put(qp);
	else
		list_add_tail(&qp->rx_node, batch);
}

/* One run of segments for one side of one QP: to whom does it belong? */
static void rx_part(struct smr_qptab *tab, struct sk_buff *skb,
		    struct list_head *batch)
{
	unsigned int len, off = smr_rx_seg(skb, smr_rx_part(skb)->first, &len);
	struct smr_hdr hdr;
	struct smr_qp *qp;

	if (smr_wire_parse(skb, off, len, &hdr))
		goto drop;
	if (hdr.qpn == SMR_MULTICAST_QPN) {
		smr_members_rx(&tab->members, skb, &hdr, batch);
		return;
	}
	qp = rx_lookup(tab, skb, &hdr);
	if (!qp)
		goto drop;
	smr_qp_receive(qp, skb, hdr.op->flags & SMR_OP_RESPONSE, batch);
	return;
drop:
	kfree_skb(skb);
}

/*
 * What tells apart whom a segment is for: the QPN, the P_Key, of which only
 * the first of a run is checked, and which of the QP's sides.
 */
static u64 rx_target(const struct sk_buff *skb, unsigned int seg)
{
	__be32 buf[2];
	const __be32 *bth;

	bth = skb_header_pointer(skb, seg * smr_rx_info(skb)->seg_len,
				 sizeof(buf), buf);
	if (!bth)
		return 0;
	return (be32_to_cpu(bth[1]) & SMR_QPN_MASK) |
	       (smr_wire_op(be32_to_cpu(bth[0]) >> 24)->flags &
		SMR_OP_RESPONSE ? BIT(31) : 0) |
	       (u64)(be32_to_cpu(bth[0]) & 0xffff) << 32;
}

/*
 * GRO joins what has one flow's ports and one size, which may well be for
 * several QPs: cut the train where that changes.
 */
static unsigned int rx_run_len(const struct sk_buff *skb, unsigned int first)
{
	unsigned int end = first + 1;
	u64 target;

	if (end == smr_rx_info(skb)->nsegs)
		return 1;
	target = rx_target(skb, first);
	while (end < smr_rx_info(skb)->nsegs && rx_target(skb, end) == target)
		end++;
	return end - first;
}

static void transport_rx(void *ctx, struct sk_buff *skb,
			 struct list_head *batch)
{
	unsigned int nsegs = smr_rx_info(skb)->nsegs;
	unsigned int first, count;
	struct sk_buff *part;

	for (first = 0; first < nsegs; first += count) {
		count = rx_run_len(skb, first);
		part = first + count == nsegs ? skb :
						skb_clone(skb, GFP_ATOMIC);
		if (!part)
			continue;
		smr_rx_part(part)->first = first;
		smr_rx_part(part)->count = count;
		smr_rx_part(part)->sealed = true;
		rx_part(ctx, part, batch);
	}
}

static void transport_run(void *ctx, struct list_head *batch)
{
	struct smr_qp *qp, *next;

	list_for_each_entry_safe(qp, next, batch, rx_node) {
		list_del_init(&qp->rx_node);
		/* From here on another batch may take it. */
		clear_bit_unlock(0, &qp->rx_batched);
		smp_mb__after_atomic(); /* first let go, then look */
		if (!skb_queue_empty_lockless(&qp->comp.queue))
			smr_task_kick(&qp->send_task);
		if (!skb_queue_empty_lockless(&qp->resp.queue))
			smr_task_kick(&qp->resp_task);
		smr_qp_put(qp);
	}
}

const struct smr_rx_ops smr_transport_rx_ops = {
	.rx = transport_rx,
	.run = transport_run,
};
