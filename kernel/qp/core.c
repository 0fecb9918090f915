// SPDX-License-Identifier: GPL-2.0
/*
 * Look-up of QPs by number, references on them, and the changes of state that an error causes.
 */
#include "qp/core.h"

#include <linux/if_vlan.h>
#include <linux/rhashtable.h>
#include <rdma/ib_cache.h>

#include "compat/cleanup.h"
#include "qp/cq.h"

/* QP numbers are random already, so no hash is needed. */
static u32 qpn_hash(const void *qpn, u32 len, u32 seed)
{
	return *(const u32 *)qpn;
}

static int qpn_cmp(struct rhashtable_compare_arg *arg, const void *handle)
{
	return ((const struct smr_qp_handle *)handle)->qpn !=
	       *(const u32 *)arg->key;
}

static const struct rhashtable_params qpn_params = {
	.head_offset = offsetof(struct smr_qp_handle, node),
	.key_offset = offsetof(struct smr_qp_handle, qpn),
	.key_len = sizeof_field(struct smr_qp_handle, qpn),
	.hashfn = qpn_hash,
	.obj_cmpfn = qpn_cmp,
	.automatic_shrinking = true,
};

/**
 * smr_qptab_init() - initialize a namespace's table of QPs
 * @tab: the table, zeroed
 *
 * Return: 0 or -ENOMEM.
 */
int smr_qptab_init(struct smr_qptab *tab)
{
	int ret;

	xa_init_flags(&tab->gsi, XA_FLAGS_ACCOUNT);
	mutex_init(&tab->members.mutex);
	INIT_LIST_HEAD(&tab->captures);
	ret = rhashtable_init(&tab->hash, &qpn_params);
	if (ret)
		return ret;
	ret = smr_peers_init(&tab->peers);
	if (ret)
		rhashtable_destroy(&tab->hash);
	return ret;
}

/**
 * smr_qptab_fini() - free a table
 * @tab: the table, empty
 */
void smr_qptab_fini(struct smr_qptab *tab)
{
	WARN_ON_ONCE(!xa_empty(&tab->gsi) || atomic_read(&tab->hash.nelems));
	smr_peers_fini(&tab->peers);
	rhashtable_destroy(&tab->hash);
	xa_destroy(&tab->gsi);
	mutex_destroy(&tab->members.mutex);
}

/**
 * smr_qptab_add() - make a QP visible to look-ups by number
 * @tab: the namespace's table
 * @handle: of the QP, with its number
 *
 * Context: process, may sleep.
 * Return: 0; -EEXIST: another QP has the number; -EBUSY: the bucket is full while the table
 *	grows; -ENOMEM.
 */
int smr_qptab_add(struct smr_qptab *tab, struct smr_qp_handle *handle)
{
	return rhashtable_lookup_insert_fast(&tab->hash, &handle->node,
					     qpn_params);
}

/**
 * smr_qptab_del() - hide a QP from look-ups
 * @tab: the namespace's table
 * @handle: the QP's; readers may access it for a grace period
 *
 * Context: process, may sleep.
 */
void smr_qptab_del(struct smr_qptab *tab, struct smr_qp_handle *handle)
{
	rhashtable_remove_fast(&tab->hash, &handle->node, qpn_params);
}

/**
 * smr_qptab_stray() - count and log a packet for a QP number that does not exist
 * @tab: the namespace's table
 * @bth: its BTH
 * @from: address that it came from
 * @count: number of such packets
 *
 * Context: any.
 */
void smr_qptab_stray(struct smr_qptab *tab, const struct smr_bth *bth,
		     const struct in6_addr *from, u32 count)
{
	struct smr_abi_why rec = {
		.qpn = bth->qpn,
		.opcode = bth->opcode,
		.psn = bth->psn,
	};

	atomic64_add(count, &tab->strays);
	if (!smr_why_may_add(tab->whys, SMR_WHY_DROP_NO_QP))
		return;
	memcpy(rec.peer, from, sizeof(rec.peer));
	smr_why_add(tab->whys, SMR_REASON(DROP_NO_QP, bth->opcode), &rec);
}

