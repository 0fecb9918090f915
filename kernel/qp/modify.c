// SPDX-License-Identifier: GPL-2.0
/*
 * Create, modify, query and destroy QPs. Attributes are rows of a table, and each state has a
 * function that enters it.
 */
#include "qp/modify.h"

#include <linux/capability.h>
#include <linux/cred.h>
#include <linux/if_ether.h>
#include <linux/kernel.h>
#include <linux/minmax.h>
#include <linux/netdevice.h>
#include <linux/slab.h>
#include <net/net_namespace.h>
#include <rdma/ib_addr.h>
#include <rdma/ib_verbs.h>

#include "compat/cleanup.h"
#include "compat/ib.h"
#include "limits.h"
#include "net/wire.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/core.h"
#include "qp/ecn.h"
#include "qp/cq.h"
#include "qp/life.h"
#include "qp/opcode.h"
#include "qp/pace.h"
#include "qp/recovery.h"
#include "qp/requester.h"
#include "qp/responder.h"
#include "qp/show.h"
#include "qp/sq.h"
#include "qp/srq.h"
#include "qp/transition.h"
#include "qp/user.h"
#include "qp/xrc.h"
#include "stats.h"
#include "ucontext.h"
#include "why.h"

/**
 * struct attr_rule - one attribute of a QP
 * @mask: its bit of enum ib_qp_attr_mask
 * @offset: its offset in struct ib_qp_attr
 * @size: bytes
 * @min: smallest value allowed
 * @max: largest value allowed
 */
struct attr_rule {
	int mask;
	size_t offset;
	size_t size;
	u32 min;
	u32 max;
};

#define RULE(_mask, _field, _min, _max) {				\
	.mask = IB_QP_##_mask,						\
	.offset = offsetof(struct ib_qp_attr, _field),			\
	.size = sizeof_field(struct ib_qp_attr, _field),		\
	.min = _min,							\
	.max = _max,							\
}

/*
 * All attributes of a QP that need only a range check; not the state, the address and the
 * access rights. Timers and counters are encoded as in IBTA 9.7.5.1.3, 9.7.5.2.8, 9.7.5.2.10.
 */
static const struct attr_rule attr_rules[] = {
	RULE(PKEY_INDEX, pkey_index, 0, 0),
	RULE(PORT, port_num, 1, 1),
	RULE(QKEY, qkey, 0, U32_MAX),
	RULE(PATH_MTU, path_mtu, IB_MTU_256, IB_MTU_4096),
	RULE(TIMEOUT, timeout, 0, 31),
	RULE(RETRY_CNT, retry_cnt, 0, 7),
	RULE(RNR_RETRY, rnr_retry, 0, 7),
	RULE(MIN_RNR_TIMER, min_rnr_timer, 0, 31),
	RULE(RQ_PSN, rq_psn, 0, SMR_PSN_MASK),
	RULE(SQ_PSN, sq_psn, 0, SMR_PSN_MASK),
	RULE(DEST_QPN, dest_qp_num, 0, SMR_QPN_MASK),
	RULE(MAX_QP_RD_ATOMIC, max_rd_atomic, 0, SMR_MAX_RD_ATOMIC),
	RULE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 0, SMR_MAX_RD_ATOMIC),
	RULE(EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify, 0, U8_MAX),
	RULE(PATH_MIG_STATE, path_mig_state, IB_MIG_MIGRATED, IB_MIG_MIGRATED),
	RULE(RATE_LIMIT, rate_limit, 0, U32_MAX),
};

/* Attributes that are stored without a change; other code has checked them. */
static const struct attr_rule checked_rules[] = {
	RULE(ACCESS_FLAGS, qp_access_flags, 0, 0),
	RULE(AV, ah_attr, 0, 0),
};

/*
 * Access flags of a QP. Programs pass the flags of their regions, so flags without a meaning
 * for a QP are accepted.
 */
