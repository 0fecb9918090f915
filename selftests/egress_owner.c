// SPDX-License-Identifier: GPL-2.0
/*
 * The packets of a QP are those of the process that made it: BPF programs of its cgroup see them, and
 * decide about them, as about those of its sockets. Packets of other processes' QPs do not concern them.
 *
 * beds: qemu-newest qemu-stable qemu-oldest qemu-cloud qemu-rt
 * daily: qemu-newest
 * timeout: 60
 * paths: veth
 */
#include "harness.h"

#include <linux/bpf.h>
#include <stddef.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "system.h"
#include "why.h"

#define CGROUPS	"/sys/fs/cgroup/"
#define GROUP	CGROUPS "smrowner"

#define LEN	64u
#define MARK	7
/* The mark of the processes' other sockets, and of QPs without a program */
#define NO_MARK	0

/* 4.096 us * 2^12, three times */
#define TIMEOUT	12
#define RETRIES	2

#define LOAD(dst, src, field) ((struct bpf_insn){ \
	.code = BPF_LDX | BPF_MEM | BPF_W, .dst_reg = dst, .src_reg = src, .off = field })
#define STORE(dst, field, value) ((struct bpf_insn){ \
	.code = BPF_ST | BPF_MEM | BPF_W, .dst_reg = dst, .off = field, .imm = value })
#define SET(dst, value) ((struct bpf_insn){ \
	.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = dst, .imm = value })
/* Skip the next instruction unless the register is @value. */
#define UNLESS(reg, value) ((struct bpf_insn){ \
	.code = BPF_JMP | BPF_JNE | BPF_K, .dst_reg = reg, .off = 1, .imm = value })
#define RETURN ((struct bpf_insn){ .code = BPF_JMP | BPF_EXIT })

FIXTURE(owner)
{
	struct vt_conf conf;
	struct vt_pair pair;
	int group;
};

static int enter(const char *group)
{
	char path[128];

	snprintf(path, sizeof(path), "%s/cgroup.procs", group);
	return vt_write_file(path, "0");
}

FIXTURE_SETUP(owner)
{
	self->conf = vt_defaults;
	self->conf.timeout = TIMEOUT;
	self->conf.retry_cnt = RETRIES;
	ASSERT_TRUE(!mkdir(GROUP, 0755) || errno == EEXIST);
	self->group = open(GROUP, O_RDONLY | O_DIRECTORY);
	ASSERT_LE(0, self->group);
}

FIXTURE_TEARDOWN(owner)
{
	enter(CGROUPS);
	vt_pair_close(&self->pair);
	close(self->group);
	rmdir(GROUP);
}

static int bpf(int what, union bpf_attr *attr)
{
	int ret = syscall(SYS_bpf, what, attr, sizeof(*attr));

	return ret < 0 ? -errno : ret;
}

/* The cgroup has this program until it is removed. Return: 0 or -errno */
static int add_program(FIXTURE_DATA(owner) *self, enum bpf_prog_type type,
		       enum bpf_attach_type where, const struct bpf_insn *insns, unsigned int n)
{
	union bpf_attr load = {
		.prog_type = type, .insns = (uintptr_t)insns, .insn_cnt = n,
		.license = (uintptr_t)"GPL", .expected_attach_type = where,
	};
	union bpf_attr attach = { .target_fd = self->group, .attach_type = where };
	int prog = bpf(BPF_PROG_LOAD, &load), ret;

	if (prog < 0)
		return prog;
	attach.attach_bpf_fd = prog;
	ret = bpf(BPF_PROG_ATTACH, &attach);
	close(prog);
	return ret;
}

/* Packets with this mark do not leave. */
static int drop_marked(FIXTURE_DATA(owner) *self, uint32_t mark)
{
	struct bpf_insn insns[] = {
		LOAD(BPF_REG_1, BPF_REG_1, offsetof(struct __sk_buff, mark)),
		SET(BPF_REG_0, 1),
		UNLESS(BPF_REG_1, mark),
		SET(BPF_REG_0, 0),
		RETURN,
	};

	return add_program(self, BPF_PROG_TYPE_CGROUP_SKB, BPF_CGROUP_INET_EGRESS, insns,
			   sizeof(insns) / sizeof(insns[0]));
}

/* New sockets have this mark; or there are none. */
static int mark_sockets(FIXTURE_DATA(owner) *self, uint32_t mark, bool allowed)
{
	struct bpf_insn insns[] = {
		STORE(BPF_REG_1, offsetof(struct bpf_sock, mark), mark),
		SET(BPF_REG_0, allowed),
		RETURN,
	};

	return add_program(self, BPF_PROG_TYPE_CGROUP_SOCK, BPF_CGROUP_INET_SOCK_CREATE, insns,
			   sizeof(insns) / sizeof(insns[0]));
}

/* The status of a WRITE of a QP that was made in the cgroup, or outside of it */
static int write_by_qp(FIXTURE_DATA(owner) *self, bool inside)
{
	struct ibv_sge sge;
	struct ibv_send_wr wr = vt_wr(IBV_WR_RDMA_WRITE, 1, &sge);
	int ret = enter(inside ? GROUP : CGROUPS);

	ret = ret ? ret : vt_pair_open(&self->pair, &self->conf);
	/* The group of who posts does not matter. */
	ret = ret ? ret : enter(inside ? CGROUPS : GROUP);
	if (ret)
		return ret;
	sge = vt_sge(&self->pair.a.buf, 0, LEN);
	wr.wr.rdma.remote_addr = (uintptr_t)self->pair.b.buf.p;
	wr.wr.rdma.rkey = self->pair.b.buf.mr->rkey;
	ret = vt_post(&self->pair.a, &wr);
	ret = ret ? ret : vt_status(self->pair.a.scq, 1);
	vt_pair_close(&self->pair);
	return ret;
}

TEST_F(owner, cgroup)
{
	EXPECT_EQ(IBV_WC_SUCCESS, write_by_qp(self, true));
	ASSERT_EQ(0, drop_marked(self, NO_MARK));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, write_by_qp(self, true));
	EXPECT_EQ(IBV_WC_SUCCESS, write_by_qp(self, false));
}

TEST_F(owner, mark)
{
	ASSERT_EQ(0, drop_marked(self, MARK));
	EXPECT_EQ(IBV_WC_SUCCESS, write_by_qp(self, true));
	ASSERT_EQ(0, mark_sockets(self, MARK, true));
	EXPECT_EQ(IBV_WC_RETRY_EXC_ERR, write_by_qp(self, true));
	EXPECT_EQ(IBV_WC_SUCCESS, write_by_qp(self, false));
}

TEST_F(owner, refuses)
{
	struct ibv_qp *qp;

	VT_SETUP(vt_pair_open(&self->pair, &self->conf));
	ASSERT_EQ(0, mark_sockets(self, NO_MARK, false));
	ASSERT_EQ(0, enter(GROUP));
	qp = vt_qp_create(&self->pair.a);
	EXPECT_EQ(NULL, qp);
	EXPECT_EQ(EPERM, errno);
	EXPECT_TRUE(vt_why_is(self->pair.a.dev.ctx, QP_CGROUP));
	ASSERT_EQ(0, enter(CGROUPS));
	qp = vt_qp_create(&self->pair.a);
	ASSERT_NE(NULL, qp);
	ibv_destroy_qp(qp);
}

VT_HARNESS_MAIN
