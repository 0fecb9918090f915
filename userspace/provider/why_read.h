/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SMR_PROVIDER_WHY_READ_H
#define SMR_PROVIDER_WHY_READ_H

#include <stdint.h>

#include <infiniband/verbs.h>
#include <softmr-why.h>

/* Refusals that are read at once */
#define SMR_WHY_ROOM	16

/* Read the refusals after @from, the oldest first; 0 or a positive errno */
int smr_why_read(struct ibv_context *context, uint64_t from,
		 struct smr_abi_why recs[SMR_WHY_ROOM], uint32_t *n);

#endif /* SMR_PROVIDER_WHY_READ_H */
