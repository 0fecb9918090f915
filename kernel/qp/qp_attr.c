// SPDX-License-Identifier: GPL-2.0
#include "qp/qp_attr.h"

#include <linux/kernel.h>
#include <rdma/ib_verbs.h>

#include "compat/ib.h"
#include "net/wire.h"
#include "qp/core.h"

/**
 * struct attr_rule - one attribute of a QP
 * @mask: its bit of enum ib_qp_attr_mask
 * @offset: where it is in struct ib_qp_attr
 * @size: bytes
 * @min: smallest value allowed
 * @max: largest value allowed
 */
struct attr_rule {
	int mask;
	size_t offset;
	size_t size;
	u32 min;
	u32 max;
};

#define RULE(_mask, _field, _min, _max) {				\
	.mask = IB_QP_##_mask,						\
	.offset = offsetof(struct ib_qp_attr, _field),			\
	.size = sizeof_field(struct ib_qp_attr, _field),		\
	.min = _min,							\
	.max = _max,							\
}

/*
 * Everything that a QP has, except for what needs more than a look
 * at its value: the state, the address, the access rights. Encodings of
 * timers and counters are those of IBTA 9.7.5.1.3, 9.7.5.2.8, 9.7.5.2.10.
 */
static const struct attr_rule attr_rules[] = {
	RULE(PKEY_INDEX, pkey_index, 0, 0),
	RULE(PORT, port_num, 1, 1),
	RULE(QKEY, qkey, 0, U32_MAX),
	RULE(PATH_MTU, path_mtu, IB_MTU_256, IB_MTU_4096),
	RULE(TIMEOUT, timeout, 0, 31),
	RULE(RETRY_CNT, retry_cnt, 0, 7),
	RULE(RNR_RETRY, rnr_retry, 0, 7),
	RULE(MIN_RNR_TIMER, min_rnr_timer, 0, 31),
	RULE(RQ_PSN, rq_psn, 0, SMR_PSN_MASK),
	RULE(SQ_PSN, sq_psn, 0, SMR_PSN_MASK),
	RULE(DEST_QPN, dest_qp_num, 0, SMR_QPN_MASK),
	RULE(MAX_QP_RD_ATOMIC, max_rd_atomic, 0, SMR_MAX_RD_ATOMIC),
	RULE(MAX_DEST_RD_ATOMIC, max_dest_rd_atomic, 0, SMR_MAX_RD_ATOMIC),
	RULE(EN_SQD_ASYNC_NOTIFY, en_sqd_async_notify, 0, U8_MAX),
	RULE(PATH_MIG_STATE, path_mig_state, IB_MIG_MIGRATED, IB_MIG_MIGRATED),
};

/* What is stored as it is, once somebody else has checked it. */
static const struct attr_rule checked_rules[] = {
	RULE(ACCESS_FLAGS, qp_access_flags, 0, 0),
	RULE(AV, ah_attr, 0, 0),
};

/*
 * Rights that a QP can give a peer. Programs pass all the flags of their
 * regions: what means nothing to a QP is accepted, as ever.
 */
#define QP_ACCESS (IB_ACCESS_LOCAL_WRITE | IB_ACCESS_REMOTE_WRITE | \
		   IB_ACCESS_REMOTE_READ | IB_ACCESS_REMOTE_ATOMIC | \
		   IB_ACCESS_MW_BIND | IB_ACCESS_FLUSH_GLOBAL | \
		   IB_ACCESS_FLUSH_PERSISTENT | IB_ACCESS_ON_DEMAND | \
		   IB_ACCESS_HUGETLB | IB_ZERO_BASED | IB_ACCESS_OPTIONAL)

/* Attributes that we know of, whether they fit the transition or not. */
#define QP_ATTRS							\
	(IB_QP_STATE | IB_QP_CUR_STATE | IB_QP_ACCESS_FLAGS |		\
	 IB_QP_PKEY_INDEX | IB_QP_PORT | IB_QP_QKEY | IB_QP_AV |		\
	 IB_QP_PATH_MTU | IB_QP_TIMEOUT | IB_QP_RETRY_CNT |		\
	 IB_QP_RNR_RETRY | IB_QP_RQ_PSN | IB_QP_MAX_QP_RD_ATOMIC |	\
	 IB_QP_MIN_RNR_TIMER | IB_QP_SQ_PSN | IB_QP_MAX_DEST_RD_ATOMIC |	\
	 IB_QP_PATH_MIG_STATE | IB_QP_DEST_QPN |			\
	 IB_QP_EN_SQD_ASYNC_NOTIFY)

static u32 rule_value(const struct attr_rule *rule,
		      const struct ib_qp_attr *attr)
{
	const void *field = (const void *)attr + rule->offset;

	switch (rule->size) {
	case sizeof(u8):
		return *(const u8 *)field;
	case sizeof(u16):
		return *(const u16 *)field;
	default:
		return *(const u32 *)field;
	}
}

static bool rule_fits(const struct attr_rule *rule,
		      const struct ib_qp_attr *attr)
{
	u32 value = rule_value(rule, attr);

	return value >= rule->min && value <= rule->max;
}

/**
 * smr_qp_attr_check() - are the values of attributes possible ones?
 * @attr: the values
 * @mask: which attributes: enum ib_qp_attr_mask
 *
 * Neither the address nor the QP's state is looked at.
 *
 * Return: 0, -EINVAL (a value), -EOPNOTSUPP (an attribute or a right).
 */
int smr_qp_attr_check(const struct ib_qp_attr *attr, int mask)
{
	size_t i;

	if (mask & ~QP_ATTRS)
		return -EOPNOTSUPP;
	if ((mask & IB_QP_ACCESS_FLAGS) && (attr->qp_access_flags & ~QP_ACCESS))
		return -EOPNOTSUPP;
	for (i = 0; i < ARRAY_SIZE(attr_rules); i++)
		if ((mask & attr_rules[i].mask) &&
		    !rule_fits(&attr_rules[i], attr))
			return -EINVAL;
	return 0;
}

static void rules_copy(const struct attr_rule *rule, size_t nr,
		       struct ib_qp_attr *to, const struct ib_qp_attr *from,
		       int mask)
{
	for (; nr; nr--, rule++)
		if (mask & rule->mask)
			memcpy((void *)to + rule->offset,
			       (const void *)from + rule->offset, rule->size);
}

/**
 * smr_qp_attr_store() - take over attributes
 * @to: where to
 * @from: the values, checked
 * @mask: which attributes
 */
void smr_qp_attr_store(struct ib_qp_attr *to, const struct ib_qp_attr *from,
		       int mask)
{
	rules_copy(attr_rules, ARRAY_SIZE(attr_rules), to, from, mask);
	rules_copy(checked_rules, ARRAY_SIZE(checked_rules), to, from, mask);
}
