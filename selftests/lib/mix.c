// SPDX-License-Identifier: GPL-2.0
#include "mix.h"

#include <arpa/inet.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "pattern.h"
#include "random.h"
#include "work.h"

#define PART	(VT_MIX_DEPTH * VT_MIX_SLOT)

static const enum ibv_wr_opcode ops[] = {
	IBV_WR_SEND, IBV_WR_SEND_WITH_IMM, IBV_WR_RDMA_WRITE, IBV_WR_RDMA_WRITE_WITH_IMM,
	IBV_WR_RDMA_READ, IBV_WR_RDMA_READ, IBV_WR_ATOMIC_FETCH_AND_ADD,
};

/**
 * vt_mix() - initialize a stream
 * @way: 0 or 1: which part of the buffers it uses
 * @random: the state of vt_random()
 *
 * Return: the stream
 */
struct vt_mix vt_mix(struct vt_ep *from, struct vt_ep *to, int way, uint64_t random)
{
	struct vt_mix mix = { .from = from, .to = to, .way = way, .random = random };

	vt_mix_restart(&mix);
	return mix;
}

/* The place of the bytes of request @n: at the requester; at the responder */
static size_t slot_of(const struct vt_mix *mix, uint64_t n)
{
	return mix->way * PART + n % VT_MIX_DEPTH * VT_MIX_SLOT;
}

static size_t counter_of(const struct vt_mix *mix)
{
	return 2 * PART + mix->way * 8;
}

static uint64_t number_at(const struct vt_ep *ep, size_t off)
{
	uint64_t value;

	memcpy(&value, ep->buf.p + off, sizeof(value));
	return value;
}

/* Each request has different bytes */
static uint32_t seed_of(const struct vt_mix *mix, uint64_t n)
{
	return 2 * n + mix->way;
}

/**
 * vt_mix_restart() - restart after an error and vt_pair_recover(). Whether the request that
 * failed was executed is unknown, so the counter is taken as it is
 */
void vt_mix_restart(struct vt_mix *mix)
{
	/* late completions belong to other requests */
	mix->posted += VT_MIX_DEPTH;
	mix->done = mix->posted;
	mix->sum = number_at(mix->to, counter_of(mix));
}

/*
 * Choose request @n: a new kind, or like the previous one, since similar requests may be sent
 * together
 */
static void choose(struct vt_mix *mix, uint64_t n)
{
	unsigned int at = n % VT_MIX_DEPTH;

	if (vt_random_below(&mix->random, 2)) {
		mix->slot[at] = mix->slot[(n - 1) % VT_MIX_DEPTH];
		return;
	}
	mix->slot[at].op = ops[vt_random_below(&mix->random, sizeof(ops) / sizeof(ops[0]))];
	mix->slot[at].len = 1 + vt_random_below(&mix->random,
						vt_random_below(&mix->random, 4) ? 3000 : VT_MIX_SLOT);
	if (mix->slot[at].op == IBV_WR_ATOMIC_FETCH_AND_ADD)
		mix->slot[at].len = 8;
}

/* Prepare the buffers of request @n. Return: 0 or a negative errno */
static int prepare(struct vt_mix *mix, uint64_t n, struct ibv_send_wr *wr, struct ibv_sge *sge)
{
	struct ibv_sge room = vt_sge(&mix->to->buf, slot_of(mix, n), VT_MIX_SLOT);
	enum ibv_wr_opcode op;
	struct vt_ep *source;
	uint32_t len;

	choose(mix, n);
	op = mix->slot[n % VT_MIX_DEPTH].op;
	len = mix->slot[n % VT_MIX_DEPTH].len;
	source = op == IBV_WR_RDMA_READ ? mix->to : mix->from;
	*sge = vt_sge(&mix->from->buf, slot_of(mix, n), len);
	*wr = (struct ibv_send_wr){
		.wr_id = n, .sg_list = sge, .num_sge = 1, .opcode = op,
		.send_flags = IBV_SEND_SIGNALED,
	};
	vt_fill(source->buf.p + slot_of(mix, n), len, seed_of(mix, n), 0);
	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		wr->wr.atomic.remote_addr = (uintptr_t)mix->to->buf.p + counter_of(mix);
		wr->wr.atomic.rkey = mix->to->buf.mr->rkey;
		wr->wr.atomic.compare_add = 1;
	} else {
		wr->wr.rdma.remote_addr = room.addr;
		wr->wr.rdma.rkey = room.lkey;
	}
	if (vt_op_has_imm(op))
		wr->imm_data = htonl(n);
	return vt_op_receives(op) ? vt_post_recv(mix->to, n, &room, 1) : 0;
}

