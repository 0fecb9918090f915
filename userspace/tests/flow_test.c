// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering rules
 */
#include <errno.h>

#include "rig.h"

static struct ibv_flow *create(struct ibv_qp *qp)
{
	struct ibv_flow_attr attr = {};

	errno = 0;
	return smr_create_flow(qp, &attr);
}

static void rules(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RAW_PACKET, 0);
	struct ibv_flow *flow;

	fake.reg_err = EPERM;
	want(!create(&qp->vqp.qp) && errno == EPERM);
	fake.reg_err = 0;
	flow = create(&qp->vqp.qp);
	want(flow && flow->context == fake_context());
	fake.reg_err = EBUSY;
	want(smr_destroy_flow(flow) == EBUSY);
	fake.reg_err = 0;
	want(!smr_destroy_flow(flow));
	smr_destroy_qp(&qp->vqp.qp);
}

const struct tap_test flow_tests[] = {
	{ "flow rules", rules },
	{},
};