#define QP_RIGHTS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
		   IB_ACCESS_MW_BIND | IB_ACCESS_FLUSH_GLOBAL | \
		   IB_ACCESS_FLUSH_PERSISTENT | IB_ACCESS_ON_DEMAND | \
		   IB_ACCESS_HUGETLB | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/* All attributes that softmr knows, for any transition. */
#define QP_ATTRS							\
	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS |		\
	 IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY | IB_QP_AV |		\
	 IB_QP_PATH_MTU | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |		\
	 IB_QP_RNR_RETRY | IB_QP_RQ_PSN | IB_QP_MAX_QP_RD_ATOMIC |	\
	 IB_QP_MIN_RNR_TIMER | IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |	\
	 IB_QP_PATH_MIG_STATE | IB_QP_DEST_QPN |			\
	 IB_QP_EN_SQD_ASYNC_NOTIFY | IB_QP_RATE_LIMIT)

static u32 rule_value(const struct attr_rule *rule,
		      const struct ib_qp_attr *attr)
{
	const void *field = (const void *)attr + rule->offset;

	switch (rule->size) {
	case sizeof(u8):
		return *(const u8 *)field;
	case sizeof(u16):
		return *(const u16 *)field;
	default:
		return *(const u32 *)field;
	}
}

/**
 * struct modify - a call of ib_modify_qp()
 * @qp: the QP
 * @log: of the caller, which need not be the context that has created the QP
 * @attr: the values
 * @mask: which attributes: enum ib_qp_attr_mask
 * @cur: state of the QP
 * @next: its state afterwards
 */
struct modify {
	struct smr_qp *qp;
	struct smr_why_log *log;
	const struct ib_qp_attr *attr;
	int mask;
	enum ib_qp_state cur;
	enum ib_qp_state next;
};

