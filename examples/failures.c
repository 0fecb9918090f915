// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Failures on purpose: a request that completes with status 4, 5, 9, 10, 12 or 13, and EINVAL of ibv_modify_qp().
 *
 * failures DEVICE GID_INDEX 4|5|9|10|12|13|einval
 */
#include "pair.h"

#define BYTES 4096

static char memory[2 * BYTES];

/* A region over the first half only; the peer may write to it, but not read it */
static struct ibv_mr *mr;

static uint64_t there(void) { return (uintptr_t)mr->addr; }

/* The request's own memory: it goes beyond its region */
static void local_protection(struct pair *pair)
{
	pair_write(pair, mr, there(), mr->rkey, BYTES + 1, "WRITE of a byte too much");
}

/* After a request that fails, the later ones are flushed */
static void flushed(struct pair *pair)
{
	pair_write(pair, mr, there(), 0x1234, BYTES, "WRITE with a wrong key");
	pair_write(pair, mr, there(), mr->rkey, BYTES, "the next WRITE");
}

/* The peer's queue pair takes no WRITEs */
static void invalid_request(struct pair *pair)
{
	pair->init.qp_access_flags = IBV_ACCESS_REMOTE_READ;
	pair_connect(pair);
	pair_write(pair, mr, there(), mr->rkey, BYTES, "WRITE that the peer does not take");
}

/* The peer's region ends before the last byte */
static void remote_access(struct pair *pair)
{
	pair_write(pair, mr, there() + 1, mr->rkey, BYTES, "WRITE beyond the peer's region");
}

/* The peer does not answer: its queue pair receives nothing */
static void no_answer(struct pair *pair)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };

	ibv_modify_qp(pair->qp[RESPONDER], &reset, IBV_QP_STATE);
	pair_write(pair, mr, there(), mr->rkey, BYTES, "WRITE to a peer that is gone");
}

/* The peer has posted no receive */
static void not_ready(struct pair *pair)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND };

	pair_do(pair, REQUESTER, &wr, "SEND without a receive");
}

/* The path MTU is larger than that of the port */
static void modify_einval(struct pair *pair)
{
	struct ibv_qp_attr reset = { .qp_state = IBV_QPS_RESET };
	struct ibv_qp *qp = pair->qp[REQUESTER];
	int error;

	ibv_modify_qp(qp, &reset, IBV_QP_STATE);
	ibv_modify_qp(qp, &pair->init, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS);
	pair->rtr.path_mtu = IBV_MTU_4096;
	error = ibv_modify_qp(qp, &pair->rtr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
			      IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
	printf("ibv_modify_qp: %s\n", strerror(error));
}

static const struct {
	const char *name;
	void (*run)(struct pair *pair);
} failures[] = {
	{ "4", local_protection },
	{ "5", flushed },
	{ "9", invalid_request },
	{ "10", remote_access },
	{ "12", no_answer },
	{ "13", not_ready },
	{ "einval", modify_einval },
};

int main(int argc, char **argv)
{
	struct pair pair;

	for (size_t i = 0; argc == 4 && i < sizeof(failures) / sizeof(failures[0]); i++) {
		if (strcmp(failures[i].name, argv[3]))
			continue;
		pair_open(&pair, argc, argv);
		pair_connect(&pair);
		mr = ibv_reg_mr(pair.pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE);
		if (!mr)
			err(1, "ibv_reg_mr");
		failures[i].run(&pair);
		ibv_dereg_mr(mr);
		pair_close(&pair);
		return 0;
	}
	errx(2, "usage: failures DEVICE GID_INDEX 4|5|9|10|12|13|einval");
}
