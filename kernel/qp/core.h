/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The transport as those above it see it: the QP, the table that finds it,
 * and the calls that start and stop it.
 */
#ifndef SMR_TRANSPORT_H
#define SMR_TRANSPORT_H

#include <linux/container_of.h>
#include <linux/mutex.h>
#include <linux/netdevice.h>
#include <linux/refcount.h>
#include <linux/spinlock.h>
#include <linux/xarray.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "qp/completer.h"
#include "qp/loopback.h"
#include "qp/members.h"
#include "mw.h"
#include "net/udp_rx.h"
#include "qp/requester.h"
#include "qp/responder.h"
#include "qp/sq.h"
#include "qp/task.h"
#include "net/train.h"

struct smr_ahtab;
struct smr_cq;
struct smr_keys;
struct smr_pd;
struct smr_srq;
struct smr_userwq;
struct smr_srqtab;
struct smr_stats;
struct smr_steer;

/**
 * struct smr_qptab - the QPs of one network namespace
 * @xa: QP number -> struct smr_qp; RCU for readers
 * @members: which of them are attached to multicast groups
 * @rx_mem: bytes of memory that packets which wait for them take beyond what
 *	each of them has
 *
 * QP numbers are unique in the namespace, whatever device they are of, since
 * all its devices share the sockets.
 */
struct smr_qptab {
	struct xarray xa;
	struct smr_members members;
	atomic_long_t rx_mem;
};

/**
 * struct smr_env - what a QP needs of its device; part of the device
 * @egress: what it sends from
 * @tab: the namespace's QPs
 * @ahs: the device's address vectors
 * @srqs: the device's XRC shared receive queues
 * @keys: the device's keys
 * @steer: the device's flow steering rules
 * @stats: the device's counters
 * @wq: where left-over work of consumers in the kernel goes
 * @ndev: the netdev
 * @loopback: this link takes the same-host shortcut
 * @nr_groups: multicast groups that QPs are attached to; @tab->members.mutex
 *
 * All else is constant while the device has QPs.
 */
struct smr_env {
	struct smr_egress *egress;
	struct smr_qptab *tab;
	struct smr_ahtab *ahs;
	struct smr_srqtab *srqs;
	struct smr_keys *keys;
	struct smr_steer *steer;
	struct smr_stats *stats;
	struct workqueue_struct *wq;
	struct net_device *ndev;
	bool loopback;
	u32 nr_groups;
};

/* What fits into the netdev's packets; the smallest there is at the least. */
static inline enum ib_mtu smr_env_mtu(const struct smr_env *env)
{
	return iboe_get_mtu(READ_ONCE(env->ndev->mtu)) ?: IB_MTU_256;
}

/**
 * struct smr_qp - a queue pair
 * @ibqp: the core's part
 * @env: what it needs of its device
 * @user: whose workqueue its left-over work goes to; NULL: the kernel's
 * @pd: protection domain; NULL for XRC_TGT
 * @scq: completion queue of sends; NULL for XRC_TGT
 * @rcq: completion queue of receives; NULL for XRC
 * @index: where in @env->tab it is; 0: nowhere
 * @ref: one for its owner, one for each work, batch or look-up
 * @released: completed when @ref has dropped to 0
 * @mutex: one control verb at a time
 * @lock: guards @state and @attr's writers; BH-safe
 * @state: read without the lock
 * @attr: what modify_qp set; the tasks may read it as the fields they need
 *	are only changed while they are disabled
 * @mtu: path MTU, bytes of payload, of a connected QP
 * @service: enum smr_transport, which packets are for it; constant
 * @sig_all: each send is signalled
 * @no_echo: it is not to receive multicasts of its own
 * @drained: IB_EVENT_SQ_DRAINED was raised
 * @dead: being destroyed: its tasks will never run again
 * @path: how to reach the peer
 * @flow: wakes both tasks when the stack takes packets again
 * @send_task: runs completer and requester
 * @resp_task: runs the responder
 * @rx_mem: bytes of memory that the packets in its queues take
 * @rx_node: on a receive batch, which then holds a reference
 * @rx_batched: it is on one; atomic bit 0
 * @sq: send queue
 * @rq: receive queue; max_wr is 0 with an SRQ
 * @srq: the shared receive queue instead, or NULL
 * @req: requester
 * @comp: completer
 * @resp: responder
 * @windows: type 2 windows that are tied to this QP; has its own lock
 * @handed: what the requester handed to a peer on this host
 */
