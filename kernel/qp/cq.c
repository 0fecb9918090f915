// SPDX-License-Identifier: GPL-2.0
/* Completion queues: filled by QPs, emptied by a process or by the kernel. */
#include "qp/cq.h"

#include <linux/bottom_half.h>
#include <linux/ktime.h>
#include <linux/minmax.h>
#include <linux/sched.h>
#include <net/netlink.h>
#include <rdma/restrack.h>

#include "compat/cleanup.h"
#include "compat/timer.h"
#include "limits.h"
#include "why.h"

/* Maximum number of entries that a resize copies with interrupts off */
#define RESIZE_LOCKED	16

/**
 * struct smr_kernel_cqe - an entry of a kernel consumer's CQ
 * @cqe: as in any CQ
 * @qp: the QP that has completed
 */
struct smr_kernel_cqe {
	struct smr_cqe cqe;
	struct ib_qp *qp;
};

/* No process maps the ring of a kernel consumer. */
static bool cq_of_kernel(const struct smr_cq *cq)
{
	return !smr_ring_is_user(&cq->ring);
}

/*
 * A kernel consumer expects its handler to be called as from an interrupt, and may post in it.
 * With BH off, posting leaves the task to the workqueue, so that tasks of QPs do not nest.
 */
static void cq_wake(struct smr_cq *cq)
{
	if (!cq->ibcq.comp_handler)
		return;
	local_bh_disable();
	cq->ibcq.comp_handler(&cq->ibcq, cq->ibcq.cq_context);
	local_bh_enable();
}

/* Raise the delayed event, if the consumer still waits for it. */
static bool cq_release_held(struct smr_cq *cq)
{
	lockdep_assert_held(&cq->lock);
	if (!cq->held)
		return false;
	cq->held = 0;
	cq->notify = 0;
	return true;
}

static enum hrtimer_restart mod_timer_fn(struct hrtimer *timer)
{
	struct smr_cq *cq = container_of(timer, struct smr_cq, mod_timer);
	bool wake;

	scoped_guard(spinlock_irqsave, &cq->lock)
		wake = cq_release_held(cq);
	if (wake)
		cq_wake(cq);
	return HRTIMER_NORESTART;
}

static int cqe_check(const struct ib_device *dev, u32 cqe,
		     struct smr_why_log *log)
{
	if (!cqe || cqe > dev->attrs.max_cqe)
		return smr_why(log, CQ_CQE, cqe, dev->attrs.max_cqe);
	return 0;
}

/**
 * smr_cq_create() - set up a completion queue
 * @cq: allocated, zeroed, and @cq->ibcq.device set by the core
 * @attr: requested attributes
 * @user: owner of its ring
 * @log: logs a refusal
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP (a flag), -EINVAL (entries or vector out of range),
 * -ENOMEM.
 */
int smr_cq_create(struct smr_cq *cq, const struct ib_cq_init_attr *attr,
		  const struct smr_ring_user *user, struct smr_why_log *log)
{
	const struct ib_device *dev = cq->ibcq.device;
	u32 stride = user->uctx ? sizeof(struct smr_cqe) :
			    sizeof(struct smr_kernel_cqe);
	int ret;

	/* Overwriting entries is not supported: the indices would be wrong. */
	if (attr->flags & ~IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION)
		return smr_why(log, CQ_FLAGS, attr->flags);
	ret = cqe_check(dev, attr->cqe, log);
	if (ret)
		return ret;
	if (attr->comp_vector >= dev->num_comp_vectors)
		return smr_why(log, CQ_VECTOR, attr->comp_vector,
			       dev->num_comp_vectors);

	mutex_init(&cq->resize_mutex);
	spin_lock_init(&cq->lock);
	hrtimer_setup(&cq->mod_timer, mod_timer_fn, CLOCK_MONOTONIC,
		      HRTIMER_MODE_REL_SOFT);
	cq->timestamps = attr->flags & IB_UVERBS_CQ_FLAGS_TIMESTAMP_COMPLETION;
	ret = smr_limit_take(cq->limits, SMR_LIMIT_CQ, log);
	if (ret)
		return ret;
	ret = smr_ring_create(&cq->ring, user, attr->cqe, stride, 0);
	smr_why_errno(log, 0, ret);
	if (ret)
		smr_limit_give(cq->limits, SMR_LIMIT_CQ);
	else
		cq->ibcq.cqe = cq->ring.depth;
	return ret;
}

