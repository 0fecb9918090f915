/* SPDX-License-Identifier: GPL-2.0 */
/* Creation and destruction of steering rules. */
#ifndef SMR_RULES_H
#define SMR_RULES_H

struct ib_flow_attr;
struct smr_qp;
struct smr_rule;
struct smr_steer;
struct smr_why;

struct smr_rule *smr_rule_create(struct smr_qp *qp,
				 const struct ib_flow_attr *attr,
				 struct smr_why *why);
void smr_rule_destroy(struct smr_rule *rule);
void smr_rules_resync(struct smr_steer *steer);
void smr_rules_close(struct smr_steer *steer);

#endif /* SMR_RULES_H */
