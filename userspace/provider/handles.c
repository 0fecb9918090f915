// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* XRC domains, address handles, memory windows and flow rules: objects that only consist of the kernel's handle. */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include "abi.h"

struct ibv_xrcd *smr_open_xrcd(struct ibv_context *context, struct ibv_xrcd_init_attr *attr)
{
	struct verbs_xrcd *vxrcd = smr_zalloc(context, sizeof(*vxrcd));
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	int ret;

	if (!vxrcd)
		return NULL;
	ret = ibv_cmd_open_xrcd(context, vxrcd, sizeof(*vxrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (!ret)
		return &vxrcd->xrcd;
	free(vxrcd);
	errno = ret;
	return NULL;
}

int smr_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_xrcd *vxrcd = container_of(xrcd, struct verbs_xrcd, xrcd);
	int ret = smr_ended(xrcd->context, 0, SMR_KIND_XRCD, ibv_cmd_close_xrcd(vxrcd));

	if (!ret)
		free(vxrcd);
	return ret;
}

struct ibv_ah *smr_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct smr_ah *ah = smr_zalloc(pd->context, sizeof(*ah));
	struct usmr_create_ah_resp resp = {};
	uint64_t since = smr_why_now();
	int ret;

	if (!ah)
		return NULL;
	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp, sizeof(resp));
	ah->number = resp.drv_payload.ah_handle;
	if (!ret)
		return &ah->ah;
	smr_why_address(pd->context, 0, attr, since, ret);
	free(ah);
	errno = ret;
	return NULL;
}

int smr_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (!ret)
		free(to_smr_ah(ibah));
	return ret;
}

struct ibv_mw *smr_alloc_mw(struct ibv_pd *pd, enum ibv_mw_type type)
{
	struct ibv_mw *mw = smr_zalloc(pd->context, sizeof(*mw));
	struct ib_uverbs_alloc_mw_resp resp = {};
	struct ibv_alloc_mw cmd = {};
	int ret;

	if (!mw)
		return NULL;
	ret = ibv_cmd_alloc_mw(pd, type, mw, &cmd, sizeof(cmd), &resp, sizeof(resp));
	if (!ret)
		return mw;
	free(mw);
	errno = ret;
	return NULL;
}

int smr_dealloc_mw(struct ibv_mw *mw)
{
	int ret = ibv_cmd_dealloc_mw(mw);

	if (!ret)
		free(mw);
	return ret;
}

struct ibv_flow *smr_create_flow(struct ibv_qp *qp, struct ibv_flow_attr *attr)
{
	struct ibv_flow *flow = smr_zalloc(qp->context, sizeof(*flow));
	int ret;

	if (!flow)
		return NULL;
	ret = ibv_cmd_create_flow(qp, flow, attr, NULL, 0);
	if (!ret)
		return flow;
	free(flow);
	errno = ret;
	return NULL;
}

int smr_destroy_flow(struct ibv_flow *flow)
{
	int ret = ibv_cmd_destroy_flow(flow);

	if (!ret)
		free(flow);
	return ret;
}
