/* SPDX-License-Identifier: GPL-2.0 */
/* Completion counters: the number of operations of QPs that completed, and that failed. */
#ifndef SMR_COMP_CNTR_H
#define SMR_COMP_CNTR_H

#include <linux/atomic.h>
#include <linux/compiler.h>
#include <linux/container_of.h>
#include <linux/types.h>

#include "compat/ib.h"
#include "qp/core.h"

struct uverbs_attr_bundle;

extern const struct uapi_definition smr_comp_cntr_uapi[];

/**
 * struct smr_comp_cntr - a completion counter
 * @ibcc: the core's part, which counts the QPs that it is attached to
 * @bytes: successful operations are counted in bytes; constant
 * @done: successful operations
 * @failed: operations that completed with an error; counted in operations even if @bytes is set
 *
 * The core does not destroy it while it is attached to a QP.
 */
struct smr_comp_cntr {
	struct ib_comp_cntr ibcc;
	bool bytes;
	atomic64_t done;
	atomic64_t failed;
};

static inline struct smr_comp_cntr *to_smr_comp_cntr(const struct ib_comp_cntr *ibcc)
{
	return container_of(ibcc, struct smr_comp_cntr, ibcc);
}

int smr_comp_cntr_create(struct ib_comp_cntr *ibcc,
			 struct uverbs_attr_bundle *attrs);
int smr_comp_cntr_destroy(struct ib_comp_cntr *ibcc);
int smr_comp_cntr_modify(struct ib_comp_cntr *ibcc, SMR_CNTR_ENTRY_TYPE entry,
			 SMR_CNTR_OP_TYPE op, u64 value);
int smr_comp_cntr_read(struct ib_comp_cntr *ibcc, SMR_CNTR_ENTRY_TYPE entry,
		       u64 *value);
int smr_comp_cntr_attach(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			 struct ib_qp_attach_comp_cntr_attr *attr);
void smr_comp_cntr_add(struct smr_comp_cntr *cntr, bool failed, u32 len);

/**
 * smr_comp_count() - count an operation that is complete
 * @qp: the QP
 * @op: its kind; SMR_COMP_OPS: not counted
 * @failed: it completed with an error
 * @len: its length in bytes
 *
 * Call it after the data is written, and before posting the completion, so that a consumer that
 * sees the completion also sees the count.
 *
 * Context: any; called by the task of the side that @op belongs to.
 */
static inline void smr_comp_count(const struct smr_qp *qp, enum smr_comp_op op,
				  bool failed, u32 len)
{
	struct smr_comp_cntr *cntr;

	if (op >= SMR_COMP_OPS)
		return;
	cntr = READ_ONCE(qp->cntrs[op]);
	if (unlikely(cntr))
		smr_comp_cntr_add(cntr, failed, len);
}

#endif /* SMR_COMP_CNTR_H */