/**
 * smr_qp_get() - get a reference on a QP that may be being destroyed
 * @handle: its handle, found in the same RCU read section, or kept alive by the caller
 *
 * Return: the QP with a reference, which smr_qp_put() drops; or NULL.
 */
struct smr_qp *smr_qp_get(struct smr_qp_handle *handle)
{
	return refcount_inc_not_zero(&handle->ref) ? handle->qp : NULL;
}

/**
 * smr_qp_find() - find a QP by its number
 * @tab: the namespace's table
 * @qpn: the number
 *
 * Return: the QP with a reference, which smr_qp_put() drops; or NULL.
 */
struct smr_qp *smr_qp_find(struct smr_qptab *tab, u32 qpn)
{
	struct smr_qp_handle *handle;

	guard(rcu)();
	handle = rhashtable_lookup(&tab->hash, &qpn, qpn_params);
	return handle ? smr_qp_get(handle) : NULL;
}

/**
 * smr_qp_put() - drop a reference
 * @qp: the QP
 */
void smr_qp_put(struct smr_qp *qp)
{
	if (refcount_dec_and_test(&qp->handle->ref))
		complete(&qp->released);
}

/**
 * smr_env_has_addr() - is this an address of a device?
 * @env: of the device
 * @ibdev: the device
 * @addr: an IPv4 address in its mapped form, or an IPv6 address
 * @iif: the index of the netdev at which it is this address. Only a link-local address may
 *	belong to another host on another netdev; the loopback netdev stands for all
 *
 * Devices of a namespace share its sockets, and a datagram for one device must not
 * reach a QP of another.
 *
 * Context: any, inside an RCU read section.
 * Return: true if it is.
 */
bool smr_env_has_addr(struct smr_env *env, struct ib_device *ibdev,
		      const struct in6_addr *addr, int iif)
{
	bool scoped = smr_addr_is_scoped(addr, iif);
	struct smr_own *own = &env->own;
	const struct ib_gid_attr *attr;
	struct net_device *ndev = NULL;
	int removed;

	if (smr_own_knows(own, addr, scoped ? iif : 0, &removed))
		return true;
	if (scoped) {
		ndev = dev_get_by_index_rcu(env->net, iif);
		if (!ndev)
			return false;
	}
	attr = rdma_find_gid_by_port(ibdev, (const union ib_gid *)addr,
				     IB_GID_TYPE_ROCE_UDP_ENCAP, 1, ndev);
	if (IS_ERR(attr))
		return false;
	rdma_put_gid_attr(attr);
	smr_own_add(own, addr, scoped ? iif : 0, removed);
	return true;
}

/**
 * smr_env_has_ndev() - is this the netdev of a device, or a VLAN on it?
 * @env: of the device
 * @iif: the netdev's index
 *
 * Context: any, inside an RCU read section.
 * Return: true if it is.
 */
bool smr_env_has_ndev(const struct smr_env *env, int iif)
{
	struct net_device *ndev = dev_get_by_index_rcu(env->net, iif);

	return ndev && (ndev == env->ndev ||
			(is_vlan_dev(ndev) && vlan_dev_real_dev(ndev) == env->ndev));
}

/**
 * smr_qp_event() - raise an asynchronous event of a QP
 * @qp: the QP
 * @type: the event
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
 * From now on, a QP of another user may claim its peer. The caller completes the request that
 * has failed, and then calls smr_qp_flush().
 *
 * Context: any; takes @qp->lock, and then the lock of the peers.
 */
