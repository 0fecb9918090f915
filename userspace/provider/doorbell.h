/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: one ioctl. */
#ifndef SMR_PROVIDER_DOORBELL_H
#define SMR_PROVIDER_DOORBELL_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

enum {
	SMR_DOORBELL_MAX_ATTRS = 2,
};

struct ibv_context;

/**
 * struct smr_doorbell - the doorbell of a side of a QP
 * @request: number of the ioctl on the context's doorbell file
 * @number: its argument: the number of the QP
 * @hdr: for a module without such files: the prepared argument of a command, whose attributes
 *	continue in @storage
 * @storage: room for all of it
 *
 * The kernel only reads it, so any number of threads may use it at the same time.
 */
struct smr_doorbell {
	unsigned int request;
	uint32_t number;
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		uint8_t storage[sizeof(struct ib_uverbs_ioctl_hdr) +
				SMR_DOORBELL_MAX_ATTRS *
					sizeof(struct ib_uverbs_attr)];
	};
};

int smr_doorbell_open(struct ibv_context *context);
void smr_doorbell_init(struct smr_doorbell *db, uint32_t qp_handle,
		       uint32_t qp_num, uint32_t flags);
int smr_doorbell_ring(int bell_fd, int cmd_fd, const struct smr_doorbell *db);

#endif /* SMR_PROVIDER_DOORBELL_H */
