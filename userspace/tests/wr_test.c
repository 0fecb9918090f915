// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The ibv_wr_*() interface.
 */
#include <errno.h>

#include "rig.h"

enum {
	ALL_RC = IBV_QP_EX_WITH_RDMA_WRITE | IBV_QP_EX_WITH_SEND |
		 IBV_QP_EX_WITH_SEND_WITH_INV | IBV_QP_EX_WITH_BIND_MW |
		 IBV_QP_EX_WITH_LOCAL_INV | IBV_QP_EX_WITH_RDMA_READ |
		 IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD,
};

static struct ibv_qp *try_qp(uint64_t send_ops)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_RC,
		.comp_mask = IBV_QP_INIT_ATTR_PD |
			     IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = send_ops,
	};

	return smr_create_qp_ex(fake_context(), &attr);
}

/* The numbers in verbs.h of a newer rdma-core */
enum {
	FLAG_FLUSH = 1 << 11,
	FLAG_ATOMIC_WRITE = 1 << 12,
	FLAG_NEXT = 1 << 13,
};

/* Can a QP be created for these operations? */
static bool try_qp_once(uint64_t send_ops)
{
	struct ibv_qp *qp = try_qp(send_ops);

	want(qp || errno == EOPNOTSUPP);
	return qp && !smr_destroy_qp(qp);
}

/* A QP whose entries have room for @max_inline bytes or @max_sge SGEs */
static struct smr_qp *qp_with_room(uint32_t max_inline, uint32_t max_sge, uint64_t send_ops)
{
	struct smr_qp *qp;

	fake.max_inline = max_inline;
	fake.max_sge = max_sge;
	qp = rig_qp(IBV_QPT_RC, send_ops);
	fake.max_inline = FAKE_MAX_INLINE;
	fake.max_sge = FAKE_MAX_SGE;
	return qp;
}

/* The functions of struct ibv_qp_ex that rdma-core 39 lacks, in their order */
enum {
	ATOMIC_WRITE,
	FLUSH,
	NEWER_FUNCTIONS,
};

static void **newer_function(struct smr_qp *qp, int which)
{
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;

	return (void **)(void *)&qpx->wr_abort + 1 + which;
}

/* Let the libibverbs of this process have the first @n of them. Returns the real one. */
static struct smr_libibverbs newer_functions(int n)
{
	struct smr_libibverbs old = smr_libibverbs;

	smr_libibverbs.comp_mask =
		offsetof(struct ibv_qp_ex, wr_abort) +
		(1 + n) * sizeof(void *);
	return old;
}

static int post_atomic_write(struct smr_qp *qp, const uint64_t *word)
{
	void (*fn)(struct ibv_qp_ex *qpx, uint32_t rkey, uint64_t addr,
		   const void *data) = *newer_function(qp, ATOMIC_WRITE);

	ibv_wr_start(&qp->vqp.qp_ex);
	fn(&qp->vqp.qp_ex, 5, 0x300, word);
	return ibv_wr_complete(&qp->vqp.qp_ex);
}

static void atomic_write(void)
{
	struct smr_libibverbs old = newer_functions(NEWER_FUNCTIONS);
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, FLAG_ATOMIC_WRITE);
	uint64_t word = 0x1122334455667788;

	want(!post_atomic_write(qp, &word));
	want(!memcmp(rig_sent(qp, 0)->sge, &word, sizeof(word)));
	want(rig_sent(qp, 0)->inline_len == sizeof(word));
	smr_destroy_qp(&qp->vqp.qp);

	/* The space of an SGE suffices. */
	qp = qp_with_room(0, FAKE_MAX_SGE, FLAG_ATOMIC_WRITE);
	want(!post_atomic_write(qp, &word));
	smr_destroy_qp(&qp->vqp.qp);

	qp = qp_with_room(0, 0, FLAG_ATOMIC_WRITE);
	want(post_atomic_write(qp, &word) == EINVAL);
	smr_destroy_qp(&qp->vqp.qp);
	smr_libibverbs = old;
}

/*
 * comp_mask and the pointer after it are in the place of functions that an older libibverbs lacks: QPs with these are
 * refused, and others do not touch the place.
 */
static void older_libibverbs(void)
{
	struct smr_libibverbs old = smr_libibverbs;
	struct smr_qp *qp;
	int n;

	for (n = 0; n <= NEWER_FUNCTIONS; n++) {
		newer_functions(n);
		qp = rig_qp(IBV_QPT_RC, ALL_RC);
		want(*(uint32_t *)newer_function(qp, n) == VERBS_QP_EX);
		want(!*newer_function(qp, n + 1));
		smr_destroy_qp(&qp->vqp.qp);
		want(!n == !try_qp_once(FLAG_ATOMIC_WRITE));
		want((n < NEWER_FUNCTIONS) == !try_qp_once(FLAG_FLUSH));
	}
	smr_libibverbs = old;
}

