// SPDX-License-Identifier: GPL-2.0
/*
 * Initialize, publish, pause, reset and destroy the transport of a QP, and run its send side.
 * Documentation/lifetime.rst explains the order.
 */
#include "qp/life.h"

#include <linux/minmax.h>
#include <linux/random.h>
#include <linux/slab.h>

#include "compat/cleanup.h"
#include "mw.h"
#include "net/path.h"
#include "net/train.h"
#include "net/wire.h"
#include "qp/completer.h"
#include "qp/core.h"
#include "qp/gsi.h"
#include "qp/local_wr.h"
#include "qp/loopback.h"
#include "qp/pace.h"
#include "qp/paging.h"
#include "qp/requester.h"
#include "qp/responder.h"
#include "qp/task.h"
#include "qp/user.h"
#include "stats.h"

/* IBTA 3.5.3: QP0 and QP1 are for management; the last is multicast. */
#define QPN_FIRST	2
#define QPN_LAST	(SMR_MULTICAST_QPN - 1)
/* A random number is nearly always free after one or two tries. */
#define QPN_TRIES	1024

static bool send_task_get(struct smr_task *task)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, send_task);

	return smr_qp_get(qp->handle);
}

static void send_task_put(struct smr_task *task)
{
	smr_qp_put(container_of(task, struct smr_qp, send_task));
}

static bool resp_task_get(struct smr_task *task)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, resp_task);

	return smr_qp_get(qp->handle);
}

static void resp_task_put(struct smr_task *task)
{
	smr_qp_put(container_of(task, struct smr_qp, resp_task));
}

/*
 * Does the send side wait for pages? Then answers, timeouts and further work requests wait as
 * well. A QP in error flushes its queue without the pages.
 */
static bool send_waits(const struct smr_qp *qp)
{
	return (smr_paging_waits(&qp->comp.paging) ||
		smr_paging_waits(&qp->req.paging)) &&
	       (READ_ONCE(qp->state) == IB_QPS_RTS ||
		READ_ONCE(qp->state) == IB_QPS_SQD);
}

/* Answers first: they open the window. */
static enum smr_step send_task_fn(struct smr_task *task, struct smr_budget *budget)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, send_task);
	enum smr_step step;

	if (send_waits(qp))
		return SMR_STEP_WAIT;
	step = smr_completer_run(qp, budget);
	smr_paging_settle(&qp->comp.paging);
	if (step != SMR_STEP_WAIT || send_waits(qp))
		return step;
	step = smr_requester_run(qp, budget);
	smr_paging_settle(&qp->req.paging);
	return step;
}

static enum smr_step resp_task_fn(struct smr_task *task, struct smr_budget *budget)
{
	struct smr_qp *qp = container_of(task, struct smr_qp, resp_task);
	enum smr_step step = smr_responder_run(qp, budget);

	smr_paging_settle(&qp->resp.paging);
	return step;
}

/* The stack accepts packets again. */
static void egress_wake(void *owner)
{
	struct smr_qp *qp = owner;

	smr_task_defer(&qp->send_task);
	smr_task_defer(&qp->resp_task);
}

/**
 * smr_qp_init() - initialize a QP's transport
 * @qp: the QP, zeroed; @qp->user, @qp->pd and the CQs are set
 * @env: of its device
 *
 * Context: process, may sleep.
 * Return: 0, and then smr_qp_fini() must be called; -ENOMEM; or the errors of
 *	smr_egress_create().
 */
int smr_qp_init(struct smr_qp *qp, struct smr_env *env)
{
	struct workqueue_struct *wq = qp->user ? qp->user->wq : env->wq;

	qp->cwnd.ops = env->cc;
	qp->egress = smr_egress_create(env->net, qp->user, egress_wake, qp);
	if (IS_ERR(qp->egress))
		return PTR_ERR(qp->egress);
	if (env->cc->rate && smr_qp_is_reliable(qp)) {
		qp->pace = smr_pace_create(&qp->send_task);
		if (!qp->pace)
			goto no_memory;
	}
	qp->handle = kzalloc(sizeof(*qp->handle), GFP_KERNEL_ACCOUNT);
	if (!qp->handle)
		goto no_memory;
	refcount_set(&qp->handle->ref, 1);
	qp->handle->qp = qp;
	qp->env = env;
	qp->packets = qp->user ? &qp->user->account.packets : &env->packets;
	init_completion(&qp->released);
	mutex_init(&qp->mutex);
	spin_lock_init(&qp->lock);
	smr_path_init(&qp->path, env->net);
	smr_task_init(&qp->send_task, wq, send_task_fn, send_task_get,
		      send_task_put);
	smr_task_init(&qp->resp_task, wq, resp_task_fn, resp_task_get,
		      resp_task_put);
	smr_inval_init(&qp->req.inval, &qp->send_task);
	smr_inval_init(&qp->resp.inval, &qp->resp_task);
	smr_paging_init(&qp->req.paging, &qp->send_task);
	smr_paging_init(&qp->comp.paging, &qp->send_task);
	smr_paging_init(&qp->resp.paging, &qp->resp_task);
	smr_completer_init(qp);
	smr_responder_init(qp);
	return 0;

no_memory:
	smr_pace_destroy(qp->pace);
	smr_egress_destroy(qp->egress);
	return -ENOMEM;
}

/**
 * smr_qp_publish() - give a QP its number and put it into the table
 * @qp: complete in all other respects
 *
 * The number is random, so that packets for a destroyed QP rarely reach a new one.
 *
 * Context: process, may sleep.
 * Return: 0; -ENOMEM; -EBUSY: the device already has a QP1; -ENOSPC: the table is almost full.
 */
