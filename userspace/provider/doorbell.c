// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The doorbell of a context. */
#include "doorbell.h"

#include <errno.h>
#include <sys/ioctl.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include <softmr-abi.h>

/**
 * smr_doorbell_open - open a context's doorbell
 * @fd: the file descriptor, which the caller closes
 *
 * Return: 0 or a positive errno, which the kernel has logged.
 */
int smr_doorbell_open(struct ibv_context *context, int *fd)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       SMR_METHOD_DOORBELL_OPEN, 1);
	int32_t made;
	int ret;

	fill_attr_out_ptr(cmd, SMR_ATTR_DOORBELL_FD, &made);
	ret = execute_ioctl(context, cmd);
	if (!ret)
		*fd = made;
	return ret;
}

/**
 * smr_doorbell_ring - ring a doorbell
 * @fd: the context's doorbell
 * @request: SMR_IOC_RING_SQ or SMR_IOC_RING_RQ
 * @qpn: the QP's number
 *
 * Return: 0, or a positive errno; EIO: the device is gone.
 */
int smr_doorbell_ring(int fd, unsigned long request, uint32_t qpn)
{
	while (ioctl(fd, request, (unsigned long)qpn))
		if (errno != EINTR)
			return errno;
	return 0;
}
