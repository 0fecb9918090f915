// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell. A newer module has a doorbell file for each context, and the ioctl only takes the
 * number of the QP. An older module has a command. The provider does not use execute_ioctl() for
 * it, which would build, linearise and scan a command buffer each time: the command never changes,
 * so it is built once.
 */
#include "doorbell.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include <softmr-abi.h>

/* Begin the command of an object. Return: where its next attribute goes. */
static struct ib_uverbs_attr *begin(struct smr_doorbell *db, uint16_t object,
				    uint16_t method, uint16_t attr_id,
				    uint32_t handle)
{
	struct ib_uverbs_attr *attr = db->hdr.attrs;

	memset(db, 0, sizeof(*db));
	db->hdr.object_id = object;
	db->hdr.method_id = method;
	db->hdr.driver_id = SMR_DRIVER_ID;

	attr->attr_id = attr_id;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = handle;
	return attr + 1;
}

static void end(struct smr_doorbell *db, const struct ib_uverbs_attr *attr)
{
	db->hdr.num_attrs = (uint16_t)(attr - db->hdr.attrs);
	db->hdr.length = (uint16_t)((const uint8_t *)attr - db->storage);
}

/**
 * smr_doorbell_open - open a context's doorbell
 *
 * Return: the file descriptor, which the caller closes; -1: an older module has none, and
 * doorbells are rung by commands.
 */
int smr_doorbell_open(struct ibv_context *context)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       SMR_METHOD_DOORBELL_OPEN, 1);
	int32_t fd = -1;

	fill_attr_out_ptr(cmd, SMR_ATTR_DOORBELL_FD, &fd);
	return execute_ioctl(context, cmd) ? -1 : fd;
}

/**
 * smr_doorbell_init - prepare the doorbell of a QP
 * @qp_handle: the QP's handle
 * @qp_num: the QP's number
 * @flags: which side of it, enum smr_doorbell_flags
 */
void smr_doorbell_init(struct smr_doorbell *db, uint32_t qp_handle,
		       uint32_t qp_num, uint32_t flags)
{
	struct ib_uverbs_attr *attr =
		begin(db, UVERBS_OBJECT_QP, SMR_METHOD_QP_DOORBELL,
		      SMR_ATTR_DOORBELL_QP, qp_handle);

	/* Without flags the kernel rings the send side. */
	if (flags != SMR_DOORBELL_SQ) {
		attr->attr_id = SMR_ATTR_DOORBELL_FLAGS;
		attr->flags = UVERBS_ATTR_F_MANDATORY;
		attr->len = sizeof(flags);
		memcpy(&attr->data, &flags, sizeof(flags));
		attr++;
	}
	end(db, attr);
	db->request = flags == SMR_DOORBELL_SQ ? SMR_IOC_RING_SQ :
						 SMR_IOC_RING_RQ;
	db->number = qp_num;
}

/**
 * smr_doorbell_ring - ring a doorbell
 * @bell_fd: the context's doorbell; -1: it has none
 * @cmd_fd: the context's command fd
 * @db: of a side of a QP
 *
 * Return: 0, or a positive errno; EIO: the device is gone.
 */
int smr_doorbell_ring(int bell_fd, int cmd_fd, const struct smr_doorbell *db)
{
	while (bell_fd >= 0 ?
		       ioctl(bell_fd, db->request, (unsigned long)db->number) :
		       ioctl(cmd_fd, RDMA_VERBS_IOCTL, &db->hdr)) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}
