/* SPDX-License-Identifier: GPL-2.0 */
/* Control of queue pairs: create, modify, query, destroy. */
#ifndef SMR_MODIFY_H
#define SMR_MODIFY_H

struct ib_qp_attr;
struct ib_qp_init_attr;
struct ib_ucontext;
struct smr_create_qp_resp;
struct smr_env;
struct smr_modify_qp;
struct smr_qp;
struct smr_why_log;

int smr_qp_create(struct smr_qp *qp, struct smr_env *env,
		  struct ib_qp_init_attr *init, struct ib_ucontext *uctx,
		  struct smr_create_qp_resp *resp);
int smr_qp_modify(struct smr_qp *qp, const struct ib_qp_attr *attr, int mask,
		  const struct smr_modify_qp *how, struct smr_why_log *log);
void smr_qp_query(struct smr_qp *qp, struct ib_qp_attr *attr, int mask,
		  struct ib_qp_init_attr *init);
void smr_qp_destroy(struct smr_qp *qp);

#endif /* SMR_MODIFY_H */