/* Post up to @most requests by one list */
static int post(struct vt_mix *mix, unsigned int most)
{
	unsigned int n = 1 + vt_random_below(&mix->random, most), i;
	struct ibv_send_wr wr[VT_MIX_DEPTH];
	struct ibv_sge sge[VT_MIX_DEPTH];
	int ret = 0;

	for (i = 0; !ret && i < n; i++) {
		ret = prepare(mix, mix->posted + i, &wr[i], &sge[i]);
		if (i)
			wr[i - 1].next = &wr[i];
	}
	if (!ret)
		ret = vt_post(mix->from, wr);
	if (!ret)
		mix->posted += n;
	return ret;
}

static bool received(struct vt_mix *mix, uint64_t n, enum ibv_wr_opcode op, uint32_t len)
{
	struct ibv_wc wc;

	/* The responder completes a receive before it acknowledges the message */
	if (vt_poll(mix->to->rcq, &wc, 1, 0) != 1) {
		printf("# request %llu: acknowledged, and not received\n", (unsigned long long)n);
		return false;
	}
	if (!wc.status && wc.wr_id == n && wc.byte_len == len &&
	    (!vt_op_has_imm(op) || wc.imm_data == htonl(n)))
		return true;
	printf("# request %llu of %u bytes: received as %llu, %u bytes, status %d\n",
	       (unsigned long long)n, len, (unsigned long long)wc.wr_id, wc.byte_len, wc.status);
	return false;
}

/* Has request @n moved its bytes, and no others? */
static bool moved(struct vt_mix *mix, uint64_t n)
{
	enum ibv_wr_opcode op = mix->slot[n % VT_MIX_DEPTH].op;
	uint32_t len = mix->slot[n % VT_MIX_DEPTH].len;
	struct vt_ep *target = op == IBV_WR_RDMA_READ ? mix->from : mix->to;

	if (op == IBV_WR_ATOMIC_FETCH_AND_ADD) {
		uint64_t old = number_at(mix->from, slot_of(mix, n));

		if (old == mix->sum++)
			return true;
		printf("# request %llu: the counter was %llu, not %llu\n", (unsigned long long)n,
		       (unsigned long long)old, (unsigned long long)mix->sum - 1);
		return false;
	}
	if (vt_op_receives(op) && !received(mix, n, op, len))
		return false;
	mix->bytes += len;
	return vt_check(vt_op_name(op), target->buf.p + slot_of(mix, n), len, seed_of(mix, n), 0);
}

/* Wait for the oldest request. Return: as vt_mix_run() */
static int finish_one(struct vt_mix *mix)
{
	struct ibv_wc wc;
	int ret = vt_wait(mix->from->scq, &wc);

	if (ret)
		return ret;
	if (wc.status)
		return wc.status;
	if (wc.wr_id != mix->done) {
		printf("# request %llu completes instead of %llu\n", (unsigned long long)wc.wr_id,
		       (unsigned long long)mix->done);
		return -EBADMSG;
	}
	return moved(mix, mix->done++) ? 0 : -EBADMSG;
}

/**
 * vt_mix_run() - post requests, and wait for all of them
 * @n: number of requests
 *
 * Return: 0; the status with which a request has failed; or a negative errno, which is -EBADMSG if
 * data or a completion was wrong
 */
int vt_mix_run(struct vt_mix *mix, unsigned int n)
{
	uint64_t end = mix->done + n, most;
	int ret = 0;

	while (!ret && mix->done < end) {
		for (; !ret; ret = post(mix, most)) {
			most = mix->done + VT_MIX_DEPTH;
			most = (most < end ? most : end) - mix->posted;
			if (!most)
				break;
		}
		if (!ret)
			ret = finish_one(mix);
	}
	return ret;
}
