// SPDX-License-Identifier: GPL-2.0
#include "objects.h"

#include <errno.h>
#include <fcntl.h>

static struct ibv_qp *make_qp(struct vt_parts *parts)
{
	struct ibv_qp_init_attr init = {
		.send_cq = parts->cq, .recv_cq = parts->cq,
		.cap = { 1, 1, 1, 1, 0 }, .qp_type = IBV_QPT_RC,
	};

	return ibv_create_qp(parts->pd, &init);
}

static struct ibv_srq *make_srq(struct ibv_pd *pd)
{
	struct ibv_srq_init_attr init = { .attr = { 1, 1, 0 } };

	return ibv_create_srq(pd, &init);
}

static struct ibv_dm *make_dm(struct ibv_context *ctx)
{
	struct ibv_alloc_dm_attr attr = { .length = 64 };

	return ibv_alloc_dm(ctx, &attr);
}

static struct ibv_xrcd *make_xrcd(struct ibv_context *ctx)
{
	struct ibv_xrcd_init_attr attr = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};

	return ibv_open_xrcd(ctx, &attr);
}

/**
 * vt_object_create() - create the smallest object of a kind
 *
 * Return: the object, NULL with errno
 */
void *vt_object_create(enum vt_object kind, struct vt_parts *parts)
{
	struct ibv_context *ctx = parts->pd->context;

	errno = 0;
	switch (kind) {
	case VT_PD:
		return ibv_alloc_pd(ctx);
	case VT_CQ:
		return ibv_create_cq(ctx, 1, NULL, NULL, 0);
	case VT_QP:
		return make_qp(parts);
	case VT_SRQ:
		return make_srq(parts->pd);
	case VT_MR:
		return ibv_reg_mr(parts->pd, parts->page, sizeof(parts->page),
				  0);
	case VT_MW:
		return ibv_alloc_mw(parts->pd, IBV_MW_TYPE_2);
	case VT_AH:
		return ibv_create_ah(parts->pd, &parts->address);
	case VT_DM:
		return make_dm(ctx);
	case VT_XRCD:
		return make_xrcd(ctx);
	}
	return NULL;
}

/**
 * vt_object_destroy() - destroy an object
 *
 * Return: 0 or an errno
 */
int vt_object_destroy(enum vt_object kind, void *object)
{
	switch (kind) {
	case VT_PD:
		return ibv_dealloc_pd(object);
	case VT_CQ:
		return ibv_destroy_cq(object);
	case VT_QP:
		return ibv_destroy_qp(object);
	case VT_SRQ:
		return ibv_destroy_srq(object);
	case VT_MR:
		return ibv_dereg_mr(object);
	case VT_MW:
		return ibv_dealloc_mw(object);
	case VT_AH:
		return ibv_destroy_ah(object);
	case VT_DM:
		return ibv_free_dm(object);
	case VT_XRCD:
		return ibv_close_xrcd(object);
	}
	return EINVAL;
}
