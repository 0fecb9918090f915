/* SPDX-License-Identifier: GPL-2.0 */
/* The refusals of a context, read by its process. */
#ifndef SMR_WHY_QUERY_H
#define SMR_WHY_QUERY_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition smr_why_query_uapi[];

#endif /* SMR_WHY_QUERY_H */
