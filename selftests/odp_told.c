// SPDX-License-Identifier: GPL-2.0
/*
 * A fault has ended, and its worker is about to notify the QP. In that moment the QP finds the
 * pages by itself, completes, and is destroyed. kmod/slow_function.c makes the moment long: the QP
 * must still exist at its end.
 *
 * beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-rt
 * timeout: 60
 * paths: host wire
 */
#include "harness.h"
#include "region.h"
#include "system.h"

#define PARAM	"/sys/module/slow_function/parameters/"
#define LEN	1000

FIXTURE(told)
{
	struct vt_pair pair;
	struct vt_region r;
};

static bool has_kprobes(void)
{
	return !system("grep -qw register_kprobe /proc/kallsyms");
}

/* A page of a file is brought in by a worker, not by the thread that posts. */
FIXTURE_SETUP(told)
{
	int fd = memfd_create("told", MFD_CLOEXEC);
	uint8_t *p;

	if (sysconf(_SC_NPROCESSORS_ONLN) < 2)
		SKIP(return, "one CPU only");
	if (!has_kprobes())
		SKIP(return, "this kernel has no kprobes");
	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	VT_SETUP(vt_need_odp(&self->pair.a, IBV_ODP_SUPPORT));
	ASSERT_EQ(0, ftruncate(fd, PAGE));
	p = vt_map(PAGE, PAGE, MAP_SHARED, fd);
	close(fd);
	ASSERT_NE(NULL, p);
	ASSERT_EQ(0, vt_region_reg(&self->r, self->pair.a.pd, p, PAGE,
				   (uintptr_t)p, VT_ACCESS_ODP));
	ASSERT_EQ(0, system("modprobe slow_function function=paging_get after=smr_qp_fini ms=2000"));
}

FIXTURE_TEARDOWN(told)
{
	system("modprobe -qr slow_function");
	vt_region_close(&self->r);
	vt_pair_close(&self->pair);
}

/* A WRITE from the poster's own memory, which is present only for the second one */
static int post(struct vt_pair *pair, uint64_t wr_id, struct ibv_sge sge)
{
	struct ibv_send_wr wr = {
		.wr_id = wr_id, .sg_list = &sge, .num_sge = 1,
		.opcode = IBV_WR_RDMA_WRITE, .send_flags = IBV_SEND_SIGNALED,
		.wr.rdma = { (uintptr_t)pair->b.buf.p, pair->b.buf.mr->rkey },
	};

	return vt_post(&pair->a, &wr);
}

TEST_F(told, who_is_told_is_there)
{
	struct ibv_sge missing = { self->r.iova, LEN, self->r.mr->lkey };
	struct vt_pair *pair = &self->pair;

	ASSERT_EQ(0, vt_write_file(PARAM "left", "1"));
	ASSERT_EQ(0, post(pair, 1, missing));
	ASSERT_TRUE(vt_number_wait(PARAM "begun", 1));
	/* The doorbell runs the task once more, and now the page is there. */
	ASSERT_EQ(0, post(pair, 2, vt_sge(&pair->a.buf, 0, LEN)));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, 1));
	EXPECT_EQ(IBV_WC_SUCCESS, vt_status(pair->a.scq, 2));
	ASSERT_EQ(0, ibv_destroy_qp(pair->a.qp));
	pair->a.qp = NULL;
	EXPECT_TRUE(vt_number_wait(PARAM "ended", 1));
	EXPECT_EQ(1, vt_number(PARAM "begun", ""));
	EXPECT_EQ(0, vt_number(PARAM "overtaken", ""));
}

VT_HARNESS_MAIN
