// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The device: matching, opening and closing, and the table of its operations.
 */
#include "softmr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <infiniband/softmrdv.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"
#include "why_watch.h"

static void smr_free_context(struct ibv_context *context);

static const struct verbs_context_ops smr_context_ops = {
	.advise_mr = ibv_cmd_advise_mr,
	.alloc_dm = smr_alloc_dm,
	.alloc_mw = smr_alloc_mw,
	.alloc_parent_domain = smr_alloc_parent_domain,
	.alloc_pd = smr_alloc_pd,
	.alloc_td = smr_alloc_td,
	.attach_mcast = ibv_cmd_attach_mcast,
	.bind_mw = smr_bind_mw,
	.close_xrcd = smr_close_xrcd,
	.create_ah = smr_create_ah,
	.create_cq = smr_create_cq,
	.create_cq_ex = smr_create_cq_ex,
	.create_flow = smr_create_flow,
	.create_qp = smr_create_qp,
	.create_qp_ex = smr_create_qp_ex,
	.create_srq = smr_create_srq,
	.create_srq_ex = smr_create_srq_ex,
	.dealloc_mw = smr_dealloc_mw,
	.dealloc_pd = smr_dealloc_pd,
	.dealloc_td = smr_dealloc_td,
	.dereg_mr = smr_dereg_mr,
	.destroy_ah = smr_destroy_ah,
	.destroy_cq = smr_destroy_cq,
	.destroy_flow = smr_destroy_flow,
	.destroy_qp = smr_destroy_qp,
	.destroy_srq = smr_destroy_srq,
	.detach_mcast = ibv_cmd_detach_mcast,
	.free_context = smr_free_context,
	.free_dm = smr_free_dm,
	.get_srq_num = smr_get_srq_num,
	.import_dm = smr_import_dm,
	.import_mr = smr_import_mr,
	.import_pd = smr_import_pd,
	.modify_cq = smr_modify_cq,
	.modify_qp = smr_modify_qp,
	.modify_qp_rate_limit = smr_modify_qp_rate_limit,
	.modify_srq = smr_modify_srq,
	.open_qp = smr_open_qp,
	.open_xrcd = smr_open_xrcd,
	.poll_cq = smr_poll_cq,
	.post_recv = smr_post_recv,
	.post_send = smr_post_send,
	.post_srq_recv = smr_post_srq_recv,
	.query_device_ex = smr_query_device_ex,
	.query_ece = smr_query_ece,
	.query_port = smr_query_port,
	.query_port_speed = ibv_cmd_query_port_speed,
	.query_qp = smr_query_qp,
	.query_rt_values = smr_query_rt_values,
	.query_srq = smr_query_srq,
	.reg_dm_mr = smr_reg_dm_mr,
	.reg_dmabuf_mr = smr_reg_dmabuf_mr,
	.reg_mr = smr_reg_mr,
	.reg_mr_ex = smr_reg_mr_ex,
	.req_notify_cq = ibv_cmd_req_notify_cq,
	.rereg_mr = smr_rereg_mr,
	.resize_cq = smr_resize_cq,
	.set_ece = smr_set_ece,
	.unimport_dm = smr_unimport_dm,
	.unimport_mr = smr_unimport_mr,
	.unimport_pd = smr_unimport_pd,
};

static const struct verbs_match_ent smr_match_table[] = {
	VERBS_DRIVER_ID(SMR_DRIVER_ID),
	{},
};

/*
 * libibverbs compares uverbs_abi_ver when it makes the list of devices, warns, and leaves out a
 * device of another version. So only a module that was exchanged after that gets here.
 */
static int check_answer(struct smr_context *ctx,
			const struct smr_alloc_ucontext_resp *resp)
{
	if (resp->abi_version != SMR_ABI_VERSION) {
		fprintf(stderr, "softmr: %s cannot be opened: the module has version %u of the interface, and this libsoftmr has %u; update the older one\n",
			ctx->vctx.context.device->name, resp->abi_version,
			SMR_ABI_VERSION);
		return EPROTO;
	}
	ctx->abi_minor = resp->abi_minor;
	return 0;
}

/* By the command that creates a context of this process */
static int get_context(struct smr_context *ctx)
{
	struct usmr_get_context_resp resp = {};
	struct ibv_get_context cmd = {};
	int ret;

	ret = ibv_cmd_get_context(&ctx->vctx, &cmd, sizeof(cmd), NULL,
				  &resp.ibv_resp, sizeof(resp));
	return ret ? ret : check_answer(ctx, &resp.drv_payload);
}

/* By the command that queries a context of another process */
static int query_context(struct smr_context *ctx)
{
	struct smr_alloc_ucontext_resp resp = {};
	DECLARE_COMMAND_BUFFER_LINK(cmd, UVERBS_OBJECT_DEVICE,
				    UVERBS_METHOD_QUERY_CONTEXT, 1, NULL);
	int ret;

	fill_attr_out_ptr(cmd, SMR_ATTR_QUERY_CONTEXT_RESP, &resp);
	ret = ibv_cmd_query_context(&ctx->vctx.context, cmd);
	return ret ? ret : check_answer(ctx, &resp);
}

static struct verbs_context *
open_context(struct ibv_device *device, int cmd_fd,
	     int (*get)(struct smr_context *ctx))
{
	struct smr_context *ctx;
	int ret;

	ctx = verbs_init_and_alloc_context(device, cmd_fd, ctx, vctx,
					   SMR_DRIVER_ID);
	if (!ctx)
		return NULL;
	ret = get(ctx);
	if (ret)
		goto free;
	ctx->watch = smr_why_watch_begin(&ctx->vctx.context);
	ret = smr_doorbell_open(&ctx->vctx.context, &ctx->bell_fd);
	if (ret)
		goto end_watch;
	smr_maps_init(&ctx->maps, cmd_fd);
	verbs_set_ops(&ctx->vctx, &smr_context_ops);
	return smr_layout_context(&ctx->vctx);

end_watch:
	smr_why_watch_end(ctx->watch);
free:
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
	errno = ret;
	return NULL;
}

static struct verbs_context *smr_alloc_context(struct ibv_device *device,
					       int cmd_fd, void *private_data)
{
	(void)private_data;
	return open_context(device, cmd_fd, get_context);
}

static struct verbs_context *smr_import_context(struct ibv_device *device,
						int cmd_fd)
{
	return open_context(device, cmd_fd, query_context);
}

static void smr_free_context(struct ibv_context *context)
{
	struct smr_context *ctx = to_smr_context(context);

	smr_why_watch_end(ctx->watch);
	close(ctx->bell_fd);
	smr_maps_destroy(&ctx->maps);
	verbs_uninit_context(&ctx->vctx);
	free(ctx);
}

static struct verbs_device *smr_alloc_device(struct verbs_sysfs_dev *sysfs_dev)
{
	(void)sysfs_dev;
	return calloc(1, sizeof(struct verbs_device));
}

static void smr_uninit_device(struct verbs_device *vdev)
{
	free(vdev);
}

static const struct verbs_device_ops smr_device_ops = {
	.name = "softmr",
	.match_min_abi_version = SMR_ABI_VERSION,
	.match_max_abi_version = SMR_ABI_VERSION,
	.match_table = smr_match_table,
	.alloc_context = smr_alloc_context,
	.import_context = smr_import_context,
	.alloc_device = smr_alloc_device,
	.uninit_device = smr_uninit_device,
};

bool softmrdv_is_supported(struct ibv_device *device)
{
	return device && verbs_get_device(device)->ops == &smr_device_ops;
}

PROVIDER_DRIVER(softmr, smr_device_ops);