/**
 * smr_cq_destroy() - end a completion queue
 * @cq: not used by a QP
 *
 * Context: process, may sleep.
 */
void smr_cq_destroy(struct smr_cq *cq)
{
	hrtimer_cancel(&cq->mod_timer);
	smr_ring_destroy(&cq->ring);
	smr_limit_give(cq->limits, SMR_LIMIT_CQ);
}

/* The consumer's index. In a ring that a process maps, it can have any value. */
static u32 cq_cons(const struct smr_cq *cq)
{
	/* Pairs with the consumer's release: it has read the entries before. */
	return smp_load_acquire(&cq->ring.hdr->cons);
}

/*
 * Copy entries from *@done up to @end, each to its index in another ring. The entries do not
 * change, since the consumer must not poll during a resize. A consumer that does poll gets
 * garbage, but affects no other process.
 */
static void cq_copy(const struct smr_cq *cq, struct smr_ring *to, u32 *done,
		    u32 end)
{
	for (; *done != end; ++*done)
		memcpy(smr_ring_slot(to, *done), smr_ring_slot(&cq->ring, *done),
		       to->stride);
}

/*
 * Copy all but the last few entries, without the lock, while QPs add more. -EINVAL: more
 * entries than fit. A corrupt consumer index looks like more entries than any ring has.
 */
static int cq_copy_most(struct smr_cq *cq, struct smr_ring *to, u32 cons,
			u32 *done)
{
	u32 room = min(cq->ring.depth, to->depth);
	u32 end;

	do {
		scoped_guard(spinlock_irqsave, &cq->lock)
			end = cq->ring.idx;
		if (end - cons > room)
			return -EINVAL;
		while (end - *done > RESIZE_LOCKED) {
			cq_copy(cq, to, done, *done + RESIZE_LOCKED);
			cond_resched();
		}
		/* the ring's size limits the number of entries that are added during the loop */
	} while (READ_ONCE(cq->ring.idx) - *done > RESIZE_LOCKED);
	return 0;
}

/* Copy the rest, and switch to the new ring. -EAGAIN: too many are left; -EINVAL as above. */
static int cq_switch_ring(struct smr_cq *cq, struct smr_ring *to, u32 cons,
			  u32 *done)
{
	struct smr_ring *from = &cq->ring;
	u32 room = min(from->depth, to->depth);

	guard(spinlock_irqsave)(&cq->lock);
	if (from->idx - *done > RESIZE_LOCKED)
		return -EAGAIN;
	if (from->idx - cons > room)
		return -EINVAL;
	cq_copy(cq, to, done, from->idx);
	to->hdr->cons = cons;
	to->idx = from->idx;
	smr_ring_publish_prod(to);
	swap(*from, *to);
	cq->ibcq.cqe = cq->ring.depth;
	return 0;
}

static int cq_move(struct smr_cq *cq, struct smr_ring *to,
		   struct smr_why_log *log)
{
	u32 cons = cq_cons(cq), done = cons;
	int ret;

	do {
		ret = cq_copy_most(cq, to, cons, &done);
		if (!ret)
			ret = cq_switch_ring(cq, to, cons, &done);
	} while (ret == -EAGAIN);
	if (ret)
		smr_why(log, CQ_FULL, min(cq->ring.depth, to->depth),
			READ_ONCE(cq->ring.idx) - cons);
	return ret;
}

/**
 * smr_cq_resize() - change the number of entries of a process's CQ
 * @cq: the queue
 * @user: the process
 * @cqe: entries wanted
 * @log: logs a refusal
 *
 * No completion and no notification is lost, provided that the process does not poll during the
 * resize. It continues with the same indices in the new ring.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL (out of range, or more waiting completions than would fit), -ENOMEM. On
 * failure nothing has changed.
 */
int smr_cq_resize(struct smr_cq *cq, const struct smr_ring_user *user, u32 cqe,
		  struct smr_why_log *log)
{
	struct smr_ring ring = {};
	int ret;

	ret = cqe_check(cq->ibcq.device, cqe, log);
	if (ret)
		return ret;
	guard(mutex)(&cq->resize_mutex);
	ret = smr_ring_create(&ring, user, cqe, sizeof(struct smr_cqe), 0);
	if (ret)
		return smr_why_errno(log, 0, ret);
	ret = cq_move(cq, &ring, log);
	/* The old ring; after an error the new one. */
	smr_ring_destroy(&ring);
	return ret;
}

