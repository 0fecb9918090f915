// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "why_note.h"

#include <stdlib.h>
#include <string.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"

int smr_why_note(struct ibv_context *context, uint32_t qpn, uint32_t id,
		 int error, const uint64_t num[SMR_WHY_NUMBERS])
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, SMR_METHOD_WHY_NOTE, 1);
	struct smr_why_note note = {
		.id = id, .error = (uint32_t)error, .qpn = qpn,
	};
	int was = errno;

	memcpy(note.num, num, sizeof(note.num));
	fill_attr_in_ptr(cmd, SMR_ATTR_WHY_NOTE, &note);
	execute_ioctl(context, cmd);
	errno = was;
	return error;
}

int smr_why_read(struct ibv_context *context, uint64_t from,
		 struct smr_abi_why recs[SMR_WHY_ROOM], uint32_t *n)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE, SMR_METHOD_WHY_READ, 4);

	*n = 0;
	fill_attr_in_uint64(cmd, SMR_ATTR_WHY_FROM, from);
	fill_attr_out_ptr_array(cmd, SMR_ATTR_WHY_ARRAY, recs, SMR_WHY_ROOM);
	fill_attr_in_uint32(cmd, SMR_ATTR_WHY_SIZE, sizeof(recs[0]));
	fill_attr_out_ptr(cmd, SMR_ATTR_WHY_COUNT, n);
	return execute_ioctl(context, cmd);
}

void *smr_zalloc(struct ibv_context *context, size_t size)
{
	void *object = calloc(1, size);

	if (!object)
		errno = smr_refuse(context, 0, NO_MEMORY, 0);
	return object;
}