void smr_qp_set_error(struct smr_qp *qp)
{
	spin_lock_bh(&qp->lock);
	if (qp->state != IB_QPS_RESET)
		WRITE_ONCE(qp->state, IB_QPS_ERR);
	spin_unlock_bh(&qp->lock);
	smr_peer_release(&qp->env->tab->peers, &qp->claim);
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
 * smr_qp_send_error() - change the state after a work request of the send queue has failed
 * @qp: the QP
 *
 * IBTA 10.3.1: this ends a reliable connection. Other QPs go to SQE: they still
 * receive, and modify_qp can return them to RTS. As smr_qp_set_error(), this flushes
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
 * smr_qp_flush() - run both tasks, which flush what the state requires
 * @qp: the QP
 *
 * A task that calls this flushes before it releases its ownership.
 */
void smr_qp_flush(struct smr_qp *qp)
{
	smr_task_defer(&qp->send_task);
	smr_task_defer(&qp->resp_task);
}

/**
 * smr_qp_refused() - log that a request of a QP was refused or has failed
 * @qp: the QP
 * @why: the reason, to which the nearest region is added
 * @status: status of the completion: enum ib_wc_status
 * @wr_id: of the work request, or 0
 * @opcode: of the work request, or that of a packet's BTH
 * @psn: of the packet, or of the work request's first one; or 0
 *
 * Context: any; called by a task of the QP, since it reads its path.
 */
void smr_qp_refused(const struct smr_qp *qp, struct smr_reason why,
		    u32 status, u64 wr_id, u32 opcode, u32 psn)
{
	struct smr_abi_why rec = {
		.error = status,
		.qpn = qp->ibqp.qp_num,
		.wr_id = wr_id,
		.opcode = opcode,
		.psn = psn,
	};

	if (qp->service != SMR_TRANSPORT_UD &&
	    qp->service != SMR_TRANSPORT_RAW) {
		rec.peer_qpn = qp->attr.dest_qp_num;
		memcpy(rec.peer, &qp->path.daddr, sizeof(rec.peer));
	}
	/*
	 * The owner of the QP reads it, so only regions of the QP's own PD are named. With XRC the
	 * keys are those of an SRQ, which may be another user's, and the receiving QP has no PD.
	 */
	if (qp->ibqp.pd)
		why = smr_key_near(qp->env->keys, qp->ibqp.pd, why);
	smr_why_add(qp->whys, why, &rec);
}

/**
 * smr_qp_overrun() - handle the overrun of a CQ of a QP
 * @qp: the QP
 * @cq: the CQ
 * @cqe: the completion that is lost
 *
 * The QP goes to the error state. Only the first lost completion is logged: those of flushed
 * requests follow.
 *
 * Context: any; called by a task of the QP. Takes @qp->lock.
 */
void smr_qp_overrun(struct smr_qp *qp, const struct smr_cq *cq,
		    const struct smr_cqe *cqe)
{
	smr_qp_inc(qp, SMR_CNT_CQ_OVERRUN);
	if (READ_ONCE(qp->state) == IB_QPS_ERR)
		return;
	smr_qp_refused(qp, SMR_REASON(CQ_OVERRUN, cq->ibcq.cqe), cqe->status,
		       cqe->wr_id, 0, 0);
	smr_qp_event(qp, IB_EVENT_QP_FATAL);
	smr_qp_error(qp);
}

/**
 * smr_qp_dropped() - count a packet that is dropped, and log the reason; see smr_qp_drop()
 * @qp: the QP that it was for
 * @counter: counts it
 * @why: the reason
 * @from: address that it came from, or NULL
 *
 * Context: any.
 */
void smr_qp_dropped(struct smr_qp *qp, enum smr_counter counter,
		    struct smr_reason why, const struct in6_addr *from)
{
	struct smr_abi_why rec = { .qpn = qp->ibqp.qp_num };

	smr_qp_inc(qp, counter);
	if (!smr_why_may_add(qp->whys, why.id))
		return;
	if (from)
		memcpy(rec.peer, from, sizeof(rec.peer));
	smr_why_add(qp->whys, why, &rec);
}

/**
 * smr_qp_receives() - does a QP in this state accept requests?
 * @state: the state
 *
 * Return: true if it does.
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
