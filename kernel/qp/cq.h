/* SPDX-License-Identifier: GPL-2.0 */
/* Completion queues. */
#ifndef SMR_CQ_H
#define SMR_CQ_H

#include <linux/container_of.h>
#include <linux/hrtimer.h>
#include <linux/mutex.h>
#include <linux/spinlock.h>
#include <rdma/ib_verbs.h>

#include "qp/ring.h"

struct sk_buff;
struct smr_limits;
struct smr_why_log;

/*
 * Bits of a completion's wc_flags for kernel consumers. smr_cq_post() clears them for a
 * process.
 */
#define SMR_WC_FROM_IPV4	BIT(30)
#define SMR_WC_FROM_VLAN	BIT(31)

/**
 * struct smr_cq - a completion queue
 * @ibcq: the core's part
 * @resize_mutex: serialises resizes; held while the ring is copied, which @lock is not
 * @lock: guards all below; IRQ-safe, because kernel consumers may poll and arm in any context
 * @ring: the completions
 * @notify: armed for 0 (nothing), IB_CQ_SOLICITED or IB_CQ_NEXT_COMP
 * @overrun: a completion was lost; the CQ is in error
 * @timestamps: completions carry the time; constant
 * @mod_count: number of completions that an event waits for; 0: no limit
 * @mod_usecs: microseconds after the first completion that an event waits at most; 0: no limit
 * @held: completions since the event began to wait
 * @mod_timer: ends the wait after @mod_usecs
 * @limits: of its user, or of the device for a kernel consumer; constant
 */
struct smr_cq {
	struct ib_cq ibcq;
	/* held while the ring is copied, which @lock is not */
	struct mutex resize_mutex;
	/* the lock of the queue, see above */
	spinlock_t lock;
	struct smr_ring ring;
	u8 notify;
	bool overrun;
	bool timestamps;
	u16 mod_count;
	u16 mod_usecs;
	u32 held;
	struct hrtimer mod_timer;
	struct smr_limits *limits;
};

static inline struct smr_cq *to_smr_cq(const struct ib_cq *ibcq)
{
	return container_of(ibcq, struct smr_cq, ibcq);
}

int smr_cq_create(struct smr_cq *cq, const struct ib_cq_init_attr *attr,
		  const struct smr_ring_user *user, struct smr_why_log *log);
int smr_cq_resize(struct smr_cq *cq, const struct smr_ring_user *user, u32 cqe,
		  struct smr_why_log *log);
void smr_cq_destroy(struct smr_cq *cq);
void smr_cq_moderate(struct smr_cq *cq, u16 count, u16 usecs);
int smr_cq_notify(struct smr_cq *cq, enum ib_cq_notify_flags flags);
int smr_cq_poll(struct smr_cq *cq, int num, struct ib_wc *wc);
int smr_cq_fill_res(struct sk_buff *msg, struct smr_cq *cq);
void smr_cq_forget(struct smr_cq *cq, const struct ib_qp *qp);

/**
 * smr_cq_post() - add a completion
 * @cq: the queue
 * @cqe: the completion; copied. The timestamp is filled in here, and flags that are not for
 *	processes are cleared
 * @qp: the QP that a kernel consumer finds in struct ib_wc; call smr_cq_forget() before it is
 *	freed
 * @solicited: the completion is solicited, or an error
 *
 * A full CQ loses the completion and, once, raises IB_EVENT_CQ_ERR. Events are
 * raised without the lock held.
 *
 * Context: any; takes cq->lock.
 * Return: true; false if the completion was lost: the caller puts its QP into
 * the error state.
 */
bool smr_cq_post(struct smr_cq *cq, struct smr_cqe *cqe, struct ib_qp *qp,
		 bool solicited);

#endif /* SMR_CQ_H */
