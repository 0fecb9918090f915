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
static struct smr_reason why_bad_request(const struct smr_qp *qp,
					 const struct smr_swqe *wqe,
					 const struct smr_wr_info *wr)
{
	bool is_inline = wqe->send_flags & IB_SEND_INLINE;
	u32 most;

	if (!wr || (wr->flags & SMR_WR_KERNEL && smr_ring_is_user(&qp->sq.ring)))
		return SMR_REASON(WR_OPCODE, wqe->opcode, qp->ibqp.qp_type);
	if (wr->flags & SMR_WR_NONPOSTED && !qp->attr.max_rd_atomic)
		return SMR_REASON(WR_NO_RD_ATOMIC, wqe->opcode);
	if (wr->flags & SMR_WR_FLUSH)
		return SMR_REASON(WR_FLUSH, wqe->opcode);
	if (is_inline && inline_is_bad(qp, wqe, wr, &most))
		return SMR_REASON(WR_INLINE, wqe->opcode, wqe->len, most);
	if (!is_inline && wqe->num_sge > qp->sq.max_sge)
		return SMR_REASON(WR_SGE, wqe->num_sge, qp->sq.max_sge);
	if (qp->service == SMR_TRANSPORT_UD && !ud_has_address(qp, wqe))
		return SMR_REASON(WR_ADDRESS, wqe->ud.qpn);
	return SMR_REASON(WR_NO_MEMORY, wqe->len);
}

/* A key of its own list is refused, or its memory is not present. */
static struct smr_reason why_protected(const struct smr_qp *qp,
				       const struct smr_swqe *wqe,
				       const struct smr_wr_info *wr)
{
	int access = wr && wr->flags & SMR_WR_FETCHES ? IB_ACCESS_LOCAL_WRITE :
							0;
	struct smr_reason why = {};

	if (!(wqe->send_flags & IB_SEND_INLINE))
		why = smr_sgl_why(qp->pd, qp->ibqp.qp_num, access, wqe->sge,
				  wqe->num_sge);
	return why.id ? why : SMR_REASON(WR_PAGE, wqe->len);
}

/* A bind may also be refused because of the window. */
static struct smr_reason why_not_bound(const struct smr_qp *qp,
				       const struct smr_swqe *wqe,
				       const struct smr_wr_info *wr)
{
	const struct smr_mw_bind *bind = &wqe->bind;
	struct smr_reason why = {};

	if (!wr || !(wr->flags & SMR_WR_BINDS))
		return SMR_REASON(WR_INVALIDATE, (__force u32)wqe->imm_or_rkey);
	if (bind->length)
		why = smr_key_why(qp->env->keys, bind->mr_lkey, &qp->pd->ibpd,
				  qp->ibqp.qp_num, IB_ACCESS_MW_BIND,
				  bind->addr, bind->length);
	return why.id ? why : SMR_REASON(WR_BIND, bind->mw_rkey, bind->mr_lkey,
					 bind->addr, bind->length, bind->access);
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
static struct smr_reason why_length(const struct smr_qp *qp,
				    const struct smr_swqe *wqe)
{
	u64 len = wqe->num_sge ? list_length(wqe) : wqe->len;

	if (qp->service == SMR_TRANSPORT_RAW)
		return SMR_REASON(WR_FRAME, len, ETH_HLEN,
				  ETH_HLEN + READ_ONCE(qp->env->ndev->mtu));
	return SMR_REASON(WR_LENGTH, wqe->opcode, len);
}

/* Find why a send work request fails. @qp: the caller owns its send task. */
struct smr_reason smr_send_why(const struct smr_qp *qp, const struct smr_swqe *wqe,
			       enum ib_wc_status status)
{
	const struct smr_wr_info *wr = smr_wr_info(qp->ibqp.qp_type,
						   wqe->opcode);

	switch (status) {
	case IB_WC_LOC_QP_OP_ERR:
		return why_bad_request(qp, wqe, wr);
	case IB_WC_LOC_LEN_ERR:
		return why_length(qp, wqe);
	case IB_WC_LOC_PROT_ERR:
		return why_protected(qp, wqe, wr);
	case IB_WC_MW_BIND_ERR:
		return why_not_bound(qp, wqe, wr);
	case IB_WC_REM_INV_REQ_ERR:
		return SMR_REASON(PEER_INVALID, wqe->opcode, wqe->len);
	case IB_WC_REM_ACCESS_ERR:
		return SMR_REASON(PEER_ACCESS, wqe->rkey, wqe->remote_addr,
				  wqe->len);
	case IB_WC_REM_OP_ERR:
		return SMR_REASON(PEER_FAILED, wqe->opcode, wqe->len);
	case IB_WC_BAD_RESP_ERR:
		return SMR_REASON(PEER_NONSENSE, wqe->opcode);
	case IB_WC_RETRY_EXC_ERR:
		return SMR_REASON(PEER_SILENT, qp->attr.retry_cnt,
				  qp->attr.timeout);
	case IB_WC_RNR_RETRY_EXC_ERR:
		return SMR_REASON(PEER_NOT_READY, qp->attr.rnr_retry);
	default:
		return SMR_REASON(WR_OTHER, status);
	}
}
