/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: one ioctl whose argument is built with the QP. */
#ifndef SMR_PROVIDER_DOORBELL_H
#define SMR_PROVIDER_DOORBELL_H

#include <stddef.h>
#include <stdint.h>

#include <rdma/rdma_user_ioctl_cmds.h>

enum {
	SMR_DOORBELL_MAX_ATTRS = 2,
};

/**
 * struct smr_doorbell - the prepared argument of a doorbell ioctl
 * @hdr: the command's head, whose attributes run on into @storage
 * @storage: room for all of it
 *
 * All attributes are inputs, so the kernel only reads it: any number of threads
 * may ring with the same one.
 */
struct smr_doorbell {
	union {
		struct ib_uverbs_ioctl_hdr hdr;
		uint8_t storage[sizeof(struct ib_uverbs_ioctl_hdr) +
				SMR_DOORBELL_MAX_ATTRS *
					sizeof(struct ib_uverbs_attr)];
	};
};

void smr_doorbell_init(struct smr_doorbell *db, uint32_t qp_handle,
		       uint32_t flags);
void smr_doorbell_init_wq(struct smr_doorbell *db, uint32_t wq_handle);
int smr_doorbell_ring(int fd, const struct smr_doorbell *db);

#endif /* SMR_PROVIDER_DOORBELL_H */
