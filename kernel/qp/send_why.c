// SPDX-License-Identifier: GPL-2.0
/*
 * The checks of the data path only return a status. After one has failed, this repeats them to
 * find the reason, so the data path stores none. If the state has changed since, for example
 * because a process has deregistered a region, the reason is less exact.
 */
#include "qp/send_why.h"

#include <linux/if_ether.h>
#include <linux/netdevice.h>

#include "net/wire.h"
#include "pd.h"
#include "qp/ah.h"
#include "qp/core.h"
#include "qp/opcode.h"
#include "sgl.h"
#include "why.h"

/* Does wqe_copy_inline() refuse it? An ATOMIC WRITE has room for its operand in any case. */
static bool inline_is_bad(const struct smr_qp *qp, const struct smr_swqe *wqe,
			  const struct smr_wr_info *wr, u32 *most)
{
	*most = wr->flags & SMR_WR_ATOMIC_WRITE ? wr->len : qp->sq.max_inline;
	return wr->flags & SMR_WR_FETCHES || wqe->len > *most;
}

static bool ud_has_address(const struct smr_qp *qp, const struct smr_swqe *wqe)
{
	struct smr_av *av = smr_av_find(qp->env->ahs, wqe->ud.ah,
					&qp->pd->ibpd);

	if (!av)
		return false;
	smr_av_put(av);
	return !(wqe->ud.qpn & ~SMR_QPN_MASK);
}

/* A status with several causes: find why the request is invalid for this QP. */
static void why_bad_request(const struct smr_qp *qp,
			    const struct smr_swqe *wqe,
			    const struct smr_wr_info *wr, struct smr_why *why)
{
	bool is_inline = wqe->send_flags & IB_SEND_INLINE;
	u32 most;

	if (!wr || (wr->flags & SMR_WR_KERNEL && smr_ring_is_user(&qp->sq.ring)))
		smr_why(why, WR_OPCODE, wqe->opcode, qp->ibqp.qp_type);
	else if (wr->flags & SMR_WR_NONPOSTED && !qp->attr.max_rd_atomic)
		smr_why(why, WR_NO_RD_ATOMIC, wqe->opcode);
	else if (wr->flags & SMR_WR_FLUSH)
		smr_why(why, WR_FLUSH, wqe->opcode);
	else if (is_inline && inline_is_bad(qp, wqe, wr, &most))
		smr_why(why, WR_INLINE, wqe->opcode, wqe->len, most);
	else if (!is_inline && wqe->num_sge > qp->sq.max_sge)
		smr_why(why, WR_SGE, wqe->num_sge, qp->sq.max_sge);
	else if (qp->service == SMR_TRANSPORT_UD && !ud_has_address(qp, wqe))
		smr_why(why, WR_ADDRESS, wqe->ud.qpn);
	else
		smr_why(why, WR_NO_MEMORY, wqe->len);
}

/* A key of its own list is refused, or its memory is not present. */
static void why_protected(const struct smr_qp *qp, const struct smr_swqe *wqe,
			  const struct smr_wr_info *wr, struct smr_why *why)
{
	int access = wr && wr->flags & SMR_WR_FETCHES ? IB_ACCESS_LOCAL_WRITE :
							0;

	if (wqe->send_flags & IB_SEND_INLINE ||
	    !smr_sgl_why(qp->pd, qp->ibqp.qp_num, access, wqe->sge,
			 wqe->num_sge, why))
		smr_why(why, WR_PAGE, wqe->len);
}

/* A bind may also be refused because of the window. */
static void why_not_bound(const struct smr_qp *qp, const struct smr_swqe *wqe,
			  const struct smr_wr_info *wr, struct smr_why *why)
{
	const struct smr_mw_bind *bind = &wqe->bind;

	if (!wr || !(wr->flags & SMR_WR_BINDS)) {
		smr_why(why, WR_INVALIDATE, (__force u32)wqe->imm_or_rkey);
		return;
	}
	if (bind->length &&
	    smr_key_why(qp->env->keys, bind->mr_lkey, &qp->pd->ibpd,
			qp->ibqp.qp_num, IB_ACCESS_MW_BIND, bind->addr,
			bind->length, why) != SMR_KEY_OK)
		return;
	smr_why(why, WR_BIND, bind->mw_rkey, bind->mr_lkey, bind->addr,
		bind->length, bind->access);
}

static u64 list_length(const struct smr_swqe *wqe)
{
	u64 len = 0;
	int i;

	for (i = 0; i < wqe->num_sge; i++)
		len += wqe->sge[i].length;
	return len;
}

/* Too long or too short. A frame begins with its Ethernet header. */
static void why_length(const struct smr_qp *qp, const struct smr_swqe *wqe,
		       struct smr_why *why)
{
	u64 len = wqe->num_sge ? list_length(wqe) : wqe->len;

	if (qp->service == SMR_TRANSPORT_RAW)
		smr_why(why, WR_FRAME, len, ETH_HLEN,
			ETH_HLEN + READ_ONCE(qp->env->ndev->mtu));
	else
		smr_why(why, WR_LENGTH, wqe->opcode, len);
}

/**
 * smr_send_why() - find why a send work request fails
 * @qp: the caller owns its send task
 * @wqe: the work request
 * @status: its status
 * @why: filled in
 */
void smr_send_why(const struct smr_qp *qp, const struct smr_swqe *wqe,
		  enum ib_wc_status status, struct smr_why *why)
{
	const struct smr_wr_info *wr = smr_wr_info(qp->ibqp.qp_type,
						   wqe->opcode);

	switch (status) {
	case IB_WC_LOC_QP_OP_ERR:
		why_bad_request(qp, wqe, wr, why);
		break;
	case IB_WC_LOC_LEN_ERR:
		why_length(qp, wqe, why);
		break;
	case IB_WC_LOC_PROT_ERR:
		why_protected(qp, wqe, wr, why);
		break;
	case IB_WC_MW_BIND_ERR:
		why_not_bound(qp, wqe, wr, why);
		break;
	case IB_WC_REM_INV_REQ_ERR:
		smr_why(why, PEER_INVALID, wqe->opcode, wqe->len);
		break;
	case IB_WC_REM_ACCESS_ERR:
		smr_why(why, PEER_ACCESS, wqe->rkey, wqe->remote_addr,
			wqe->len);
		break;
	case IB_WC_REM_OP_ERR:
		smr_why(why, PEER_FAILED, wqe->opcode, wqe->len);
		break;
	case IB_WC_BAD_RESP_ERR:
		smr_why(why, PEER_NONSENSE, wqe->opcode);
		break;
	case IB_WC_RETRY_EXC_ERR:
		smr_why(why, PEER_SILENT, qp->attr.retry_cnt,
			qp->attr.timeout);
		break;
	case IB_WC_RNR_RETRY_EXC_ERR:
		smr_why(why, PEER_NOT_READY, qp->attr.rnr_retry);
		break;
	default:
		smr_why(why, WR_OTHER, status);
	}
}