/* A flag that this provider has no function for */
static void unknown_flag(void)
{
	errno = 0;
	want(!try_qp(FLAG_NEXT) && errno == EOPNOTSUPP);
	errno = 0;
	want(!try_qp(1ULL << 63) && errno == EOPNOTSUPP);
}

static void no_inline_room(void)
{
	struct smr_qp *qp = qp_with_room(0, FAKE_MAX_SGE, ALL_RC);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	char byte = 0;

	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, &byte, 1);
	want(ibv_wr_complete(qpx) == EINVAL);
	smr_destroy_qp(&qp->vqp.qp);
}

/* Inline data is the payload of one request, of an operation that has one. */
static void inline_data(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_RC, ALL_RC);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	char text[] = "hello";

	ibv_wr_start(qpx);
	ibv_wr_rdma_read(qpx, 1, 2);
	ibv_wr_set_inline_data(qpx, text, 5);
	want(ibv_wr_complete(qpx) == EINVAL && !rig_pending(&qp->sq));

	ibv_wr_start(qpx);
	ibv_wr_atomic_fetch_add(qpx, 1, 8, 1);
	ibv_wr_set_inline_data(qpx, text, 5);
	want(ibv_wr_complete(qpx) == EINVAL && !rig_pending(&qp->sq));

	ibv_wr_start(qpx);
	ibv_wr_local_inv(qpx, 1);
	ibv_wr_set_inline_data(qpx, text, 0);
	want(ibv_wr_complete(qpx) == EINVAL && !rig_pending(&qp->sq));

	/* Which operation it is does not depend on the ring, which the kernel can write, too. */
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	rig_sent(qp, 0)->opcode = IBV_WR_RDMA_READ;
	ibv_wr_set_inline_data(qpx, text, 5);
	want(qp->wr && !qp->wr_err);
	ibv_wr_abort(qpx);

	/* The last data is used. */
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_inline_data(qpx, text, 5);
	ibv_wr_set_inline_data(qpx, text + 1, 4);
	want(!ibv_wr_complete(qpx));
	want(rig_sent(qp, 0)->inline_len == 4);
	want(!memcmp(rig_sent(qp, 0)->sge, text + 1, 4));
	smr_destroy_qp(&qp->vqp.qp);
}

/* A datagram does not use the address of an earlier one in the same entry. */
static void no_address(void)
{
	struct smr_qp *qp = rig_qp(IBV_QPT_UD, IBV_QP_EX_WITH_SEND | IBV_QP_EX_WITH_SEND_WITH_IMM);
	struct ibv_qp_ex *qpx = &qp->vqp.qp_ex;
	struct smr_ah ah = { .number = 3 };
	int i;

	for (i = 0; i < FAKE_DEPTH; i++) {
		ibv_wr_start(qpx);
		ibv_wr_send_imm(qpx, htobe32(i));
		ibv_wr_set_ud_addr(qpx, &ah.ah, 4, 5);
		want(!ibv_wr_complete(qpx));
		want(rig_sent(qp, i)->imm_or_rkey == htobe32(i));
		qp->sq.ring.hdr->cons++;
	}
	want(rig_sent(qp, 0)->ud.ah_handle == 3);

	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_sge(qpx, 1, 2, 3);
	want(ibv_wr_complete(qpx) == EINVAL);
	/* the second one has another address than the first one */
	ibv_wr_start(qpx);
	ibv_wr_send_imm(qpx, 0);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, &ah.ah, 4, 5);
	want(ibv_wr_complete(qpx) == EINVAL);
	ibv_wr_start(qpx);
	ibv_wr_send(qpx);
	ibv_wr_set_ud_addr(qpx, NULL, 4, 5);
	want(ibv_wr_complete(qpx) == EINVAL);
	want(!rig_pending(&qp->sq));

	ibv_wr_start(qpx);
	for (i = 0; i < 2; i++) {
		ibv_wr_send(qpx);
		ibv_wr_set_sge(qpx, 1, 2, 3);
		ibv_wr_set_ud_addr(qpx, &ah.ah, 4 + i, 5);
	}
	want(!ibv_wr_complete(qpx) && rig_pending(&qp->sq) == 2);
	want(rig_sent(qp, FAKE_DEPTH)->ud.remote_qpn == 4);
	want(rig_sent(qp, FAKE_DEPTH + 1)->ud.remote_qpn == 5);
	smr_destroy_qp(&qp->vqp.qp);
}

const struct tap_test wr_tests[] = {
	{ "ATOMIC_WRITE", atomic_write },
	{ "a libibverbs without one or both", older_libibverbs },
	{ "flags of a newer rdma-core", unknown_flag },
	{ "atomic write without room for inline data", no_inline_room },
	{ "inline data of operations without payload", inline_data },
	{ "datagrams without an address", no_address },
	{},
};
