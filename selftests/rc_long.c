// SPDX-License-Identifier: GPL-2.0
/*
 * RC: PSNs that wrap, and the longest message.
 *
 * timeout: 120
 * paths: host veth
 */
#include "harness.h"

#include <sys/sysinfo.h>

#define BUF_LEN		(8 * MIB + 4 * VT_GUARD)

/*
 * PSNs have 24 bits: begin just below the maximum, with each kind of request.
 */
static void wrap_from(struct __test_metadata *_metadata, struct vt_pair *pair,
		      uint32_t psn, enum ibv_wr_opcode op)
{
	struct vt_xfer x = { op, 5 * 256 + 1, 1, 1 };
	int i;

	pair->a.conf.sq_psn = psn;
	pair->b.conf.sq_psn = psn;
	ASSERT_EQ(0, vt_pair_reset(pair));
	for (i = 0; i < 10; i++)
		ASSERT_TRUE(vt_transfer(pair, &x))
			TH_LOG("from PSN %x", psn);
}

TEST(psn_wrap)
{
	static const uint32_t starts[] = { 0xfffff0, 0xffffff, 0 };
	struct vt_pair pair;
	int i;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.mtu = IBV_MTU_256)));
	for (i = 0; i < ARRAY_SIZE(starts); i++) {
		wrap_from(_metadata, &pair, starts[i], IBV_WR_SEND);
		wrap_from(_metadata, &pair, starts[i], IBV_WR_RDMA_WRITE);
		wrap_from(_metadata, &pair, starts[i], IBV_WR_RDMA_READ);
	}
	vt_pair_close(&pair);
}

/* PSNs wrap in the middle of a message that fills the window many times. */
TEST(psn_wrap_in_long_message)
{
	struct vt_xfer x = { IBV_WR_RDMA_WRITE, 2 * MIB, 1, 1 };
	struct vt_pair pair;

	VT_SETUP(vt_pair_open(&pair, &VT_CONF(.mtu = IBV_MTU_256, .sq_psn = 0xffffff - 3000,
			.buf_len = BUF_LEN)));
	EXPECT_TRUE(vt_transfer(&pair, &x));
	x.op = IBV_WR_RDMA_READ;
	EXPECT_TRUE(vt_pair_reset(&pair) == 0 && vt_transfer(&pair, &x));
	vt_pair_close(&pair);
}

/*
 * The longest message, 2 GiB, whose parts share 64 MiB at both ends. Skipped if
 * it would take long.
 */
#define HUGE_PART	(64u * MIB)
#define HUGE_PARTS	32

static void repeat_sge(struct ibv_sge *list, struct ibv_sge sge)
{
	int i;

	for (i = 0; i < HUGE_PARTS; i++)
		list[i] = sge;
}

/* How long one part takes: a 32nd of the whole message. */
static int huge_part_ms(struct vt_pair *pair)
{
	struct ibv_sge from = vt_sge(&pair->a.buf, 0, HUGE_PART);
	struct ibv_send_wr wr = vt_rdma_wr(IBV_WR_RDMA_WRITE, 0, &from,
					   (uintptr_t)pair->b.buf.p, pair->b.buf.mr->rkey);
	uint64_t start = vt_now_ms();

	return vt_outcome(&pair->a, &wr) ? -EIO : (int)(vt_now_ms() - start);
}

TEST(message_of_2_gib)
{
	struct ibv_sge from[HUGE_PARTS], to[HUGE_PARTS];
	struct ibv_send_wr wr = {
		.wr_id = 1, .opcode = IBV_WR_SEND, .sg_list = from,
		.num_sge = HUGE_PARTS, .send_flags = IBV_SEND_SIGNALED,
	};
	struct vt_conf conf = vt_defaults;
	struct sysinfo si;
	struct vt_pair pair;
	struct ibv_wc wc;
	int ms;

	ASSERT_EQ(0, sysinfo(&si));
	if (si.freeram < 8ull * HUGE_PART)
		SKIP(return, "takes more memory");
	conf.buf_len = HUGE_PART;
	conf.sges = HUGE_PARTS;
	VT_SETUP(vt_pair_open(&pair, &conf));
	if (pair.a.conf.sges < HUGE_PARTS ||
	    pair.a.dev.port.max_msg_sz < HUGE_PART * (uint64_t)HUGE_PARTS)
		SKIP(return, "the device has shorter messages");
	vt_fill(pair.a.buf.p, HUGE_PART, 42, 0);
	ms = huge_part_ms(&pair);
	ASSERT_LE(0, ms);
	if (ms > 250 && !getenv("SMR_HUGE"))
		SKIP(return, "would take %d s; SMR_HUGE=1 runs it", ms * 32 / 1000);
	vt_fill(pair.b.buf.p, HUGE_PART, 41, 0);
	repeat_sge(from, vt_sge(&pair.a.buf, 0, HUGE_PART));
	repeat_sge(to, vt_sge(&pair.b.buf, 0, HUGE_PART));
	ASSERT_EQ(0, vt_post_recv(&pair.b, 2, to, HUGE_PARTS));
	ASSERT_EQ(0, vt_post(&pair.a, &wr));
	ASSERT_EQ(0, vt_wait(pair.b.rcq, &wc));
	EXPECT_EQ(IBV_WC_SUCCESS, wc.status);
	EXPECT_EQ(0x80000000u, wc.byte_len);
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair.a.scq, 1));
	EXPECT_TRUE(vt_check("target", pair.b.buf.p, HUGE_PART, 42, 0));
	vt_pair_close(&pair);
}

VT_HARNESS_MAIN