#define modify_why(m, name, ...) \
	smr_why_qp((m)->log, (m)->qp->ibqp.qp_num, name, ##__VA_ARGS__)

static int rule_check(const struct attr_rule *rule, const struct modify *m)
{
	u32 value = rule_value(rule, m->attr);

	if (value < rule->min || value > rule->max)
		return modify_why(m, QP_VALUE, rule->mask, value, rule->min,
				  rule->max);
	return 0;
}

/* Are the attributes in their ranges? */
static int attr_check(const struct modify *m)
{
	int mask = m->mask, ret = 0;
	int access = mask & IB_QP_ACCESS_FLAGS ? m->attr->qp_access_flags : 0;
	size_t i;

	if (mask & ~QP_ATTRS)
		return modify_why(m, QP_ATTR, mask, mask & ~QP_ATTRS);
	if (access & ~QP_RIGHTS)
		return modify_why(m, QP_ACCESS, access, access & ~QP_RIGHTS);
	for (i = 0; i < ARRAY_SIZE(attr_rules) && !ret; i++)
		if (mask & attr_rules[i].mask)
			ret = rule_check(&attr_rules[i], m);
	return ret;
}

static void rules_copy(const struct attr_rule *rule, size_t nr,
		       struct ib_qp_attr *to, const struct ib_qp_attr *from,
		       int mask)
{
	for (; nr; nr--, rule++)
		if (mask & rule->mask)
			memcpy((void *)to + rule->offset,
			       (const void *)from + rule->offset, rule->size);
}

/* Store the attributes in @mask. */
static void attr_store(struct ib_qp_attr *to, const struct ib_qp_attr *from,
		       int mask)
{
	rules_copy(attr_rules, ARRAY_SIZE(attr_rules), to, from, mask);
	rules_copy(checked_rules, ARRAY_SIZE(checked_rules), to, from, mask);
}

/*
 * QP1 is for the kernel only. RAW_PACKET QPs are for processes only, on Ethernet netdevs: the
 * kernel has other ways to send frames. The core has checked CAP_NET_RAW.
 */
static bool type_check(const struct ib_device_attr *limit,
		       enum ib_qp_type type, bool user)
{
	switch (type) {
	case IB_QPT_GSI:
		return !user;
	case IB_QPT_RAW_PACKET:
		return user && limit->device_cap_flags &
			       IB_DEVICE_MANAGED_FLOW_STEERING;
	default:
		return smr_qp_service(type) >= 0;
	}
}

/* An XRC target has no queues: it uses the SRQs of its domain. */
static bool has_sq(const struct ib_qp_init_attr *init)
{
	return init->qp_type != IB_QPT_XRC_TGT;
}

static bool receives(const struct ib_qp_init_attr *init)
{
	return init->qp_type != IB_QPT_XRC_INI &&
	       init->qp_type != IB_QPT_XRC_TGT;
}

static bool has_rq(const struct ib_qp_init_attr *init)
{
	return receives(init) && !init->srq;
}

static int cap_check(const struct ib_device_attr *limit,
		     const struct ib_qp_init_attr *init,
		     struct smr_why_log *log)
{
	const struct ib_qp_cap *cap = &init->cap;

	if (cap->max_send_wr > limit->max_qp_wr)
		return smr_why(log, QP_SEND_WR, cap->max_send_wr,
			       limit->max_qp_wr);
	if (cap->max_send_sge > limit->max_send_sge)
		return smr_why(log, QP_SEND_SGE, cap->max_send_sge,
			       limit->max_send_sge);
	if (cap->max_inline_data > SMR_MAX_INLINE)
		return smr_why(log, QP_INLINE, cap->max_inline_data,
			       SMR_MAX_INLINE);
	/* ibv_create_qp(3): for a QP with an SRQ these two are ignored. */
	if (!has_rq(init))
		return 0;
	if (cap->max_recv_wr > limit->max_qp_wr)
		return smr_why(log, QP_RECV_WR, cap->max_recv_wr,
			       limit->max_qp_wr);
	if (cap->max_recv_sge > limit->max_recv_sge)
		return smr_why(log, QP_RECV_SGE, cap->max_recv_sge,
			       limit->max_recv_sge);
	return 0;
}

static int create_check(const struct ib_device_attr *limit,
			const struct ib_qp_init_attr *init, bool user,
			struct smr_why_log *log)
{
	u32 flags = init->qp_type == IB_QPT_UD ?
		    IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK : 0;

	if (!type_check(limit, init->qp_type, user))
		return smr_why(log, QP_TYPE, init->qp_type);
	if (init->create_flags & ~flags)
		return smr_why(log, QP_FLAGS, init->create_flags,
			       init->create_flags & ~flags);
	if (init->qp_type == IB_QPT_XRC_TGT)
		return init->xrcd ? 0 : smr_why(log, QP_NO_XRCD);
	if (!init->send_cq || (receives(init) && !init->recv_cq))
		return smr_why(log, QP_NO_CQ, !!init->send_cq,
			       !!init->recv_cq);
	return cap_check(limit, init, log);
}

static void qp_fill_cap(const struct smr_qp *qp, struct ib_qp_cap *cap)
{
	*cap = (struct ib_qp_cap) {
		.max_send_wr = qp->sq.max_wr,
		.max_recv_wr = qp->rq.max_wr,
		.max_send_sge = qp->sq.max_sge,
		.max_recv_sge = qp->rq.max_sge,
		.max_inline_data = qp->sq.max_inline,
	};
}

/* A ring has at least one entry, so max_wr of 0 creates a queue of one entry. */
static int qp_create_queues(struct smr_qp *qp, struct ib_ucontext *uctx,
			    const struct ib_qp_init_attr *init,
			    struct smr_create_qp_resp *resp)
{
	struct smr_ring_user sq_user = { uctx, &resp->sq };
	struct smr_ring_user rq_user = { uctx, &resp->rq };
	struct ib_qp_cap cap = init->cap;
	int ret = 0;

	cap.max_send_wr = max(cap.max_send_wr, 1U);
	cap.max_recv_wr = max(cap.max_recv_wr, 1U);
	if (has_sq(init))
		ret = smr_sq_create(&qp->sq, &sq_user, &cap);
	if (ret || !has_rq(init))
		return ret;
	ret = smr_rq_create(&qp->rq, &rq_user, cap.max_recv_wr,
			    cap.max_recv_sge);
	if (ret)
		smr_sq_destroy(&qp->sq);
	return ret;
}

/* The core makes an XRC_TGT QP without the process's context; its domain has one. */
static struct smr_why_log *log_for(const struct smr_env *env,
				   const struct ib_qp_init_attr *init,
				   const struct ib_ucontext *uctx)
{
	if (uctx)
		return smr_uctx_whys(uctx);
	if (init->xrcd && to_smr_xrcd(init->xrcd)->whys)
		return to_smr_xrcd(init->xrcd)->whys;
	return env->kernel_whys;
}

/**
 * smr_qp_create() - create a queue pair
 * @qp: allocated, zeroed, its core part filled in
 * @env: the device
 * @init: requested attributes; its capabilities are updated to the actual ones
 * @uctx: the process's context; NULL: a kernel consumer
 * @resp: filled in with the place of the rings; scratch without @uctx
 *
 * Context: process, may sleep.
 * Return: 0; -EOPNOTSUPP (type, flags), -EINVAL (a capability), -ENOMEM, -EPERM (the cgroup); or an
 *	error of smr_qp_publish().
 */
int smr_qp_create(struct smr_qp *qp, struct smr_env *env,
		  struct ib_qp_init_attr *init, struct ib_ucontext *uctx,
		  struct smr_create_qp_resp *resp)
{
	struct smr_why_log *log = log_for(env, init, uctx);
	int ret;

	ret = create_check(&qp->ibqp.device->attrs, init, uctx, log);
	if (ret)
		return ret;
	qp->service = smr_qp_service(init->qp_type);
	qp->pd = qp->ibqp.pd ? to_smr_pd(qp->ibqp.pd) : NULL;
	qp->scq = init->send_cq ? to_smr_cq(init->send_cq) : NULL;
	qp->rcq = init->recv_cq ? to_smr_cq(init->recv_cq) : NULL;
	qp->srq = init->srq ? to_smr_srq(init->srq) : NULL;
	qp->sig_all = init->sq_sig_type == IB_SIGNAL_ALL_WR;
	qp->no_echo = init->create_flags & IB_QP_CREATE_BLOCK_MULTICAST_LOOPBACK;
	qp->state = IB_QPS_RESET;

	if (uctx) {
		qp->user = smr_user_share(to_smr_ucontext(uctx)->user);
		qp->context = to_smr_ucontext(uctx)->id;
	}
	qp->whys = smr_why_log_get(log);

	qp->limits = uctx ? smr_uctx_limits(uctx) : &env->limits;
	ret = smr_limit_take(qp->limits, SMR_LIMIT_QP, log);
	if (ret)
		goto put_user;
	ret = smr_qp_init(qp, env);
	if (ret) {
		ret = ret == -ENOMEM ? smr_why(log, NO_MEMORY) :
				       smr_why(log, QP_CGROUP);
		goto give;
	}
	ret = smr_why_errno(log, 0, qp_create_queues(qp, uctx, init, resp));
	if (ret)
		goto fini_transport;
	ret = smr_why_errno(log, 0, smr_qp_publish(qp));
	if (ret)
		goto destroy_queues;
	qp_fill_cap(qp, &init->cap);
	return 0;

destroy_queues:
	smr_rq_destroy(&qp->rq);
	smr_sq_destroy(&qp->sq);
fini_transport:
	smr_qp_fini(qp);
give:
	smr_limit_give(qp->limits, SMR_LIMIT_QP);
put_user:
	smr_why_log_put(qp->whys);
	smr_user_put(qp->user);
	return ret;
}

/**
 * smr_qp_destroy() - destroy a queue pair in any state
 * @qp: the QP; the caller frees it
 *
 * Outstanding work requests do not complete.
 *
 * Context: process, may sleep.
 */
void smr_qp_destroy(struct smr_qp *qp)
{
	smr_qp_fini(qp);
	if (qp->scq)
		smr_cq_forget(qp->scq, &qp->ibqp);
	if (qp->rcq)
		smr_cq_forget(qp->rcq, &qp->ibqp);
	smr_rq_destroy(&qp->rq);
	smr_sq_destroy(&qp->sq);
	smr_why_log_put(qp->whys);
	smr_limit_give(qp->limits, SMR_LIMIT_QP);
	smr_user_put(qp->user);
}

/* IBTA 10.3.1.5: while a send queue drains, only RESET and ERR are allowed. */
static bool drain_allows(const struct modify *m)
{
	return m->cur != IB_QPS_SQD || READ_ONCE(m->qp->drained) ||
	       m->next == IB_QPS_ERR || m->next == IB_QPS_RESET;
}

/* Older cores check this; newer ones allow a rate limit for any QP in any state. */
static int rate_check(const struct modify *m)
{
	if (m->qp->service != SMR_TRANSPORT_RAW)
		return modify_why(m, QP_RATE_TYPE, m->attr->rate_limit);
	if (m->next != IB_QPS_RTS ||
	    (m->cur != IB_QPS_RTR && m->cur != IB_QPS_RTS))
		return modify_why(m, QP_RATE_STATE, m->cur, m->next);
	return 0;
}

static int mtu_check(const struct modify *m)
{
	unsigned int mtu = READ_ONCE(m->qp->env->ndev->mtu);

	if (m->attr->path_mtu > iboe_get_mtu(mtu))
		return modify_why(m, QP_PATH_MTU, m->attr->path_mtu,
				  iboe_get_mtu(mtu), mtu);
	return 0;
}

static int modify_check(const struct modify *m)
{
	const struct smr_qp *qp = m->qp;
	int ret = 0;

	if (m->mask & IB_QP_RATE_LIMIT)
		ret = rate_check(m);
	if (ret)
		return ret;
	if ((m->mask & IB_QP_CUR_STATE) && m->attr->cur_qp_state != m->cur)
		return modify_why(m, QP_CUR_STATE, m->attr->cur_qp_state, m->cur);
	if (!ib_modify_qp_is_ok(m->cur, m->next, qp->ibqp.qp_type, m->mask))
		return smr_why_verb(m->log, qp->ibqp.qp_num, -EINVAL,
				    smr_transition_why(qp->ibqp.qp_type, m->cur,
						       m->next, m->mask));
	if (!drain_allows(m))
		return modify_why(m, QP_DRAINING, m->next);
	if (m->mask & IB_QP_PATH_MTU)
		ret = mtu_check(m);
	if (!ret && m->mask & IB_QP_AV)
		ret = smr_ah_check(&m->attr->ah_attr, qp->env, m->log,
				   qp->ibqp.qp_num);
	return ret;
}

/* Packets that arrive now are compared with either the old or the new addresses. */
static void publish_ends(struct smr_qp *qp, struct smr_ends *ends)
{
	struct smr_ends *old;

	ends->peer = qp->path.daddr;
	ends->own = qp->path.saddr;
	ends->oif = qp->path.oif;
	old = rcu_replace_pointer(qp->ends, ends, lockdep_is_held(&qp->mutex));
	if (old)
		kfree_rcu(old, rcu);
}

static void apply_path(struct smr_qp *qp, const struct ib_qp_attr *attr,
		       struct smr_ends *ends)
{
	smr_path_fini(&qp->path);
	smr_path_init(&qp->path, qp->env->net);
	qp->req.icrc = (struct smr_icrc){};
	qp->resp.icrc = (struct smr_icrc){};
	/* Whether a capture wants its messages depends on the family. */
	qp->req.captures = 0;
	smr_ah_set_path(&qp->path, &attr->ah_attr, qp->env, qp->ibqp.qp_num,
			qp->attr.dest_qp_num);
	publish_ends(qp, ends);
	smr_ecn_path(qp, &attr->ah_attr);
	smr_ah_note(&qp->attr.ah_attr, &attr->ah_attr);
}

/* Set the transport's state from attributes, with @ends for IB_QP_AV. The QP is paused. */
static void apply_attrs(struct smr_qp *qp, const struct ib_qp_attr *attr,
			int mask, struct smr_ends *ends)
{
	attr_store(&qp->attr, attr, mask);
	if (mask & IB_QP_AV)
		apply_path(qp, attr, ends);
	if (mask & IB_QP_PATH_MTU)
		qp->mtu = ib_mtu_enum_to_int(attr->path_mtu);
	if (mask & IB_QP_RQ_PSN)
		smr_responder_start(qp, attr->rq_psn);
	if (mask & IB_QP_SQ_PSN)
		smr_requester_start(qp, attr->sq_psn);
	if (mask & IB_QP_TIMEOUT)
		smr_out_set_timeout(qp);
	if (mask & (IB_QP_RETRY_CNT | IB_QP_RNR_RETRY))
		smr_out_start(qp);
}

static bool is_connected(const struct smr_qp *qp)
{
	return qp->service != SMR_TRANSPORT_UD &&
	       qp->service != SMR_TRANSPORT_RAW;
}

/*
 * No other user's QP may be connected to the same peer, unless the caller could send that
 * user's packets itself. Kernel consumers are trusted.
 */
static int claim_peer(struct smr_qp *qp, const struct ib_qp_attr *attr,
		      int mask)
{
	struct smr_peers *peers = &qp->env->tab->peers;
	const struct smr_owner owner = {
		.uid = qp->user ? current_uid() : INVALID_UID,
		.context = qp->context,
	};
	u32 qpn = mask & IB_QP_DEST_QPN ? attr->dest_qp_num :
					  qp->attr.dest_qp_num;
	struct smr_path path;
	int ret;

	smr_path_init(&path, qp->env->net);
	smr_ah_set_path(&path, &attr->ah_attr, qp->env, qp->ibqp.qp_num, qpn);
	ret = smr_peer_claim(peers, &qp->claim, &path, qpn, &owner,
			     !qp->user);
	if (ret != -EPERM)
		return ret;
	if (ns_capable(qp->env->net->user_ns, CAP_NET_RAW))
		return smr_peer_claim(peers, &qp->claim, &path, qpn, &owner,
				      true);
	smr_qp_inc(qp, SMR_CNT_PEER_REFUSED);
	return -EPERM;
}

/* Publish a state, unless an error has changed the state concurrently. */
static int set_state(struct smr_qp *qp, enum ib_qp_state cur,
		     enum ib_qp_state next)
{
	guard(spinlock_bh)(&qp->lock);
	if (qp->state != cur)
		return -EINVAL;
	WRITE_ONCE(qp->state, next);
	return 0;
}

/* Go to a later state of the connection, or stay in the same one. */
static int enter_connection(struct smr_qp *qp, enum ib_qp_state cur,
			    enum ib_qp_state next,
			    const struct ib_qp_attr *attr, int mask)
{
	struct smr_rd_res *res = NULL;
	struct smr_ends *ends = NULL;
	int ret = 0;

	if (mask & IB_QP_AV) {
		ends = kzalloc(sizeof(*ends), GFP_KERNEL_ACCOUNT);
		if (!ends)
			return -ENOMEM;
	}
	if (mask & IB_QP_MAX_DEST_RD_ATOMIC) {
		res = kvcalloc(attr->max_dest_rd_atomic, sizeof(*res),
			       GFP_KERNEL_ACCOUNT);
		if (!res) {
			kfree(ends);
			return -ENOMEM;
		}
	}
	smr_qp_pause(qp);
	if (cur == IB_QPS_SQE && next == IB_QPS_RTS)
		smr_send_flush_all(qp);
	if (mask & IB_QP_AV && is_connected(qp))
		ret = claim_peer(qp, attr, mask);
	if (ret) {
		kfree(ends);
		kvfree(res);
	} else {
		if (mask & IB_QP_MAX_DEST_RD_ATOMIC)
			smr_responder_resize(qp, res,
					     attr->max_dest_rd_atomic);
		apply_attrs(qp, attr, mask, ends);
		if (next == IB_QPS_SQD && cur != IB_QPS_SQD)
			WRITE_ONCE(qp->drained, false);
		ret = set_state(qp, cur, next);
		if (ret)
			smr_peer_release(&qp->env->tab->peers, &qp->claim);
	}
	smr_qp_resume(qp);
	return ret;
}

static int enter_error(struct smr_qp *qp, enum ib_qp_state cur,
		       enum ib_qp_state next, const struct ib_qp_attr *attr,
		       int mask)
{
	smr_qp_error(qp);
	return 0;
}

/* Set the state before the rest, so that packets which arrive from now on are dropped. */
static int enter_reset(struct smr_qp *qp, enum ib_qp_state cur,
		       enum ib_qp_state next, const struct ib_qp_attr *attr,
		       int mask)
{
	smr_qp_pause(qp);
	scoped_guard(spinlock_bh, &qp->lock)
		WRITE_ONCE(qp->state, IB_QPS_RESET);
	smr_qp_reset(qp);
	memset(&qp->attr, 0, sizeof(qp->attr));
	smr_qp_resume(qp);
	return 0;
}

/* If the user sets no burst, it is the amount that the rate sends in a millisecond. */
static u32 rate_burst(const struct smr_qp *qp, u32 rate,
		      const struct smr_modify_qp *how)
{
	u32 packet = how->typical_pkt_sz ?:
		     READ_ONCE(qp->env->ndev->mtu) + ETH_HLEN;

	return max(how->max_burst_sz ?: rate / BITS_PER_BYTE, packet);
}

/* Set before the state, so that nothing is sent without the limit. */
static int set_rate(const struct modify *m, const struct smr_modify_qp *how)
{
	u32 rate = m->attr->rate_limit;
	struct smr_qp *qp = m->qp;
	struct smr_pace *pace = qp->pace;

	if (!rate && (how->max_burst_sz || how->typical_pkt_sz))
		return modify_why(m, QP_RATE_BURST, how->max_burst_sz,
				  how->typical_pkt_sz);
	if (!pace && rate) {
		pace = smr_pace_create(&qp->send_task);
		if (!pace)
			return modify_why(m, NO_MEMORY);
	}
	smr_qp_pause(qp);
	qp->pace = pace;
	smr_pace_set(pace, rate, rate_burst(qp, rate, how));
	smr_qp_resume(qp);
	return 0;
}

/* Functions that enter each state, after a legal transition was checked. */
static int (*const enter_state[])(struct smr_qp *qp, enum ib_qp_state cur,
				  enum ib_qp_state next,
				  const struct ib_qp_attr *attr, int mask) = {
	[IB_QPS_RESET] = enter_reset,
	[IB_QPS_INIT] = enter_connection,
	[IB_QPS_RTR] = enter_connection,
	[IB_QPS_RTS] = enter_connection,
	[IB_QPS_SQD] = enter_connection,
	[IB_QPS_SQE] = enter_connection,
	[IB_QPS_ERR] = enter_error,
};

/* Report why a legal transition failed. */
static int why_not_entered(const struct modify *m, int err)
{
	const struct smr_qp *qp = m->qp;

	switch (err) {
	case -EPERM:
		return modify_why(m, QP_PEER_TAKEN, m->mask & IB_QP_DEST_QPN ?
				  m->attr->dest_qp_num : qp->attr.dest_qp_num);
	case -EINVAL:
		return modify_why(m, QP_ERROR_MEANWHILE, m->cur,
				  READ_ONCE(qp->state));
	default:
		return smr_why_errno(m->log, qp->ibqp.qp_num, err);
	}
}

/**
 * smr_qp_modify() - change attributes of a QP, including its state
 * @qp: the QP
 * @attr: the values
 * @mask: which attributes: enum ib_qp_attr_mask
 * @how: parameters of IB_QP_RATE_LIMIT
 * @log: of the caller, who need not have created the QP
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL (a value, or not in this state), -EOPNOTSUPP (an unknown attribute or
 * right), -EPERM (another owner's QP has this peer), -ENOMEM. On failure nothing has changed,
 * unless the QP has entered the error state concurrently: then attributes may be set.
 */
int smr_qp_modify(struct smr_qp *qp, const struct ib_qp_attr *attr, int mask,
		  const struct smr_modify_qp *how, struct smr_why_log *log)
{
	struct modify m = { .qp = qp, .log = log, .attr = attr, .mask = mask };
	int ret;

	ret = attr_check(&m);
	if (ret)
		return ret;

	guard(mutex)(&qp->mutex);
	m.cur = READ_ONCE(qp->state);
	m.next = mask & IB_QP_STATE ? attr->qp_state : m.cur;
	/* The core has checked that it is a state. */
	if (m.next >= ARRAY_SIZE(enter_state))
		return modify_why(&m, QP_TRANSITION, m.cur, m.next);
	ret = modify_check(&m);
	if (!ret && mask & IB_QP_RATE_LIMIT)
		ret = set_rate(&m, how);
	if (ret)
		return ret;
	ret = enter_state[m.next](qp, m.cur, m.next, attr, mask);
	return why_not_entered(&m, ret);
}

/**
 * smr_qp_query() - query the attributes of a QP
 * @qp: the QP
 * @attr: filled in, all of it
 * @mask: the attributes that the caller asks for: enum ib_qp_attr_mask
 * @init: filled in, all of it
 *
 * With the PSNs of a connection, an attacker can forge packets of the peer. `rdma resource show
 * qp`, which every user may call, passes an empty mask and gets no PSNs. Any other mask comes
 * from the QP's owner.
 *
 * Context: process, may sleep.
 */
void smr_qp_query(struct smr_qp *qp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init)
{
	guard(mutex)(&qp->mutex);
	*attr = qp->attr;
	attr->qp_state = READ_ONCE(qp->state);
	attr->cur_qp_state = attr->qp_state;
	attr->sq_draining = attr->qp_state == IB_QPS_SQD &&
			    !READ_ONCE(qp->drained);
	attr->sq_psn = mask ? smr_qp_glance(&qp->snd.psn) : 0;
	attr->rq_psn = mask ? smr_qp_glance(&qp->resp.epsn) : 0;
	qp_fill_cap(qp, &attr->cap);

	*init = (struct ib_qp_init_attr) {
		.event_handler = qp->ibqp.event_handler,
		.qp_context = qp->ibqp.qp_context,
		.send_cq = qp->ibqp.send_cq,
		.recv_cq = qp->ibqp.recv_cq,
		.srq = qp->ibqp.srq,
		.xrcd = qp->ibqp.xrcd,
		.cap = attr->cap,
		.sq_sig_type = qp->sig_all ? IB_SIGNAL_ALL_WR :
					     IB_SIGNAL_REQ_WR,
		.qp_type = qp->ibqp.qp_type,
		.port_num = 1,
	};
}