int smr_qp_publish(struct smr_qp *qp)
{
	int tries, err;

	if (qp->ibqp.qp_type == IB_QPT_GSI)
		return smr_gsi_publish(qp);
	for (tries = 0; tries < QPN_TRIES; tries++) {
		u32 qpn = get_random_u32_inclusive(QPN_FIRST, QPN_LAST);

		qp->ibqp.qp_num = qpn;
		qp->handle->qpn = qpn;
		err = smr_qptab_add(qp->env->tab, qp->handle);
		if (err == -EEXIST || err == -EBUSY)
			continue;
		if (err)
			return err;
		qp->published = true;
		smr_mw_owner_init(&qp->windows, qpn);
		return 0;
	}
	return -ENOSPC;
}

static void qp_unpublish(struct smr_qp *qp)
{
	if (!qp->published)
		return;
	if (qp->ibqp.qp_type == IB_QPT_GSI)
		smr_gsi_unpublish(qp);
	else
		smr_qptab_del(qp->env->tab, qp->handle);
}

/* Abandon the faults of a paused QP: their pages may never arrive. */
static void qp_cancel_faults(struct smr_qp *qp)
{
	smr_paging_cancel(&qp->req.paging);
	smr_paging_cancel(&qp->comp.paging);
	smr_paging_cancel(&qp->resp.paging);
}

/*
 * Finish the binds and invalidates that a paused QP has begun. They wait for copies on other CPUs,
 * which wait for nothing.
 */
static void qp_finish_invals(struct smr_qp *qp)
{
	smr_inval_finish_sync(qp, &qp->req.inval);
	smr_inval_finish_sync(qp, &qp->resp.inval);
}

/**
 * smr_qp_fini() - stop a QP for good
 * @qp: published or not
 *
 * Unpublish it; pause its tasks and stop its timers; wait for references that were taken
 * before. Readers of the table that failed to take a reference may still look at the handle,
 * which is freed after a grace period. The function does not wait for that: a server may close
 * thousands of connections one by one. Documentation/lifetime.rst explains each step.
 *
 * Context: process, may sleep.
 */
void smr_qp_fini(struct smr_qp *qp)
{
	qp_unpublish(qp);
	smr_qp_pause(qp);
	/* Nobody else can answer it from now on, and its requester waits. */
	smr_loopback_refuse(qp);
	/* A context that still has a reference may be about to put it into the error state. */
	scoped_guard(spinlock_bh, &qp->lock)
		WRITE_ONCE(qp->state, IB_QPS_RESET);
	smr_completer_stop(qp);
	smr_pace_destroy(qp->pace);
	smr_egress_destroy(qp->egress);
	qp_cancel_faults(qp);
	smr_loopback_flush(qp);
	qp_finish_invals(qp);
	smr_peer_release(&qp->env->tab->peers, &qp->claim);
	smr_qp_put(qp);
	/* A queued work item of a paused task returns at once. */
	wait_for_completion(&qp->released);
	/* A holder of a reference may have put an operation into the inbox meanwhile. */
	smr_loopback_refuse(qp);
	kfree_rcu(qp->handle, rcu);
	if (qp->published)
		smr_mw_owner_release(&qp->windows);
	smr_completer_fini(qp);
	smr_responder_fini(qp);
	smr_path_fini(&qp->path);
	/* Readers of @ends hold a reference on the QP, and all references are dropped. */
	kfree(rcu_dereference_protected(qp->ends, true));
}

/**
 * smr_qp_pause() - stop a QP's tasks
 * @qp: the QP
 *
 * Requests that were already executed are acknowledged.
 *
 * Context: process, may sleep; caller holds @qp->mutex, or is the only user of the QP.
 */
void smr_qp_pause(struct smr_qp *qp)
{
	smr_task_disable(&qp->send_task);
	smr_task_disable(&qp->resp_task);
	smr_responder_ack_executed(qp);
}

/**
 * smr_qp_resume() - restart a QP's tasks, and run each once
 * @qp: the QP
 *
 * Context: process; as smr_qp_pause().
 */
void smr_qp_resume(struct smr_qp *qp)
{
	smr_task_enable(&qp->send_task);
	smr_task_enable(&qp->resp_task);
}

/**
 * smr_qp_reset() - return a QP to its initial state
 * @qp: the QP, paused
 *
 * Context: process, may sleep.
 */
void smr_qp_reset(struct smr_qp *qp)
{
	smr_completer_stop(qp);
	smr_pace_set(qp->pace, 0, 0);
	qp_cancel_faults(qp);
	smr_loopback_flush(qp);
	qp_finish_invals(qp);
	smr_completer_reset(qp);
	smr_requester_reset(qp);
	smr_responder_reset(qp);
	smr_peer_release(&qp->env->tab->peers, &qp->claim);
	qp->drained = false;
}

/**
 * smr_qp_ring_sq() - run the send task of a QP whose process has posted send requests
 * @qp: the QP
 *
 * It runs in the caller's context.
 *
 * Context: process.
 */
void smr_qp_ring_sq(struct smr_qp *qp)
{
	struct smr_budget budget = {
		.can_sleep = true,
		.left = SMR_BUDGET_PROCESS,
	};

	smr_qp_inc(qp, SMR_CNT_DOORBELLS);
	smr_task_run(&qp->send_task, &budget);
}

/**
 * smr_qp_ring_rq() - run the response task of a QP that waits for receive requests
 * @qp: the QP
 *
 * It runs in the caller's context. It executes operations of peers, whose QPs wait for its end.
 * So it runs with BH off and is not preempted.
 *
 * Context: process.
 */
void smr_qp_ring_rq(struct smr_qp *qp)
{
	smr_qp_inc(qp, SMR_CNT_DOORBELLS);
	guard(smr_bh)();
	smr_task_kick(&qp->resp_task);
}
