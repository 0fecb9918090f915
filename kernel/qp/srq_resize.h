/* SPDX-License-Identifier: GPL-2.0 */
/* The driver's method that resizes a shared receive queue. */
#ifndef SMR_SRQ_RESIZE_H
#define SMR_SRQ_RESIZE_H

#include <rdma/uverbs_ioctl.h>

extern const struct uapi_definition smr_srq_resize_uapi[];

#endif /* SMR_SRQ_RESIZE_H */
