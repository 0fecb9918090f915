// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/* The refusals of a context, as the kernel has them. */
#include "why_read.h"

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"

int smr_why_read(struct ibv_context *context, uint64_t from,
		 struct smr_abi_why recs[SMR_WHY_ROOM], uint32_t *n)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, SMR_METHOD_WHY_READ,
			       4);

	*n = 0;
	fill_attr_in_uint64(cmd, SMR_ATTR_WHY_FROM, from);
	fill_attr_out_ptr_array(cmd, SMR_ATTR_WHY_ARRAY, recs,
				SMR_WHY_ROOM);
	fill_attr_in_uint32(cmd, SMR_ATTR_WHY_SIZE, sizeof(recs[0]));
	fill_attr_out_ptr(cmd, SMR_ATTR_WHY_COUNT, n);
	return execute_ioctl(context, cmd);
}
