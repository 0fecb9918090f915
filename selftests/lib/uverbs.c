// SPDX-License-Identifier: GPL-2.0
#include "uverbs.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/ioctl.h>

#include <softmr-abi.h>

/**
 * vt_ucmd() - begin a command without attributes
 *
 * Return: the command
 */
struct vt_ucmd vt_ucmd(uint16_t object, uint16_t method)
{
	return (struct vt_ucmd){
		.hdr = {
			.object_id = object,
			.method_id = method,
			.driver_id = SMR_DRIVER_ID,
		},
	};
}

static struct ib_uverbs_attr *add(struct vt_ucmd *cmd, uint16_t id)
{
	struct ib_uverbs_attr *attr = &cmd->attrs[cmd->hdr.num_attrs++];

	if (cmd->hdr.num_attrs > VT_UCMD_ATTRS)
		abort();
	attr->attr_id = id;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	return attr;
}

/**
 * vt_ucmd_value() - a number of at most 8 bytes
 *
 * Return: the attribute
 */
struct ib_uverbs_attr *vt_ucmd_value(struct vt_ucmd *cmd, uint16_t id,
				     uint64_t value, size_t len)
{
	struct ib_uverbs_attr *attr = add(cmd, id);

	attr->len = len;
	attr->data = value;
	return attr;
}

/**
 * vt_ucmd_out() - where an answer goes
 */
void vt_ucmd_out(struct vt_ucmd *cmd, uint16_t id, void *out, size_t len)
{
	vt_ucmd_value(cmd, id, (uintptr_t)out, len);
}

/**
 * vt_ucmd_run() - give the command to the kernel
 *
 * Return: 0 or a negative errno; -EOPNOTSUPP also if the kernel knows no such command
 */
int vt_ucmd_run(struct vt_ucmd *cmd, struct ibv_context *ctx)
{
	cmd->hdr.length = sizeof(cmd->hdr) +
			  cmd->hdr.num_attrs * sizeof(cmd->attrs[0]);
	if (!ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd->hdr))
		return 0;
	return errno == EPROTONOSUPPORT ? -EOPNOTSUPP : -errno;
}

/**
 * vt_ucmd_file() - the file that a method of the device object opens
 * @id: the attribute for its number, the only one
 *
 * Return: the file descriptor, or a negative errno
 */
int vt_ucmd_file(struct ibv_context *ctx, uint16_t method, uint16_t id)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, method);
	int32_t fd = -1;
	int ret;

	vt_ucmd_out(&cmd, id, &fd, sizeof(fd));
	ret = vt_ucmd_run(&cmd, ctx);
	return ret ? ret : fd;
}
