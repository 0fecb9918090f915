/* SPDX-License-Identifier: GPL-2.0 */
/* XRC domains: QPs may use the shared receive queues that are in theirs. */
#ifndef SMR_XRCD_H
#define SMR_XRCD_H

#include <rdma/ib_verbs.h>

/**
 * struct smr_xrcd - an XRC domain; nothing but an identity
 * @ibxrcd: the core's part
 */
struct smr_xrcd {
	struct ib_xrcd ibxrcd;
};

#endif /* SMR_XRCD_H */
