// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The doorbell. It does not use execute_ioctl(), which would build, linearise
 * and scan a command buffer each time. The command never changes, so it is
 * built once.
 */
#include "doorbell.h"

#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>

#include <softmr-abi.h>

/**
 * smr_doorbell_init - make the command that rings a QP
 * @db: the command
 * @qp_handle: the QP's handle
 * @flags: which sides of it, enum smr_doorbell_flags
 */
void smr_doorbell_init(struct smr_doorbell *db, uint32_t qp_handle,
		       uint32_t flags)
{
	struct ib_uverbs_attr *attr = db->hdr.attrs;

	memset(db, 0, sizeof(*db));
	db->hdr.object_id = UVERBS_OBJECT_QP;
	db->hdr.method_id = SMR_METHOD_QP_DOORBELL;
	db->hdr.driver_id = SMR_DRIVER_ID;

	attr->attr_id = SMR_ATTR_DOORBELL_QP;
	attr->flags = UVERBS_ATTR_F_MANDATORY;
	attr->data = qp_handle;
	attr++;

	/* Without flags the kernel rings the send side. */
	if (flags != SMR_DOORBELL_SQ) {
		attr->attr_id = SMR_ATTR_DOORBELL_FLAGS;
		attr->flags = UVERBS_ATTR_F_MANDATORY;
		attr->len = sizeof(flags);
		memcpy(&attr->data, &flags, sizeof(flags));
		attr++;
	}

	db->hdr.num_attrs = (uint16_t)(attr - db->hdr.attrs);
	db->hdr.length = (uint16_t)((uint8_t *)attr - db->storage);
}

/**
 * smr_doorbell_ring - ring a QP's doorbell
 * @fd: the context's command fd
 * @db: which QP, and which sides of it
 *
 * Return: 0, or a positive errno; EIO: the device is gone.
 */
int smr_doorbell_ring(int fd, const struct smr_doorbell *db)
{
	while (ioctl(fd, RDMA_VERBS_IOCTL, &db->hdr)) {
		if (errno != EINTR)
			return errno;
	}
	return 0;
}
