/* SPDX-License-Identifier: GPL-2.0 */
/* Queries of a region: which windows are bound to it. */
#ifndef SMR_MR_QUERY_H
#define SMR_MR_QUERY_H

#include <rdma/uverbs_ioctl.h>

struct ib_mr;
struct sk_buff;

extern const struct uapi_definition smr_mr_query_uapi[];

int smr_mr_query_fill(struct sk_buff *msg, struct ib_mr *ibmr);

#endif /* SMR_MR_QUERY_H */
