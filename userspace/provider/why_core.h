/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Reasons of failures that the module does not see: mostly refusals by the kernel's RDMA core. The
 * provider finds the reason after the call has failed.
 */
#ifndef SMR_PROVIDER_WHY_CORE_H
#define SMR_PROVIDER_WHY_CORE_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

/* Kinds of objects, as the numbers of softmr-why.h */
enum smr_kind {
	SMR_KIND_PD = 0,
	SMR_KIND_CQ = 2,
	SMR_KIND_SRQ = 3,
	SMR_KIND_QP = 4,
	SMR_KIND_XRCD = 7,
	SMR_KIND_DM = 10,
};

uint64_t smr_why_now(void);
void smr_why_modify(struct ibv_qp *qp, const struct ibv_qp_attr *attr,
		    int attr_mask, uint64_t since, int err)
	__attribute__((cold));
void smr_why_address(struct ibv_context *context, uint32_t qpn,
		     const struct ibv_ah_attr *attr, uint64_t since, int err)
	__attribute__((cold));
int smr_why_in_use(struct ibv_context *context, uint32_t qpn,
		   enum smr_kind kind, int err) __attribute__((cold));

/* The result of mapping a ring, with a reason */
int smr_why_ring(struct ibv_context *context, int err);

/* The result of a command that ends an object; with a reason if it is EBUSY */
static inline int smr_ended(struct ibv_context *context, uint32_t qpn,
			    enum smr_kind kind, int ret)
{
	return ret ? smr_why_in_use(context, qpn, kind, ret) : 0;
}

#endif /* SMR_PROVIDER_WHY_CORE_H */