/**
 * smr_cq_moderate() - delay events until there are more completions
 * @cq: the queue
 * @count: number of completions after which to raise an event; 0: no limit
 * @usecs: microseconds after the first completion at which to raise it at the latest; 0: no
 *	limit
 *
 * With both 0 each event is raised at once. An event that is being delayed now is raised.
 *
 * Context: process.
 */
void smr_cq_moderate(struct smr_cq *cq, u16 count, u16 usecs)
{
	bool wake;

	scoped_guard(spinlock_irqsave, &cq->lock) {
		cq->mod_count = count;
		cq->mod_usecs = usecs;
		wake = cq_release_held(cq);
	}
	if (wake)
		cq_wake(cq);
}

static void cq_write(struct smr_cq *cq, struct smr_cqe *cqe, struct ib_qp *qp)
{
	void *slot = smr_ring_slot(&cq->ring, cq->ring.idx);

	cqe->timestamp = cq->timestamps ? ktime_get_real_ns() : 0;
	if (cq_of_kernel(cq))
		((struct smr_kernel_cqe *)slot)->qp = qp;
	else
		cqe->wc_flags &= ~(SMR_WC_FROM_IPV4 | SMR_WC_FROM_VLAN);
	memcpy(slot, cqe, sizeof(*cqe));
	WRITE_ONCE(cq->ring.idx, cq->ring.idx + 1);
	smr_ring_publish_prod(&cq->ring);
}

/* Delay the event of this completion until there are more? */
static bool cq_hold(struct smr_cq *cq)
{
	if (!cq->mod_usecs && cq->mod_count <= 1)
		return false;
	if (++cq->held == cq->mod_count)
		return false;
	if (cq->held == 1 && cq->mod_usecs)
		hrtimer_start(&cq->mod_timer, us_to_ktime(cq->mod_usecs),
			      HRTIMER_MODE_REL_SOFT);
	return true;
}

/* If the CQ is armed for such a completion, disarm it. */
static bool cq_take_notify(struct smr_cq *cq, bool solicited)
{
	if (!cq->notify || (cq->notify == IB_CQ_SOLICITED && !solicited) ||
	    cq_hold(cq))
		return false;
	cq->notify = 0;
	cq->held = 0;
	return true;
}

static void cq_raise_overrun(struct smr_cq *cq)
{
	struct ib_event event = {
		.device = cq->ibcq.device,
		.element.cq = &cq->ibcq,
		.event = IB_EVENT_CQ_ERR,
	};

	if (cq->ibcq.event_handler)
		cq->ibcq.event_handler(&event, cq->ibcq.cq_context);
}

bool smr_cq_post(struct smr_cq *cq, struct smr_cqe *cqe, struct ib_qp *qp,
		 bool solicited)
{
	bool full, first = false, wake = false;

	scoped_guard(spinlock_irqsave, &cq->lock) {
		/* An invalid consumer index counts as full, too. */
		full = cq->overrun ||
		       cq->ring.idx - cq_cons(cq) >= cq->ring.depth;
		if (full) {
			first = !cq->overrun;
			cq->overrun = true;
		} else {
			cq_write(cq, cqe, qp);
			wake = cq_take_notify(cq, solicited);
		}
	}

	if (wake)
		cq_wake(cq);
	if (first)
		cq_raise_overrun(cq);
	return !full;
}

/**
 * smr_cq_notify() - arm a CQ: the next completion raises an event
 * @cq: the queue
 * @flags: enum ib_cq_notify_flags
 *
 * Return: 0; or 1 with IB_CQ_REPORT_MISSED_EVENTS if completions are waiting. They raise no
 *	event, so the caller must poll again.
 */
int smr_cq_notify(struct smr_cq *cq, enum ib_cq_notify_flags flags)
{
	u8 notify = flags & IB_CQ_SOLICITED_MASK;

	guard(spinlock_irqsave)(&cq->lock);
	/* Do not weaken a CQ that is armed for any completion. */
	if (cq->notify != IB_CQ_NEXT_COMP)
		cq->notify = notify;
	return (flags & IB_CQ_REPORT_MISSED_EVENTS) &&
	       cq->ring.idx != cq_cons(cq);
}

