// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory windows: a peer gets access to a part of a region, and loses it again, while the region stays registered.
 *
 * windows DEVICE GID_INDEX
 */
#include "pair.h"

#define BYTES 8192
#define PART 1024

static char memory[BYTES], source[BYTES];

static struct ibv_mw_bind_info part_of(struct ibv_mr *mr, uint64_t length)
{
	return (struct ibv_mw_bind_info){
		.mr = mr, .addr = (uintptr_t)memory + PART, .length = length,
		.mw_access_flags = IBV_ACCESS_REMOTE_WRITE,
	};
}

/* Type 1: bound by a call; the provider chooses the key, and any QP of the protection domain may use it */
static void type_1(struct pair *pair, struct ibv_mr *mr, struct ibv_mr *from)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair->pd, IBV_MW_TYPE_1);
	struct ibv_mw_bind bind = { .send_flags = IBV_SEND_SIGNALED, .bind_info = part_of(mr, PART) };
	uint32_t old;
	int error;

	if (!mw)
		err(1, "ibv_alloc_mw");
	if (ibv_bind_mw(pair->qp[RESPONDER], mw, &bind))
		err(1, "ibv_bind_mw");
	pair_wait(pair, RESPONDER, "type 1: bind");
	pair_write(pair, from, bind.bind_info.addr, mw->rkey, PART, "type 1: WRITE to the window");
	error = ibv_dereg_mr(mr);
	printf("type 1: deregister the region meanwhile: %s\n", strerror(error));

	old = mw->rkey;
	bind.bind_info = part_of(mr, 0);
	if (ibv_bind_mw(pair->qp[RESPONDER], mw, &bind))
		err(1, "ibv_bind_mw");
	pair_wait(pair, RESPONDER, "type 1: unbind, a bind of length 0");
	pair_write(pair, from, (uintptr_t)memory + PART, old, PART, "type 1: WRITE by the old key");
	ibv_dealloc_mw(mw);
}

/* Type 2: bound by a work request, for one QP; the user chooses the key's low byte, and the peer may invalidate it */
static void type_2(struct pair *pair, struct ibv_mr *mr, struct ibv_mr *from)
{
	struct ibv_mw *mw = ibv_alloc_mw(pair->pd, IBV_MW_TYPE_2);
	struct ibv_send_wr wr = { .opcode = IBV_WR_BIND_MW };
	struct ibv_recv_wr recv = {}, *bad;

	if (!mw)
		err(1, "ibv_alloc_mw");
	wr.bind_mw.mw = mw;
	wr.bind_mw.rkey = ibv_inc_rkey(mw->rkey);
	wr.bind_mw.bind_info = part_of(mr, PART);
	pair_do(pair, RESPONDER, &wr, "type 2: bind");
	pair_write(pair, from, (uintptr_t)memory + PART, wr.bind_mw.rkey, PART, "type 2: WRITE to the window");
	pair_write(pair, from, (uintptr_t)memory + 2 * PART - 8, wr.bind_mw.rkey, PART, "type 2: WRITE beyond its end");

	pair_connect(pair); /* the window is still bound */
	pair_do(pair, RESPONDER, &(struct ibv_send_wr){
		.opcode = IBV_WR_LOCAL_INV, .invalidate_rkey = wr.bind_mw.rkey }, "type 2: its owner invalidates it");
	wr.bind_mw.rkey = ibv_inc_rkey(wr.bind_mw.rkey);
	pair_do(pair, RESPONDER, &wr, "type 2: bind it again");
	ibv_post_recv(pair->qp[RESPONDER], &recv, &bad);
	pair_do(pair, REQUESTER, &(struct ibv_send_wr){
		.opcode = IBV_WR_SEND_WITH_INV, .invalidate_rkey = wr.bind_mw.rkey }, "type 2: the peer invalidates it");
	pair_wait(pair, RESPONDER, "type 2: the receive that says so");
	pair_write(pair, from, (uintptr_t)memory + PART, wr.bind_mw.rkey, PART, "type 2: WRITE by a key that has ended");
	ibv_dealloc_mw(mw);
}

int main(int argc, char **argv)
{
	struct ibv_mr *mr, *from;
	struct pair pair;
	int error;

	pair_open(&pair, argc, argv);
	/* the region itself gives peers no rights */
	mr = ibv_reg_mr(pair.pd, memory, BYTES, IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_MW_BIND);
	from = ibv_reg_mr(pair.pd, source, BYTES, 0);
	if (!mr || !from)
		err(1, "ibv_reg_mr");
	pair_connect(&pair);
	type_1(&pair, mr, from);
	pair_connect(&pair);
	type_2(&pair, mr, from);
	error = ibv_dereg_mr(mr);
	printf("deregister the region: %s\n", error ? strerror(error) : "success");
	ibv_dereg_mr(from);
	pair_close(&pair);
	return 0;
}
