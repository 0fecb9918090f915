/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/* The doorbell: one ioctl of a file that each context has. */
#ifndef SMR_PROVIDER_DOORBELL_H
#define SMR_PROVIDER_DOORBELL_H

#include <stdint.h>

struct ibv_context;

int smr_doorbell_open(struct ibv_context *context, int *fd);
int smr_doorbell_ring(int fd, unsigned long request, uint32_t qpn);

#endif /* SMR_PROVIDER_DOORBELL_H */
