// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Flow steering rules and the counters that they use.
 */
#include <errno.h>
#include <stdint.h>

#include "rig.h"

/* A rule as libibverbs passes it on; @gap aligns the pointer in @count. */
struct rule {
	uint32_t gap;
	struct ibv_flow_attr attr;
	struct ibv_flow_spec_eth eth;
	struct ibv_flow_spec_counter_action count;
};

static struct ibv_flow *create(struct ibv_qp *qp, struct ibv_counters *counters)
{
	struct rule rule = {
		.attr = { .num_of_specs = counters ? 2 : 1 },
		.eth = { .type = IBV_FLOW_SPEC_ETH, .size = sizeof(rule.eth) },
		.count = {
			.type = IBV_FLOW_SPEC_ACTION_COUNT,
			.size = sizeof(rule.count),
			.counters = counters,
		},
	};

	errno = 0;
	return smr_create_flow(qp, &rule.attr);
}

static int attach(struct ibv_counters *counters,
		  enum ibv_counter_description what, uint32_t index)
{
	struct ibv_counter_attach_attr attr = {
		.counter_desc = what, .index = index,
	};

	return smr_attach_counters_point_flow(counters, &attr, NULL);
}

static struct ibv_counters *new_counters(void)
{
	struct ibv_counters_init_attr attr = {};

	errno = 0;
	return smr_create_counters(fake_context(), &attr);
}

static void rules(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RAW_PACKET, 0);
	struct ibv_flow *flow;

	fake.reg_err = EPERM;
	want(!create(&qp->vqp.qp, NULL) && errno == EPERM);
	fake.reg_err = 0;
	flow = create(&qp->vqp.qp, NULL);
	want(flow && flow->context == fake_context());
	fake.reg_err = EBUSY;
	want(smr_destroy_flow(flow) == EBUSY);
	fake.reg_err = 0;
	want(!smr_destroy_flow(flow));
	smr_destroy_qp(&qp->vqp.qp);
}

/* While a rule uses them, no counter can be added. */
static void counters_in_use(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RAW_PACKET, 0);
	struct ibv_counters *counters = new_counters();
	struct ibv_flow *flow[2];

	fake.reg_err = ENOMEM;
	want(!create(&qp->vqp.qp, counters) && errno == ENOMEM);
	fake.reg_err = 0;
	want(!attach(counters, IBV_COUNTER_PACKETS, 0));
	flow[0] = create(&qp->vqp.qp, counters);
	flow[1] = create(&qp->vqp.qp, counters);
	want(flow[0] && flow[1]);
	want(attach(counters, IBV_COUNTER_BYTES, 1) == EBUSY);
	want(fake.note.id == SMR_WHY_FLOW_COUNTED);
	want(!smr_destroy_flow(flow[0]));
	fake.reg_err = EBUSY;
	want(smr_destroy_flow(flow[1]) == EBUSY);
	want(smr_destroy_counters(counters) == EBUSY);
	fake.reg_err = 0;
	want(attach(counters, IBV_COUNTER_BYTES, 1) == EBUSY);
	want(!smr_destroy_flow(flow[1]));
	want(!attach(counters, IBV_COUNTER_BYTES, 1));
	want(!smr_destroy_counters(counters));
	smr_destroy_qp(&qp->vqp.qp);
}

/* Counters at one index add up; an index without one is 0. */
static void read_them(void)
{
	struct ibv_counters *counters = new_counters();
	uint64_t values[5];

	want(!attach(counters, IBV_COUNTER_PACKETS, 0));
	want(!attach(counters, IBV_COUNTER_BYTES, 2));
	want(!attach(counters, IBV_COUNTER_BYTES, 2));
	want(!attach(counters, IBV_COUNTER_BYTES, 3));
	want(!attach(counters, IBV_COUNTER_PACKETS, UINT32_MAX));
	memset(values, 0xff, sizeof(values));
	want(!smr_read_counters(counters, values, 3, 0));
	want(values[0] == FAKE_PACKETS && !values[1]);
	want(values[2] == 2 * FAKE_BYTES && values[3] == UINT64_MAX);
	fake.reg_err = EINVAL;
	want(smr_read_counters(counters, values, 5, 0) == EINVAL);
	fake.reg_err = 0;
	want(values[4] == UINT64_MAX);
	want(!smr_destroy_counters(counters));
}

static void refused_counters(void)
{
	struct ibv_counter_attach_attr attr = { .comp_mask = 1 };
	struct ibv_counters *counters = new_counters();
	struct ibv_flow flow;

	want(smr_attach_counters_point_flow(counters, &attr, NULL) ==
	     EOPNOTSUPP);
	want(fake.note.id == SMR_WHY_FIELDS_UNKNOWN);
	attr.comp_mask = 0;
	want(smr_attach_counters_point_flow(counters, &attr, &flow) ==
	     EOPNOTSUPP);
	want(fake.note.id == SMR_WHY_FLOW_COUNTER && fake.note.num[1] == 1);
	want(attach(counters, IBV_COUNTER_BYTES + 1, 0) == EOPNOTSUPP);
	want(!smr_destroy_counters(counters));

	fake.reg_err = ENOMEM;
	want(!new_counters() && errno == ENOMEM);
	/* a module without them */
	fake.reg_err = EPROTONOSUPPORT;
	want(!new_counters() && errno == EOPNOTSUPP);
	fake.reg_err = 0;
}

const struct tap_test flow_tests[] = {
	{ "flow rules", rules },
	{ "flow counters of rules", counters_in_use },
	{ "values of flow counters", read_them },
	{ "flow counters that are refused", refused_counters },
	{},
};
