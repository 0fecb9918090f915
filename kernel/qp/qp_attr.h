/* SPDX-License-Identifier: GPL-2.0 */
/* The attributes of a QP one by one: what values they may have. */
#ifndef SMR_QP_ATTR_H
#define SMR_QP_ATTR_H

struct ib_qp_attr;

int smr_qp_attr_check(const struct ib_qp_attr *attr, int mask);
void smr_qp_attr_store(struct ib_qp_attr *to, const struct ib_qp_attr *from,
		       int mask);

#endif /* SMR_QP_ATTR_H */
