// SPDX-License-Identifier: GPL-2.0
/* Completion counters: created and read by verbs, incremented by a QP's tasks. */
#include "qp/comp_cntr.h"

#include <linux/mutex.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "limits.h"
#include "uapi/softmr-abi.h"
#include "ucontext.h"
#include "why.h"

/**
 * smr_comp_cntr_create() - initialize a counter
 * @ibcc: the core's part of the struct; zeroed
 * @attrs: attributes of the command: whether it counts bytes
 *
 * Context: process.
 * Return: 0, -EOPNOTSUPP (an unknown kind of counter) or -ENOMEM. An error is logged.
 */
int smr_comp_cntr_create(struct ib_comp_cntr *ibcc,
			 struct uverbs_attr_bundle *attrs)
{
	u64 type;
	int ret;

	ret = uverbs_get_const_default(&type, attrs, SMR_ATTR_COMP_CNTR_TYPE,
				       SMR_COMP_CNTR_WRS);
	if (!ret && type > SMR_COMP_CNTR_BYTES)
		ret = smr_why(smr_attrs_whys(attrs), CNTR_KIND, type);
	if (!ret)
		ret = smr_limit_take(smr_uctx_limits(attrs->context),
				     SMR_LIMIT_COMP_CNTR,
				     smr_attrs_whys(attrs));
	if (!ret)
		to_smr_comp_cntr(ibcc)->bytes = type == SMR_COMP_CNTR_BYTES;
	return ret;
}

/**
 * smr_comp_cntr_destroy() - destroy a counter
 * @ibcc: the counter; the core has destroyed the QPs that it was attached to
 *
 * Return: 0
 */
int smr_comp_cntr_destroy(struct ib_comp_cntr *ibcc)
{
	smr_limit_give(smr_uctx_limits(ibcc->uobject->context),
		       SMR_LIMIT_COMP_CNTR);
	return 0;
}

static atomic64_t *entry_of(struct ib_comp_cntr *ibcc, unsigned int entry)
{
	struct smr_comp_cntr *cntr = to_smr_comp_cntr(ibcc);

	return entry == IB_COMP_CNTR_ENTRY_ERR ? &cntr->failed : &cntr->done;
}

/**
 * smr_comp_cntr_modify() - set a count, or add to it
 * @ibcc: the counter
 * @entry: which count; the core has checked it and @op
 * @op: set or add
 * @value: the operand
 *
 * Return: 0
 */
int smr_comp_cntr_modify(struct ib_comp_cntr *ibcc, SMR_CNTR_ENTRY_TYPE entry,
			 SMR_CNTR_OP_TYPE op, u64 value)
{
	if (op == IB_COMP_CNTR_MODIFY_OP_SET)
		atomic64_set(entry_of(ibcc, entry), value);
	else
		atomic64_add(value, entry_of(ibcc, entry));
	return 0;
}

/**
 * smr_comp_cntr_read() - read a count
 * @ibcc: the counter
 * @entry: which count; the core has checked it
 * @value: set to the count
 *
 * Return: 0
 */
int smr_comp_cntr_read(struct ib_comp_cntr *ibcc, SMR_CNTR_ENTRY_TYPE entry,
		       u64 *value)
{
	/* Pairs with the barrier in smr_comp_cntr_add(). */
	*value = atomic64_read_acquire(entry_of(ibcc, entry));
	return 0;
}

/**
 * smr_comp_cntr_attach() - attach a counter to operations of a QP
 * @ibqp: the QP
 * @ibcc: the counter
 * @attr: which kinds of operations; the core has checked that none of them has a counter yet
 *
 * It stays attached until the QP is destroyed.
 *
 * Context: process, may sleep.
 * Return: 0; -EINVAL: the QP is not in RESET or INIT; -EOPNOTSUPP: an unknown kind.
 */
int smr_comp_cntr_attach(struct ib_qp *ibqp, struct ib_comp_cntr *ibcc,
			 struct ib_qp_attach_comp_cntr_attr *attr)
{
	struct smr_qp *qp = to_smr_qp(ibqp);
	u32 ops = SMR_CNTR_OPS(attr);
	enum ib_qp_state state;
	int op;

	if (ops & ~SMR_COMP_ALL)
		return smr_qp_why(qp, CNTR_OPS, ops);
	guard(mutex)(&qp->mutex);
	state = READ_ONCE(qp->state);
	if (state != IB_QPS_RESET && state != IB_QPS_INIT)
		return smr_qp_why(qp, CNTR_STATE, state);
	for (op = 0; op < SMR_COMP_OPS; op++)
		if (ops & BIT(op))
			WRITE_ONCE(qp->cntrs[op], to_smr_comp_cntr(ibcc));
	WRITE_ONCE(qp->counted, true);
	return 0;
}

/**
 * smr_comp_cntr_add() - count an operation
 * @cntr: the counter
 * @failed: the operation has completed with an error
 * @len: its length in bytes
 */
void smr_comp_cntr_add(struct smr_comp_cntr *cntr, bool failed, u32 len)
{
	/* A reader that sees the count also sees the data: pairs with smr_comp_cntr_read(). */
	smp_mb__before_atomic();
	if (failed)
		atomic64_inc(&cntr->failed);
	else
		atomic64_add(cntr->bytes ? len : 1, &cntr->done);
}

#define ATTR_TYPE \
	UVERBS_ATTR_CONST_IN(SMR_ATTR_COMP_CNTR_TYPE, \
			     enum smr_comp_cntr_type, UA_OPTIONAL)

SMR_CNTR_ATTRS(ATTR_TYPE);

const struct uapi_definition smr_comp_cntr_uapi[] = {
	SMR_CNTR_UAPI
	{}
};