struct smr_qp {
	struct ib_qp ibqp;
	struct smr_env *env;
	struct smr_userwq *user;
	struct smr_pd *pd;
	struct smr_cq *scq;
	struct smr_cq *rcq;
	unsigned long index;
	refcount_t ref;
	struct completion released;
	struct mutex mutex;	/* control verbs */
	spinlock_t lock;	/* state */
	enum ib_qp_state state;
	struct ib_qp_attr attr;
	u32 mtu;
	u8 service;
	bool sig_all;
	bool no_echo;
	bool drained;
	bool dead;
	struct smr_path path;
	struct smr_flow flow;
	struct smr_task send_task;
	struct smr_task resp_task;
	atomic_t rx_mem;
	struct list_head rx_node;
	unsigned long rx_batched;
	struct smr_sq sq;
	struct smr_rq rq;
	struct smr_srq *srq;
	struct smr_requester req;
	struct smr_completer comp;
	struct smr_responder resp;
	struct smr_mw_owner windows;
	struct smr_local handed;
};

/**
 * struct smr_rx_part - what the transport notes in a packet it has queued
 * @info: the receive path's part
 * @first: the first segment that is for this side of this QP
 * @count: how many are
 * @sealed: it came over the wire, and has an ICRC
 * @qp: for which it waits, in whose queue it is
 * @pooled: it counts against the namespace's pool, too; see qp/rx_queue.c
 */
struct smr_rx_part {
	struct smr_rx_info info;
	u32 first;
	u32 count;
	bool sealed;
	bool pooled;
	struct smr_qp *qp;
};

static_assert(sizeof(struct smr_rx_part) <=
	      sizeof_field(struct sk_buff, cb));

static inline struct smr_rx_part *smr_rx_part(const struct sk_buff *skb)
{
	return (struct smr_rx_part *)skb->cb;
}

/* Where in the packet a segment begins, and how long it is. */
static inline unsigned int smr_rx_seg(const struct sk_buff *skb,
				      unsigned int seg, unsigned int *len)
{
	const struct smr_rx_info *info = smr_rx_info(skb);
	unsigned int off = seg * info->seg_len;

	*len = min(info->seg_len, info->len - off);
	return off;
}

static inline struct smr_qp *to_smr_qp(const struct ib_qp *ibqp)
{
	return container_of(ibqp, struct smr_qp, ibqp);
}

/* Does the peer of a QP answer what it is sent? */
static inline bool smr_qp_is_reliable(const struct smr_qp *qp)
{
	return qp->service == SMR_TRANSPORT_RC ||
	       qp->service == SMR_TRANSPORT_XRC;
}

void smr_qptab_init(struct smr_qptab *tab);
void smr_qptab_fini(struct smr_qptab *tab);

void smr_transport_init(struct smr_qp *qp, struct smr_env *env);
int smr_transport_publish(struct smr_qp *qp);
void smr_transport_fini(struct smr_qp *qp);
void smr_transport_pause(struct smr_qp *qp);
void smr_transport_resume(struct smr_qp *qp);
void smr_transport_reset(struct smr_qp *qp);
void smr_transport_doorbell(struct smr_qp *qp, u32 flags);

struct smr_qp *__must_check smr_qp_find(struct smr_qptab *tab, u32 qpn);
void smr_qp_put(struct smr_qp *qp);
void smr_qp_event(struct smr_qp *qp, enum ib_event_type type);
void smr_qp_set_error(struct smr_qp *qp);
void smr_qp_error(struct smr_qp *qp);
void smr_qp_send_error(struct smr_qp *qp);
void smr_qp_flush(struct smr_qp *qp);
bool smr_qp_receives(enum ib_qp_state state);
void smr_qp_receive(struct smr_qp *qp, struct sk_buff *skb, bool response,
		    struct list_head *batch);

extern const struct smr_rx_ops smr_transport_rx_ops;

#endif /* SMR_TRANSPORT_H */
