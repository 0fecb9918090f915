// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * XRC domains and address handles: objects that only consist of the kernel's
 * handle.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

#include "abi.h"

/**
 * smr_open_xrcd - open an XRC domain
 * @attr: the inode that names it, if it is shared
 *
 * Return: the XRC domain, or NULL and errno.
 */
struct ibv_xrcd *smr_open_xrcd(struct ibv_context *context,
			       struct ibv_xrcd_init_attr *attr)
{
	struct ib_uverbs_open_xrcd_resp resp = {};
	struct ibv_open_xrcd cmd = {};
	struct verbs_xrcd *vxrcd;
	int ret;

	vxrcd = smr_zalloc(context, sizeof(*vxrcd));
	if (!vxrcd)
		return NULL;

	ret = ibv_cmd_open_xrcd(context, vxrcd, sizeof(*vxrcd), attr, &cmd,
				sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vxrcd);
		errno = ret;
		return NULL;
	}
	return &vxrcd->xrcd;
}

/**
 * smr_close_xrcd - close an XRC domain
 * @xrcd: the domain, which stays valid if the kernel refuses
 */
int smr_close_xrcd(struct ibv_xrcd *xrcd)
{
	struct verbs_xrcd *vxrcd = container_of(xrcd, struct verbs_xrcd, xrcd);
	int ret = smr_ended(xrcd->context, 0, SMR_KIND_XRCD,
			    ibv_cmd_close_xrcd(vxrcd));

	if (!ret)
		free(vxrcd);
	return ret;
}

/**
 * smr_create_ah - create an address handle
 * @pd: its protection domain
 * @attr: the destination; the kernel resolves the neighbour
 *
 * Return: the address handle, or NULL and errno.
 */
struct ibv_ah *smr_create_ah(struct ibv_pd *pd, struct ibv_ah_attr *attr)
{
	struct usmr_create_ah_resp resp = {};
	uint64_t since = smr_why_now();
	struct smr_ah *ah;
	int ret;

	ah = smr_zalloc(pd->context, sizeof(*ah));
	if (!ah)
		return NULL;

	ret = ibv_cmd_create_ah(pd, &ah->ah, attr, &resp.ibv_resp,
				sizeof(resp));
	if (ret) {
		smr_why_address(pd->context, 0, attr, since, ret);
		free(ah);
		errno = ret;
		return NULL;
	}
	ah->number = resp.drv_payload.ah_handle;
	return &ah->ah;
}

/**
 * smr_destroy_ah - destroy an address handle
 * @ibah: the handle, which stays valid if the kernel refuses
 */
int smr_destroy_ah(struct ibv_ah *ibah)
{
	int ret = ibv_cmd_destroy_ah(ibah);

	if (!ret)
		free(to_smr_ah(ibah));
	return ret;
}
