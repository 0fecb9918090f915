/* SPDX-License-Identifier: GPL-2.0 */
/* Receive side scaling: work queues, and the selection of one for each frame. */
#ifndef SMR_RSS_H
#define SMR_RSS_H

#include <linux/container_of.h>
#include <linux/mutex.h>
#include <linux/types.h>
#include <rdma/ib_verbs.h>

#include "qp/core.h"
#include "uapi/softmr-abi.h"

struct sk_buff;
struct smr_why;

/* The largest table, as a logarithm */
#define SMR_RWQ_TABLE_LOG	10

/* The fields that can be hashed: enum smr_rx_hash_fields */
#define SMR_RX_HASH_ALL	(SMR_RX_HASH_SRC_IPV4 | SMR_RX_HASH_DST_IPV4 | \
			 SMR_RX_HASH_SRC_IPV6 | SMR_RX_HASH_DST_IPV6 | \
			 SMR_RX_HASH_SRC_PORT_TCP | SMR_RX_HASH_DST_PORT_TCP | \
			 SMR_RX_HASH_SRC_PORT_UDP | SMR_RX_HASH_DST_PORT_UDP)

/**
 * struct smr_rwq - a receive work queue
 * @ibwq: the core's part
 * @mutex: serialises changes of the state; guards @ibwq.state
 * @qp: receives the frames: a RAW_PACKET QP that is unknown to the core, with its own number
 *	and without a send queue
 */
struct smr_rwq {
	struct ib_wq ibwq;
	struct mutex mutex;	/* see above */
	struct smr_qp qp;
};

static inline struct smr_rwq *to_smr_rwq(const struct ib_wq *ibwq)
{
	return container_of(ibwq, struct smr_rwq, ibwq);
}

/**
 * struct smr_rss - parameters of RSS of a QP
 * @fields: which fields are hashed, enum smr_rx_hash_fields
 * @key: of the Toeplitz function
 * @mask: the size of the table, less one
 * @table: the queues; the RDMA core does not destroy them before the QP
 *
 * Constant.
 */
struct smr_rss {
	u32 fields;
	u8 key[SMR_RX_HASH_KEY];
	u32 mask;
	struct smr_qp_handle *table[];
};

struct smr_rss *smr_rss_create(const struct ib_rwq_ind_table *table,
			       const struct smr_create_qp *how,
			       struct smr_why *why);
void smr_rss_destroy(struct smr_rss *rss);
struct smr_qp_handle *smr_rss_target(const struct smr_rss *rss,
				     const struct sk_buff *frame);

#endif /* SMR_RSS_H */
