// SPDX-License-Identifier: GPL-2.0
#include "ud.h"

#include <stdio.h>

#include "work.h"

/**
 * vt_ud_wr() - fill in a correct signalled SEND to the endpoint's peer
 */
struct ibv_send_wr vt_ud_wr(const struct vt_ep *ep, struct ibv_sge *sge)
{
	struct ibv_send_wr wr = {
		.wr_id = 1,
		.opcode = IBV_WR_SEND,
		.send_flags = IBV_SEND_SIGNALED,
		.sg_list = sge,
		.num_sge = !!sge,
	};

	vt_wr_to_peer(ep, &wr);
	return wr;
}

/**
 * vt_ud_recv() - post a receive for a header and @len bytes, behind the guard
 */
int vt_ud_recv(struct vt_ep *ep, uint64_t wr_id, uint32_t len)
{
	struct ibv_sge sge = vt_sge(&ep->buf, VT_GUARD, VT_GRH_LEN + len);

	return vt_post_recv(ep, wr_id, &sge, 1);
}

/**
 * vt_ud_lost() - send a message that b must not receive, and then one that it
 * must
 *
 * b posts two receives. The first of them must take the second message.
 *
 * Return: 0 if it does
 */
int vt_ud_lost(struct vt_pair *pair, struct ibv_send_wr *wr)
{
	struct ibv_sge sge = vt_sge(&pair->a.buf, VT_GUARD, 33);
	struct ibv_send_wr good = vt_ud_wr(&pair->a, &sge);
	struct ibv_wc wc;
	int ret;

	ret = vt_ud_recv(&pair->b, 100, 100);
	if (!ret)
		ret = vt_outcome(&pair->a, wr);
	if (!ret)
		ret = vt_outcome(&pair->a, &good);
	if (!ret)
		ret = vt_wait(pair->b.rcq, &wc);
	if (ret)
		return ret;
	if (wc.wr_id == 100 && wc.status == IBV_WC_SUCCESS &&
	    wc.byte_len == VT_GRH_LEN + 33)
		return 0;
	printf("# received: wr_id %llu, %s, %u bytes\n",
	       (unsigned long long)wc.wr_id, ibv_wc_status_str(wc.status),
	       wc.byte_len);
	return -1;
}

/**
 * vt_qp_resume() - take a QP from the send queue error state back to RTS
 */
int vt_qp_resume(struct vt_ep *ep)
{
	struct ibv_qp_attr attr = {
		.qp_state = IBV_QPS_RTS,
		.cur_qp_state = IBV_QPS_SQE,
	};

	return -ibv_modify_qp(ep->qp, &attr, IBV_QP_STATE | IBV_QP_CUR_STATE);
}