/* Set enum ib_wc_flags, and the fields that they make valid. */
static void wc_set_flags(const struct smr_cqe *cqe, struct ib_wc *wc)
{
	if (cqe->wc_flags & SMR_WC_WITH_IMM)
		wc->wc_flags |= IB_WC_WITH_IMM;
	if (cqe->wc_flags & SMR_WC_WITH_INV)
		wc->wc_flags |= IB_WC_WITH_INVALIDATE;
	if (cqe->wc_flags & SMR_WC_FROM_VLAN)
		wc->wc_flags |= IB_WC_WITH_VLAN;
	if (cqe->wc_flags & SMR_WC_GRH) {
		wc->wc_flags |= IB_WC_GRH | IB_WC_WITH_NETWORK_HDR_TYPE;
		wc->network_hdr_type = cqe->wc_flags & SMR_WC_FROM_IPV4 ?
				       RDMA_NETWORK_IPV4 : RDMA_NETWORK_IPV6;
	}
}

/* A process gets the IP version in sl, a kernel consumer in network_hdr_type. */
static void cqe_to_wc(const struct smr_kernel_cqe *kcqe, struct ib_wc *wc)
{
	const struct smr_cqe *cqe = &kcqe->cqe;

	*wc = (struct ib_wc) {
		.wr_id = cqe->wr_id,
		.status = cqe->status,
		.opcode = cqe->opcode,
		.vendor_err = cqe->vendor_err,
		.byte_len = cqe->byte_len,
		.qp = kcqe->qp,
		.ex.invalidate_rkey = cqe->imm_or_rkey,
		.src_qp = cqe->src_qp,
		.slid = cqe->slid,
		.pkey_index = cqe->pkey_index,
		.dlid_path_bits = cqe->dlid_path_bits,
		.port_num = 1,
		.vlan_id = cqe->vlan_id,
	};
	memcpy(wc->smac, cqe->smac, sizeof(wc->smac));
	wc_set_flags(cqe, wc);
}

/**
 * smr_cq_poll() - poll the CQ of a kernel consumer
 * @cq: the queue, created without a user context
 * @num: size of @wc
 * @wc: filled in
 *
 * Return: number of completions.
 */
int smr_cq_poll(struct smr_cq *cq, int num, struct ib_wc *wc)
{
	u32 cons;
	int n;

	guard(spinlock_irqsave)(&cq->lock);
	cons = cq_cons(cq);
	for (n = 0; n < num && cons != cq->ring.idx; n++)
		cqe_to_wc(smr_ring_slot(&cq->ring, cons++), &wc[n]);
	cq->ring.hdr->cons = cons;
	return n;
}

/**
 * smr_cq_forget() - drop the completions of a QP that is being destroyed
 * @cq: one of its CQs
 * @qp: the QP, which posts no more completions
 *
 * Completions of kernel consumers have a pointer to the QP. Those of a process have none, and
 * are kept.
 */
void smr_cq_forget(struct smr_cq *cq, const struct ib_qp *qp)
{
	const struct smr_kernel_cqe *kcqe;
	u32 from, to;

	if (!cq_of_kernel(cq))
		return;
	guard(spinlock_irqsave)(&cq->lock);
	to = cq_cons(cq);
	for (from = to; from != cq->ring.idx; from++) {
		kcqe = smr_ring_slot(&cq->ring, from);
		if (kcqe->qp == qp)
			continue;
		if (from != to)
			memcpy(smr_ring_slot(&cq->ring, to), kcqe,
			       sizeof(*kcqe));
		to++;
	}
	WRITE_ONCE(cq->ring.idx, to);
	smr_ring_publish_prod(&cq->ring);
}

/**
 * smr_cq_fill_res() - add softmr's part to `rdma resource show cq -dd`
 * @msg: the message
 * @cq: the queue
 *
 * Adds the number of completions that are not polled yet, whether the CQ is armed, and whether a
 * completion was lost. So a consumer that does not poll can be told from one that waits for an
 * event that it has not armed.
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int smr_cq_fill_res(struct sk_buff *msg, struct smr_cq *cq)
{
	u32 pending, overrun, armed;
	struct nlattr *table;

	scoped_guard(spinlock_irqsave, &cq->lock) {
		pending = min(cq->ring.idx - READ_ONCE(cq->ring.hdr->cons),
			      cq->ring.depth);
		overrun = cq->overrun;
		armed = !!cq->notify;
	}
	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "pending", pending) ||
	    rdma_nl_put_driver_u32(msg, "armed", armed) ||
	    rdma_nl_put_driver_u32(msg, "overrun", overrun)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
