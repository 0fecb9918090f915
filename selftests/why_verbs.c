// SPDX-License-Identifier: GPL-2.0
/*
 * Each reason for which a verb is refused (kernel/uapi/softmr-why.h): a call that is refused for
 * it, and the numbers that the device then reports. If a reason has no function here, this file
 * does not compile.
 *
 * timeout: 120
 * paths: veth
 */
#include "harness.h"

#include <fcntl.h>
#include <linux/capability.h>
#include <netinet/in.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <rdma/ib_user_verbs.h>
#include <softmr-abi.h>

#include "netdev.h"
#include "raw.h"
#include "region.h"
#include "system.h"
#include "uverbs.h"
#include "why.h"
#include "window.h"

#define LEN	(4 * PAGE)
#define LW	IBV_ACCESS_LOCAL_WRITE
#define RW	IBV_ACCESS_REMOTE_WRITE
#define RR	IBV_ACCESS_REMOTE_READ
#define MW	IBV_ACCESS_MW_BIND
#define ODP	IBV_ACCESS_ON_DEMAND
#define PERSIST	(1 << 9) /* IBV_ACCESS_FLUSH_PERSISTENT of newer headers */
#define NOBODY	65534
#define MAX_OBJECTS	"/sys/module/softmr/parameters/max_objects"
#define MOST	30

FIXTURE(why)
{
	struct vt_pair pair;
	struct vt_ep *ep;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	void *p;
};

FIXTURE_SETUP(why)
{
	struct smr_abi_why rec;

	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	self->ep = &self->pair.a;
	self->ctx = self->ep->dev.ctx;
	self->pd = self->ep->pd;
	self->p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, self->p);
	ASSERT_EQ(-ENOENT, vt_why_last(self->ctx, &rec));
}

FIXTURE_TEARDOWN(why)
{
	munmap(self->p, LEN);
	vt_pair_close(&self->pair);
}

/* Each reason must use one of these two macros, or this file does not compile. */
#define WHY(name)	enum { tested_##name }; TEST_F(why, name)

/* A reason that no process can cause, and why */
#define ELSEWHERE(name, text)	enum { tested_##name };

static const struct { uint32_t id, error; } errors[] = {
#define ERROR(_name, _id, _error, ...) { _id, _error },
	SMR_WHYS_VERBS(ERROR)
};

static uint32_t error_of(uint32_t id)
{
	size_t i;

	for (i = 0; errors[i].id != id; i++)
		;
	return errors[i].error;
}

/* The last refusal was for this reason, with this errno and these numbers. */
#define EXPECT_WHY_ERR(ctx, name, err, qp, ...) do {			\
	const uint64_t _num[SMR_WHY_NUMBERS] = { __VA_ARGS__ };		\
	struct smr_abi_why _rec = {};					\
	int _i;								\
									\
	ASSERT_EQ(0, vt_why_last(ctx, &_rec));				\
	EXPECT_EQ((uint32_t)SMR_WHY_##name, _rec.id);			\
	EXPECT_EQ((uint32_t)(err), _rec.error);				\
	EXPECT_EQ((uint32_t)(qp), _rec.qpn);				\
	EXPECT_EQ((uint32_t)syscall(SYS_gettid), _rec.tid);		\
	for (_i = 0; _i < SMR_WHY_NUMBERS; _i++)			\
		EXPECT_EQ(_num[_i], _rec.num[_i])			\
			TH_LOG("number %d", _i);			\
	EXPECT_TRUE(vt_why_reads(&_rec));				\
} while (0)

/* The same with the errno of the table */
#define EXPECT_WHY(ctx, name, qp, ...) \
	EXPECT_WHY_ERR(ctx, name, error_of(SMR_WHY_##name), qp, __VA_ARGS__)

/* -- memory regions */

#define EXPECT_NONE(err, call) do {					\
	errno = 0;							\
	EXPECT_EQ(NULL, call);						\
	EXPECT_EQ(err, errno);						\
} while (0)

/*
 * Older kernels do not know the flag, and the core refuses it where the device has no
 * persistent memory.
 */
static bool knows_persist(FIXTURE_DATA(why) *self)
{
	struct ibv_device_attr_ex attr = {};

	return !ibv_query_device_ex(self->ctx, NULL, &attr) &&
	       attr.device_cap_flags_ex & 1ULL << 39;
}

ELSEWHERE(MR_IO_MEMORY, "see mr_exporter.c, memory_of_the_device")
ELSEWHERE(MR_TYPE, "kernel consumers only")
ELSEWHERE(MR_BLOCKS, "kernel consumers only")
ELSEWHERE(MR_ACCESS, "the core knows no flag that softmr does not know")
ELSEWHERE(MR_NO_ATOMICS, "there is memory without atomics on arm64 only")
ELSEWHERE(MR_DMABUF_ON_DEMAND, "the core refuses the flag for dma-bufs")

WHY(MR_PERSISTENT)
{
	if (!knows_persist(self))
		SKIP(return, "the kernel does not know the flag");
	if (vt_need_odp(self->ep, 0))
		SKIP(return, "the kernel has no on-demand paging");
	EXPECT_NONE(EOPNOTSUPP, ibv_reg_mr(self->pd, self->p, LEN, ODP | PERSIST));
	EXPECT_WHY(self->ctx, MR_PERSISTENT, 0, ODP | PERSIST);
}

WHY(MR_DM_ON_DEMAND)
{
	struct ibv_alloc_dm_attr attr = { .length = PAGE };
	struct ibv_dm *dm = ibv_alloc_dm(self->ctx, &attr);
	int access = IBV_ACCESS_ZERO_BASED | ODP;

	ASSERT_NE(NULL, dm);
	EXPECT_NONE(EINVAL, ibv_reg_dm_mr(self->pd, dm, 0, PAGE, access));
	EXPECT_WHY(self->ctx, MR_DM_ON_DEMAND, 0, access);
	EXPECT_EQ(0, ibv_free_dm(dm));
}

WHY(MR_IMPLICIT)
{
	EXPECT_NONE(EINVAL, ibv_reg_mr(self->pd, NULL, SIZE_MAX, LW));
	EXPECT_WHY(self->ctx, MR_IMPLICIT, 0, LW, 0);
}

WHY(MR_WRAPS)
{
	uint64_t iova = -(uint64_t)PAGE;

	EXPECT_NONE(EINVAL, ibv_reg_mr_iova(self->pd, self->p, LEN, iova, LW));
	EXPECT_WHY(self->ctx, MR_WRAPS, 0, iova, LEN);
}

WHY(MR_START_WRAPS)
{
	void *last = (void *)-(uintptr_t)PAGE;

	EXPECT_NONE(EINVAL, ibv_reg_mr_iova(self->pd, last, LEN, 0, LW));
	EXPECT_WHY(self->ctx, MR_START_WRAPS, 0, (uintptr_t)last, LEN);
}

WHY(MR_NOT_PERSISTENT)
{
	if (!knows_persist(self))
		SKIP(return, "the kernel does not know the flag");
	EXPECT_NONE(EINVAL, ibv_reg_mr(self->pd, self->p, LEN, PERSIST));
	EXPECT_WHY(self->ctx, MR_NOT_PERSISTENT, 0, (uintptr_t)self->p, LEN);
}

WHY(MR_BUSY)
{
	struct vt_window w;

	ASSERT_EQ(0, vt_window_open(&w, self->ep, IBV_MW_TYPE_1));
	ASSERT_EQ(0, vt_bind_page(self->ep, w.mw, w.mr));
	EXPECT_EQ(EBUSY, ibv_dereg_mr(w.mr));
	EXPECT_WHY(self->ctx, MR_BUSY, 0, w.mr->lkey, 1, w.mw->rkey);
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0,
			       LW | MW | RW));
	EXPECT_EQ(EBUSY, errno);
	EXPECT_WHY(self->ctx, MR_BUSY, 0, w.mr->lkey, 1, w.mw->rkey);
	EXPECT_EQ(0, ibv_dealloc_mw(w.mw));
	EXPECT_EQ(0, ibv_dereg_mr(w.mr));
}

WHY(MR_OTHER_PROCESS)
{
	struct ibv_mr *mr = ibv_reg_mr(self->pd, self->p, LEN, RR);
	struct smr_abi_why rec;
	int status;
	pid_t pid;

	ASSERT_NE(NULL, mr);
	pid = fork();
	if (!pid)
		_exit(ibv_rereg_mr(mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL,
				   0, LW | RR));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_NE(0, status);
	ASSERT_EQ(0, vt_why_last(self->ctx, &rec));
	EXPECT_EQ((uint32_t)SMR_WHY_MR_OTHER_PROCESS, rec.id);
	EXPECT_EQ((uint32_t)pid, rec.tid);
	EXPECT_EQ(mr->lkey, rec.num[0]);
	EXPECT_EQ((uint64_t)RR, rec.num[1]);
	EXPECT_EQ((uint64_t)(LW | RR), rec.num[2]);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

ELSEWHERE(MR_FIXED, "libibverbs refuses it first")
ELSEWHERE(MR_ATTRS, "see userspace/tests/memory_test.c: libibverbs has the call from 59 on")

WHY(MR_DMABUF_FD)
{
	EXPECT_NONE(EBADF, ibv_reg_dmabuf_mr(self->pd, 0, LEN, 0, 1000, LW));
	EXPECT_WHY(self->ctx, MR_DMABUF_FD, 0, 1000);
}

WHY(MR_DMABUF)
{
	int fd = open("/dev/null", O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_NONE(EINVAL, ibv_reg_dmabuf_mr(self->pd, PAGE, LEN, PAGE, fd, LW));
	EXPECT_WHY(self->ctx, MR_DMABUF, 0, fd, PAGE, LEN);
	close(fd);
}

WHY(MR_UNMAPPED)
{
	ASSERT_EQ(0, mprotect(self->p, PAGE, PROT_READ));
	EXPECT_NONE(EFAULT, ibv_reg_mr(self->pd, self->p, LEN, LW));
	EXPECT_WHY(self->ctx, MR_UNMAPPED, 0, (uintptr_t)self->p, LEN, 1);
	ASSERT_EQ(0, munmap(self->p, PAGE));
	EXPECT_NONE(EFAULT, ibv_reg_mr(self->pd, self->p, LEN, 0));
	EXPECT_WHY(self->ctx, MR_UNMAPPED, 0, (uintptr_t)self->p, LEN, 0);
}

WHY(MR_MEMLOCK)
{
	struct rlimit lim = { 2 * LEN, 2 * LEN };
	struct ibv_mr *mr;

	ibv_dereg_mr(self->ep->buf.mr);
	self->ep->buf.mr = NULL;
	ibv_dereg_mr(self->pair.b.buf.mr);
	self->pair.b.buf.mr = NULL;
	ASSERT_EQ(0, setrlimit(RLIMIT_MEMLOCK, &lim));
	ASSERT_EQ(0, vt_capability(CAP_IPC_LOCK, false));
	mr = ibv_reg_mr(self->pd, self->p, LEN, LW);
	ASSERT_NE(NULL, mr);
	EXPECT_EQ(NULL, ibv_reg_mr(self->pd, vt_map(2 * LEN, PAGE, MAP_PRIVATE, -1),
				   2 * LEN, LW));
	EXPECT_WHY(self->ctx, MR_MEMLOCK, 0, 2 * LEN, LEN, 2 * LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* -- advice */

static int advise(FIXTURE_DATA(why) *self, struct ibv_pd *pd, int advice,
		  uint32_t lkey, size_t len)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)self->p, .length = len, .lkey = lkey,
	};

	return ibv_advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

#define READ	IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITE	IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE

WHY(ADVICE)
{
	EXPECT_EQ(EOPNOTSUPP, advise(self, self->pd, 99, 0, 1));
	EXPECT_WHY(self->ctx, ADVICE, 0, 99);
}

WHY(ADVISE_NO_KEY)
{
	EXPECT_EQ(ENOENT, advise(self, self->pd, READ, 0x100, 1));
	EXPECT_WHY(self->ctx, ADVISE_NO_KEY, 0, 0, 0x100);
}

WHY(ADVISE_PD)
{
	struct ibv_pd *other = ibv_alloc_pd(self->ctx);
	uint32_t lkey = self->ep->buf.mr->lkey;

	ASSERT_NE(NULL, other);
	EXPECT_EQ(EPERM, advise(self, other, READ, lkey, 1));
	EXPECT_WHY(self->ctx, ADVISE_PD, 0, 0, lkey);
	EXPECT_EQ(0, ibv_dealloc_pd(other));
}

WHY(ADVISE_RIGHT)
{
	struct ibv_mr *mr = ibv_reg_mr(self->pd, self->p, LEN, ODP | RR);

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	EXPECT_EQ(EPERM, advise(self, self->pd, WRITE, mr->lkey, 1));
	EXPECT_WHY(self->ctx, ADVISE_RIGHT, 0, 0, mr->lkey);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

WHY(ADVISE_WINDOW)
{
	struct ibv_mw *mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_1);

	ASSERT_NE(NULL, mw);
	EXPECT_EQ(EINVAL, advise(self, self->pd, READ, mw->rkey, 1));
	EXPECT_WHY(self->ctx, ADVISE_WINDOW, 0, 0, mw->rkey);
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

WHY(ADVISE_PINNED)
{
	uint32_t lkey = self->ep->buf.mr->lkey;

	EXPECT_EQ(ENOENT, advise(self, self->pd, READ, lkey, 1));
	EXPECT_WHY(self->ctx, ADVISE_PINNED, 0, 0, lkey);
}

WHY(ADVISE_RANGE)
{
	struct ibv_mr *mr = ibv_reg_mr(self->pd, self->p, LEN, ODP | LW);
	uint64_t p = (uintptr_t)self->p;

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	EXPECT_EQ(EFAULT, advise(self, self->pd, READ, mr->lkey, LEN + 1));
	EXPECT_WHY(self->ctx, ADVISE_RANGE, 0, 0, mr->lkey, p, LEN + 1, p, LEN);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

WHY(ADVISE_UNMAPPED)
{
	struct ibv_mr *mr = ibv_reg_mr(self->pd, self->p, LEN, ODP | LW);

	if (!mr)
		SKIP(return, "the kernel has no on-demand paging");
	ASSERT_EQ(0, munmap(self->p, PAGE));
	EXPECT_EQ(EFAULT, advise(self, self->pd, READ, mr->lkey, LEN));
	EXPECT_WHY(self->ctx, ADVISE_UNMAPPED, 0, 1);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/* -- memory windows */

ELSEWHERE(MW_TYPE, "the core refuses it first")

/* -- queue pairs */

static struct ibv_qp *create_qp(FIXTURE_DATA(why) *self, enum ibv_qp_type type,
				struct ibv_qp_cap cap)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = type, .cap = cap,
		.send_cq = self->ep->scq, .recv_cq = self->ep->rcq,
	};

	return ibv_create_qp(self->pd, &attr);
}

#define SMALL	.max_send_wr = 1, .max_recv_wr = 1, .max_send_sge = 1, .max_recv_sge = 1

#define EXPECT_NO_QP(name, field, value, most) do {			\
	struct ibv_qp_cap _cap = { SMALL };				\
									\
	_cap.field = value;						\
	EXPECT_EQ(NULL, create_qp(self, IBV_QPT_RC, _cap));		\
	EXPECT_EQ(EINVAL, errno);					\
	EXPECT_WHY(self->ctx, name, 0, value, most);			\
} while (0)

#define END_PADDING	(1 << 11) /* IBV_QP_CREATE_PCI_WRITE_END_PADDING */

ELSEWHERE(QP_NO_XRCD, "the core refuses it first")
ELSEWHERE(QP_NO_CQ, "the core refuses it first")

WHY(QP_TYPE)
{
	EXPECT_EQ(NULL, create_qp(self, IBV_QPT_DRIVER,
				  (struct ibv_qp_cap){ SMALL }));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_WHY(self->ctx, QP_TYPE, 0, 0xff);
}

WHY(QP_FLAGS)
{
	struct ibv_qp_init_attr_ex attr = {
		.qp_type = IBV_QPT_UD, .cap = { SMALL }, .pd = self->pd,
		.send_cq = self->ep->scq, .recv_cq = self->ep->rcq,
		.comp_mask = IBV_QP_INIT_ATTR_PD | IBV_QP_INIT_ATTR_CREATE_FLAGS,
		.create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB |
				END_PADDING,
	};

	EXPECT_EQ(NULL, ibv_create_qp_ex(self->ctx, &attr));
	EXPECT_EQ(EOPNOTSUPP, errno);
	EXPECT_WHY(self->ctx, QP_FLAGS, 0, attr.create_flags,
		   END_PADDING);
}

WHY(QP_SEND_WR)
{
	uint32_t most = self->ep->dev.attr.max_qp_wr;

	EXPECT_NO_QP(QP_SEND_WR, max_send_wr, most + 1, most);
}

WHY(QP_SEND_SGE)
{
	uint32_t most = self->ep->dev.attr.max_sge;

	EXPECT_NO_QP(QP_SEND_SGE, max_send_sge, most + 1, most);
}

WHY(QP_INLINE)
{
	EXPECT_NO_QP(QP_INLINE, max_inline_data, 513, 512);
}

WHY(QP_RECV_WR)
{
	uint32_t most = self->ep->dev.attr.max_qp_wr;

	EXPECT_NO_QP(QP_RECV_WR, max_recv_wr, most + 1, most);
}

WHY(QP_RECV_SGE)
{
	uint32_t most = self->ep->dev.attr.max_sge;

	EXPECT_NO_QP(QP_RECV_SGE, max_recv_sge, most + 1, most);
}

static struct ibv_qp *create_qp_ex(FIXTURE_DATA(why) *self,
				   struct ibv_qp_init_attr_ex attr)
{
	attr.qp_type = IBV_QPT_UD;
	attr.cap = (struct ibv_qp_cap){ SMALL };
	attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
	attr.pd = self->pd;
	attr.send_cq = self->ep->scq;
	attr.recv_cq = self->ep->rcq;
	return ibv_create_qp_ex(self->ctx, &attr);
}

WHY(QP_SEND_OPS)
{
	struct ibv_qp_init_attr_ex attr = {
		.comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
		.send_ops_flags = IBV_QP_EX_WITH_RDMA_READ,
	};

	EXPECT_NONE(EOPNOTSUPP, create_qp_ex(self, attr));
	EXPECT_WHY(self->ctx, QP_SEND_OPS, 0, IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ);
}

ELSEWHERE(QP_CGROUP, "see egress_owner.c: refuses()")

static struct ibv_ah_attr good_ah(FIXTURE_DATA(why) *self)
{
	return vt_ah_attr(self->ep->dev.gid_index, &self->pair.b.dev.gid);
}

/* The QP in RESET; modified by @attr. */
static int modify(FIXTURE_DATA(why) *self, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(self->ep->qp, &attr, mask);
}

#define QPN	(self->ep->qp->qp_num)
#define INIT	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define TO(state) .qp_state = IBV_QPS_##state, .port_num = 1

WHY(QP_ATTR)
{
	EXPECT_EQ(EOPNOTSUPP, modify(self, (struct ibv_qp_attr){ TO(RTS) },
				     IBV_QP_CAP));
	EXPECT_WHY(self->ctx, QP_ATTR, QPN, IBV_QP_CAP, IBV_QP_CAP);
}

WHY(QP_ACCESS)
{
	struct ibv_qp_attr attr = { .qp_access_flags = RR | 1 << 15 };

	EXPECT_EQ(EOPNOTSUPP, modify(self, attr, IBV_QP_ACCESS_FLAGS));
	EXPECT_WHY(self->ctx, QP_ACCESS, QPN, RR | 1 << 15, 1 << 15);
}

WHY(QP_VALUE)
{
	struct ibv_qp_attr attr = { TO(RTS), .timeout = 40 };

	EXPECT_EQ(EINVAL, modify(self, attr, IBV_QP_TIMEOUT));
	EXPECT_WHY(self->ctx, QP_VALUE, QPN, IBV_QP_TIMEOUT, 40, 0, 31);
	/* the core refuses these */
	ASSERT_EQ(0, vt_qp_reset(self->ep->qp));
	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ .qp_state = IBV_QPS_INIT }, INIT));
	EXPECT_WHY(self->ctx, QP_VALUE, QPN, IBV_QP_PORT, 0, 1, 1);
	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ .qp_state = 9 }, IBV_QP_STATE));
	EXPECT_WHY(self->ctx, QP_VALUE, QPN, IBV_QP_STATE, 9, IBV_QPS_RESET, IBV_QPS_ERR);
}

WHY(QP_CUR_STATE)
{
	struct ibv_qp_attr attr = { TO(RTS), .cur_qp_state = IBV_QPS_RTR };

	EXPECT_EQ(EINVAL, modify(self, attr, IBV_QP_STATE | IBV_QP_CUR_STATE));
	EXPECT_WHY(self->ctx, QP_CUR_STATE, QPN, IBV_QPS_RTR, IBV_QPS_RTS);
}

WHY(QP_TRANSITION)
{
	struct ibv_qp_attr attr = { TO(RTR), .ah_attr = good_ah(self) };
	struct ibv_qp *qp = create_qp(self, IBV_QPT_RC, (struct ibv_qp_cap){ SMALL });

	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ TO(INIT) }, INIT));
	EXPECT_WHY(self->ctx, QP_TRANSITION, QPN, IBV_QPS_RTS, IBV_QPS_INIT);
	/* the core refuses an address before the QP has a port */
	ASSERT_NE(NULL, qp);
	EXPECT_EQ(EINVAL, ibv_modify_qp(qp, &attr, IBV_QP_STATE | IBV_QP_AV));
	EXPECT_WHY(self->ctx, QP_TRANSITION, qp->qp_num, IBV_QPS_RESET, IBV_QPS_RTR);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

WHY(QP_ATTR_MISSING)
{
	ASSERT_EQ(0, vt_qp_reset(self->ep->qp));
	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ TO(INIT) },
				 IBV_QP_STATE | IBV_QP_PORT));
	EXPECT_WHY(self->ctx, QP_ATTR_MISSING, QPN, IBV_QPS_RESET, IBV_QPS_INIT,
		   IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS);
}

WHY(QP_ATTR_EXCESS)
{
	ASSERT_EQ(0, vt_qp_reset(self->ep->qp));
	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ TO(INIT) },
				 INIT | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN));
	EXPECT_WHY(self->ctx, QP_ATTR_EXCESS, QPN, IBV_QPS_RESET, IBV_QPS_INIT,
		   IBV_QP_TIMEOUT | IBV_QP_SQ_PSN);
}

/* No receive is posted, so the SEND waits, and the queue never finishes draining. */
WHY(QP_DRAINING)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	ASSERT_EQ(0, ibv_post_send(self->ep->qp, &wr, &bad));
	ASSERT_EQ(0, modify(self, (struct ibv_qp_attr){ TO(SQD) }, IBV_QP_STATE));
	EXPECT_EQ(EINVAL, modify(self, (struct ibv_qp_attr){ TO(RTS) },
				 IBV_QP_STATE));
	EXPECT_WHY(self->ctx, QP_DRAINING, QPN, IBV_QPS_RTS);
}

/* A QP in INIT is asked to go to RTR with this address. */
static int to_rtr(FIXTURE_DATA(why) *self, enum ibv_mtu mtu,
		  struct ibv_ah_attr ah)
{
	struct ibv_qp_attr attr = {
		TO(RTR), .path_mtu = mtu, .dest_qp_num = self->pair.b.qp->qp_num,
		.min_rnr_timer = 12, .max_dest_rd_atomic = 1, .ah_attr = ah,
	};
	int ret;

	ret = vt_qp_reset(self->ep->qp);
	if (!ret)
		ret = -vt_qp_init(self->ep->qp, &self->ep->conf);
	return ret ? ret : modify(self, attr, IBV_QP_STATE | IBV_QP_AV |
				  IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
				  IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
				  IBV_QP_MIN_RNR_TIMER);
}

WHY(QP_PATH_MTU)
{
	enum ibv_mtu most = self->ep->dev.port.active_mtu;
	struct smr_abi_why rec;

	if (most == IBV_MTU_4096)
		SKIP(return, "the netdev's MTU carries every path MTU");
	EXPECT_EQ(EINVAL, to_rtr(self, most + 1, good_ah(self)));
	ASSERT_EQ(0, vt_why_last(self->ctx, &rec));
	EXPECT_WHY(self->ctx, QP_PATH_MTU, QPN, most + 1, most, rec.num[2]);
	EXPECT_LE(vt_mtu_bytes(most), rec.num[2]);
	EXPECT_GT(vt_mtu_bytes(most + 1) + 96, rec.num[2]);
}

WHY(QP_RATE_TYPE)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };

	EXPECT_EQ(EOPNOTSUPP, ibv_modify_qp_rate_limit(self->ep->qp, &limit));
	EXPECT_WHY(self->ctx, QP_RATE_TYPE, QPN, 1000);
}

WHY(QP_RATE_STATE)
{
	struct ibv_qp_rate_limit_attr limit = { .rate_limit = 1000 };
	struct vt_raw raw;

	VT_SETUP(vt_raw_open(&raw, 0, 0));
	ASSERT_EQ(0, vt_raw_state(&raw, IBV_QPS_ERR));
	EXPECT_EQ(EINVAL, ibv_modify_qp_rate_limit(raw.ep.qp, &limit));
	EXPECT_WHY(raw.ep.dev.ctx, QP_RATE_STATE, raw.ep.qp->qp_num, IBV_QPS_ERR,
		   IBV_QPS_ERR);
	vt_raw_close(&raw);
}

WHY(QP_RATE_BURST)
{
	struct ibv_qp_rate_limit_attr limit = { .max_burst_sz = 10 };
	struct vt_raw raw;

	VT_SETUP(vt_raw_open(&raw, 0, 0));
	EXPECT_EQ(EINVAL, ibv_modify_qp_rate_limit(raw.ep.qp, &limit));
	EXPECT_WHY(raw.ep.dev.ctx, QP_RATE_BURST, raw.ep.qp->qp_num, 10, 0);
	vt_raw_close(&raw);
}

/* Another user connects to the QP that this one is connected to. */
static int take_peer(FIXTURE_DATA(why) *self)
{
	struct smr_abi_why rec;
	struct vt_addr to = vt_ep_addr(&self->pair.b);
	struct vt_ep ep;
	int ret;

	if (setgid(NOBODY) || setuid(NOBODY))
		return 1;
	ret = vt_ep_open(&ep, &self->ep->conf, 0);
	if (ret)
		return 2;
	if (vt_ep_connect(&ep, &to) != -EPERM)
		return 3;
	if (vt_why_last(ep.dev.ctx, &rec) || rec.error != EPERM ||
	    rec.id != SMR_WHY_QP_PEER_TAKEN || rec.num[0] != to.qpn ||
	    rec.qpn != ep.qp->qp_num)
		return 4;
	/* the other user's refusal must not be visible */
	return vt_why_last(self->ctx, &rec) == -ENOENT ? 0 : 5;
}

WHY(QP_PEER_TAKEN)
{
	int status;
	pid_t pid;

	pid = fork();
	if (!pid)
		_exit(take_peer(self));
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	EXPECT_EQ(0, status);
}

WHY(QP_ECE)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	self->ep->qp->state = IBV_QPS_RTS;
	EXPECT_EQ(EINVAL, ibv_set_ece(self->ep->qp, &ece));
	EXPECT_WHY(self->ctx, QP_ECE, QPN, 0, IBV_QPS_RTS);
}

ELSEWHERE(QP_ERROR_MEANWHILE, "a race that nobody can win on purpose")

/* -- completion queues */

WHY(CQ_FLAGS)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1 << 7,
	};

	EXPECT_NONE(EOPNOTSUPP, ibv_create_cq_ex(self->ctx, &attr));
	EXPECT_WHY(self->ctx, CQ_FLAGS, 0, 1 << 7);
}

WHY(CQ_WC_FLAGS)
{
	uint64_t tm = IBV_WC_EX_WITH_TM_INFO;
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1, .wc_flags = IBV_WC_EX_WITH_BYTE_LEN | tm,
	};

	EXPECT_NONE(EOPNOTSUPP, ibv_create_cq_ex(self->ctx, &attr));
	EXPECT_WHY(self->ctx, CQ_WC_FLAGS, 0, attr.wc_flags, tm);
}

WHY(CQ_PARENT)
{
	struct ibv_cq_init_attr_ex attr = {
		.cqe = 1, .comp_mask = IBV_CQ_INIT_ATTR_MASK_PD,
		.parent_domain = self->pd,
	};

	EXPECT_NONE(EINVAL, ibv_create_cq_ex(self->ctx, &attr));
	EXPECT_WHY(self->ctx, CQ_PARENT, 0, 0);
}

ELSEWHERE(CQ_RESPONSE, "an older provider")
ELSEWHERE(CQ_VECTOR, "the core refuses it first")

WHY(CQ_CQE)
{
	uint32_t most = self->ep->dev.attr.max_cqe;

	EXPECT_EQ(NULL, ibv_create_cq(self->ctx, most + 1, NULL, NULL, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_WHY(self->ctx, CQ_CQE, 0, most + 1, most);
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->ep->scq, most + 1));
	EXPECT_WHY(self->ctx, CQ_CQE, 0, most + 1, most);
}

WHY(CQ_FULL)
{
	struct ibv_send_wr send = {
		.opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED,
	};
	int i;

	/* When the sender's request has completed, so has the receive. */
	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, vt_post_recv(self->ep, 0, NULL, 0));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(&self->pair.b, &send));
	}
	EXPECT_EQ(EINVAL, ibv_resize_cq(self->ep->rcq, 2));
	EXPECT_WHY(self->ctx, CQ_FULL, 0, 2, 3);
}

/* -- shared receive queues */

static struct ibv_srq *create_srq(FIXTURE_DATA(why) *self, uint32_t wr,
				  uint32_t sge)
{
	struct ibv_srq_init_attr attr = {
		.attr = { .max_wr = wr, .max_sge = sge },
	};

	return ibv_create_srq(self->pd, &attr);
}

static struct ibv_srq *create_srq_ex(FIXTURE_DATA(why) *self,
				     struct ibv_srq_init_attr_ex attr)
{
	attr.attr.max_wr = 1;
	attr.attr.max_sge = 1;
	attr.pd = self->pd;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	return ibv_create_srq_ex(self->ctx, &attr);
}

WHY(SRQ_TYPE)
{
	struct ibv_srq_init_attr_ex attr = {
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_TM,
	};

	EXPECT_NONE(EOPNOTSUPP, create_srq_ex(self, attr));
	EXPECT_WHY(self->ctx, SRQ_TYPE, 0, IBV_SRQT_TM);
}

WHY(SRQ_NO_NUMBER)
{
	struct ibv_srq *srq = create_srq_ex(self, (struct ibv_srq_init_attr_ex){});
	uint32_t number;

	ASSERT_NE(NULL, srq);
	EXPECT_EQ(EOPNOTSUPP, ibv_get_srq_num(srq, &number));
	EXPECT_WHY(self->ctx, SRQ_NO_NUMBER, 0, IBV_SRQT_BASIC);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

ELSEWHERE(SRQ_SIZE, "only providers older than the driver's method ask for it")

WHY(SRQ_WR)
{
	uint32_t most = self->ep->dev.attr.max_srq_wr;

	EXPECT_EQ(NULL, create_srq(self, most + 1, 1));
	EXPECT_WHY(self->ctx, SRQ_WR, 0, most + 1, most);
	EXPECT_EQ(NULL, create_srq(self, 0, 1));
	EXPECT_WHY(self->ctx, SRQ_WR, 0, 0, most);
}

WHY(SRQ_SGE)
{
	uint32_t most = self->ep->dev.attr.max_srq_sge;

	EXPECT_EQ(NULL, create_srq(self, 1, most + 1));
	EXPECT_WHY(self->ctx, SRQ_SGE, 0, most + 1, most);
}

WHY(SRQ_LIMIT)
{
	struct ibv_srq_attr attr = { .srq_limit = 5 };
	struct ibv_srq *srq = create_srq(self, 4, 1);

	ASSERT_NE(NULL, srq);
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_LIMIT));
	EXPECT_WHY(self->ctx, SRQ_LIMIT, 0, 5, 4);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

WHY(SRQ_FULL)
{
	struct ibv_srq_attr attr = { .max_wr = 2 };
	struct ibv_srq *srq = create_srq(self, 4, 1);
	struct ibv_recv_wr wr = {}, *bad;
	int i;

	ASSERT_NE(NULL, srq);
	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, ibv_post_srq_recv(srq, &wr, &bad));
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, IBV_SRQ_MAX_WR));
	EXPECT_WHY(self->ctx, SRQ_FULL, 0, 2, 3);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

WHY(SRQ_ATTR)
{
	struct ibv_srq_attr attr = {};
	struct ibv_srq *srq = create_srq(self, 4, 1);

	ASSERT_NE(NULL, srq);
	EXPECT_EQ(EINVAL, ibv_modify_srq(srq, &attr, 1 << 5));
	EXPECT_WHY(self->ctx, SRQ_ATTR, 0, 1 << 5);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* -- addresses */

ELSEWHERE(AH_GID_TYPE, "all GIDs of the device are of RoCEv2")
ELSEWHERE(AH_NETDEV, "the core drops a GID before its netdev has left")

/*
 * The core refuses the address of an address handle, and of a QP. Its errno is another one in some
 * kernels.
 */
#define EXPECT_NO_ADDRESS(name, ah, ...) do {				\
	struct ibv_ah_attr _ah = ah;					\
	int _err;							\
									\
	errno = 0;							\
	EXPECT_EQ(NULL, ibv_create_ah(self->pd, &_ah));			\
	EXPECT_NE(0, errno);						\
	EXPECT_WHY_ERR(self->ctx, name, errno, 0, __VA_ARGS__);		\
	_err = to_rtr(self, IBV_MTU_1024, _ah);				\
	EXPECT_LT(0, _err);						\
	EXPECT_WHY_ERR(self->ctx, name, _err, QPN, __VA_ARGS__);	\
} while (0)

WHY(AH_NO_GRH)
{
	struct ibv_ah_attr ah = good_ah(self);

	ah.is_global = 0;
	EXPECT_NO_ADDRESS(AH_NO_GRH, ah, 0);
}

WHY(AH_PORT)
{
	struct ibv_ah_attr ah = good_ah(self);

	ah.port_num = 2;
	EXPECT_NO_ADDRESS(AH_PORT, ah, 2);
}

WHY(AH_SGID_INDEX)
{
	struct ibv_ah_attr ah = good_ah(self);

	ah.grh.sgid_index = 255;
	EXPECT_NO_ADDRESS(AH_SGID_INDEX, ah, 255);
}

WHY(AH_NO_DGID)
{
	struct ibv_ah_attr ah = good_ah(self);

	ah.grh.dgid = (union ibv_gid){};
	EXPECT_NO_ADDRESS(AH_NO_DGID, ah, ah.grh.sgid_index);
}

WHY(AH_FAMILY)
{
	struct ibv_ah_attr ah = good_ah(self);
	bool is_v4 = self->ep->conf.family == AF_INET;

	ah.grh.dgid = (union ibv_gid){ .raw = { 0xfd, [15] = 1 } };
	if (!is_v4)
		ah.grh.dgid = (union ibv_gid){ .raw = { [10] = 0xff, 0xff, 10, 0, 0, 1 } };
	EXPECT_NO_ADDRESS(AH_FAMILY, ah, ah.grh.sgid_index, is_v4, !is_v4);
}

/* The peer's network has no such host. */
WHY(AH_UNREACHABLE)
{
	struct ibv_ah_attr ah = good_ah(self);
	const uint8_t *raw = ah.grh.dgid.raw;
	uint64_t half[2] = {};
	int i;

	ah.grh.dgid.raw[15] ^= 0x55;
	for (i = 0; i < 16; i++)
		half[i / 8] = half[i / 8] << 8 | raw[i];
	EXPECT_NO_ADDRESS(AH_UNREACHABLE, ah, ah.grh.sgid_index, half[0], half[1]);
}

/* -- steering rules */

/* A QP of the context, for the rules */
static struct vt_raw with_qp(FIXTURE_DATA(why) *self, enum ibv_qp_type type)
{
	struct vt_raw raw = { .ep = *self->ep };

	raw.ep.qp = create_qp(self, type, (struct ibv_qp_cap){ SMALL });
	return raw;
}

#define EXPECT_NO_RULE(name, type, err, rule, ...) do {			\
	struct vt_raw _raw = with_qp(self, type);			\
									\
	if (!_raw.ep.qp && errno == EOPNOTSUPP) {			\
		EXPECT_WHY(self->ctx, QP_TYPE, 0, type);		\
		SKIP(return, "this link has no frames");		\
	}								\
	ASSERT_NE(NULL, _raw.ep.qp);					\
	errno = 0;							\
	EXPECT_EQ(NULL, vt_rule_apply(&_raw, rule));			\
	EXPECT_EQ(err, errno);						\
	EXPECT_WHY(self->ctx, name, _raw.ep.qp->qp_num, __VA_ARGS__);	\
	EXPECT_EQ(0, ibv_destroy_qp(_raw.ep.qp));			\
} while (0)

WHY(FLOW_QP)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	EXPECT_NO_RULE(FLOW_QP, IBV_QPT_UD, EOPNOTSUPP, &rule, IBV_QPT_UD);
}

WHY(FLOW_FLAGS)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_EGRESS);
	EXPECT_NO_RULE(FLOW_FLAGS, IBV_QPT_RAW_PACKET, EOPNOTSUPP, &rule,
		       IBV_FLOW_ATTR_FLAGS_EGRESS);
}

WHY(FLOW_TYPE)
{
	struct vt_rule rule;

	vt_rule_init(&rule, IBV_FLOW_ATTR_SNIFFER + 1, 0);
	EXPECT_NO_RULE(FLOW_TYPE, IBV_QPT_RAW_PACKET, EINVAL, &rule,
		       IBV_FLOW_ATTR_SNIFFER + 1);
}

WHY(FLOW_DEFAULT)
{
	struct vt_rule rule;

	vt_rule_init(&rule, IBV_FLOW_ATTR_ALL_DEFAULT, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_ETH, sizeof(struct ibv_flow_spec_eth));
	EXPECT_NO_RULE(FLOW_DEFAULT, IBV_QPT_RAW_PACKET, EINVAL, &rule,
		       IBV_FLOW_ATTR_ALL_DEFAULT, 1, 0);
}

WHY(FLOW_SPEC)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH,
		    sizeof(struct ibv_flow_spec_eth));
	EXPECT_NO_RULE(FLOW_SPEC, IBV_QPT_RAW_PACKET, EOPNOTSUPP, &rule,
		       IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH);
}

WHY(FLOW_IP_FLAGS)
{
	struct ibv_flow_spec_ipv4_ext *ip;
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	ip = vt_rule_add(&rule, IBV_FLOW_SPEC_IPV4_EXT, sizeof(*ip));
	ip->mask.flags = 1;
	EXPECT_NO_RULE(FLOW_IP_FLAGS, IBV_QPT_RAW_PACKET, EOPNOTSUPP, &rule, 1);
}

WHY(FLOW_TWICE)
{
	size_t len = sizeof(struct ibv_flow_spec_tcp_udp);
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, 0);
	vt_rule_add(&rule, IBV_FLOW_SPEC_UDP, len);
	vt_rule_add(&rule, IBV_FLOW_SPEC_TCP, len);
	EXPECT_NO_RULE(FLOW_TWICE, IBV_QPT_RAW_PACKET, EINVAL, &rule,
		       IBV_FLOW_SPEC_TCP);
}

WHY(FLOW_DROP)
{
	struct vt_rule rule;

	vt_rule_normal(&rule, 0, IBV_FLOW_ATTR_FLAGS_DONT_TRAP);
	vt_rule_add(&rule, IBV_FLOW_SPEC_ACTION_DROP,
		    sizeof(struct ibv_flow_spec_action_drop));
	EXPECT_NO_RULE(FLOW_DROP, IBV_QPT_RAW_PACKET, EINVAL, &rule, 0);
}

ELSEWHERE(FLOW_RX_MODE, "a netdev that 2^32 others have made promiscuous")
ELSEWHERE(FLOW_MANY, "see raw_rules.c, as_many_as_there_may_be")
ELSEWHERE(FLOW_NETDEV, "a race with a netdev that goes")

/* -- multicast */

ELSEWHERE(MCAST_NETDEV, "see mcast.c, netdev_forgets")
ELSEWHERE(MCAST_AGAIN, "the core takes a second attachment for the first one")
ELSEWHERE(MCAST_QPS, "see mcast.c, limits")
ELSEWHERE(MCAST_GROUPS, "see mcast.c, limits")

/* -- device memory */

static struct ibv_dm *alloc_dm(FIXTURE_DATA(why) *self, size_t length,
			       uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = {
		.length = length, .log_align_req = log_align,
	};

	return ibv_alloc_dm(self->ctx, &attr);
}

WHY(DM_NO_LENGTH)
{
	EXPECT_EQ(NULL, alloc_dm(self, 0, 0));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_WHY(self->ctx, DM_NO_LENGTH, 0, 0);
}

WHY(DM_ALIGN)
{
	EXPECT_EQ(NULL, alloc_dm(self, PAGE, 20));
	EXPECT_EQ(EINVAL, errno);
	EXPECT_WHY(self->ctx, DM_ALIGN, 0, 20, __builtin_ctz(PAGE));
}

WHY(DM_FULL)
{
	struct ibv_device_attr_ex attr = {};
	struct ibv_dm *dm;

	ASSERT_EQ(0, ibv_query_device_ex(self->ctx, NULL, &attr));
	dm = alloc_dm(self, attr.max_dm_size, 0);
	ASSERT_NE(NULL, dm);
	EXPECT_EQ(NULL, alloc_dm(self, PAGE, 0));
	EXPECT_EQ(ENOMEM, errno);
	EXPECT_WHY(self->ctx, DM_FULL, 0, PAGE, attr.max_dm_size);
	EXPECT_EQ(0, ibv_free_dm(dm));
}

WHY(DM_UNALIGNED)
{
	struct ibv_dm *dm = alloc_dm(self, PAGE, 0);

	ASSERT_NE(NULL, dm);
	EXPECT_EQ(EFAULT, ibv_memcpy_to_dm(dm, 2, self->p, 4));
	EXPECT_WHY(self->ctx, DM_UNALIGNED, 0, 2, 4);
	EXPECT_EQ(0, ibv_free_dm(dm));
}

WHY(DM_RANGE)
{
	struct ibv_dm *dm = alloc_dm(self, PAGE, 0);

	ASSERT_NE(NULL, dm);
	EXPECT_EQ(EFAULT, ibv_memcpy_from_dm(self->p, dm, PAGE - 4, 8));
	EXPECT_WHY(self->ctx, DM_RANGE, 0, PAGE - 4, 8, PAGE);
	EXPECT_EQ(0, ibv_free_dm(dm));
}

/* -- posting */

/* Put the endpoint's QP into RTS, connected to a peer that does not exist. */
static void may_post(FIXTURE_DATA(why) *self)
{
	self->ep->qp->state = IBV_QPS_RTS;
}

static int post(FIXTURE_DATA(why) *self, struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_sge sge = {
		.addr = (uintptr_t)self->p, .length = LEN, .lkey = self->ep->buf.mr->lkey,
	};
	struct ibv_send_wr *bad = NULL;
	int ret;

	if (!wr.sg_list)
		wr.sg_list = &sge;
	ret = ibv_post_send(qp, &wr, &bad);
	return ret && bad == &wr ? ret : ret ? -1 : 0;
}

WHY(POST_STATE)
{
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp *qp = create_qp(self, IBV_QPT_RC, (struct ibv_qp_cap){ SMALL });

	ASSERT_NE(NULL, qp);
	EXPECT_EQ(EINVAL, post(self, qp, (struct ibv_send_wr){}));
	EXPECT_WHY(self->ctx, POST_STATE, qp->qp_num, IBV_QPS_RESET);
	EXPECT_EQ(EINVAL, ibv_post_recv(qp, &wr, &bad));
	EXPECT_WHY(self->ctx, POST_STATE, qp->qp_num, IBV_QPS_RESET);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

WHY(POST_NO_QUEUE)
{
	struct ibv_srq *srq = create_srq(self, 1, 1);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { SMALL }, .srq = srq,
		.send_cq = self->ep->scq, .recv_cq = self->ep->rcq,
	};
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp *qp;

	ASSERT_NE(NULL, srq);
	qp = ibv_create_qp(self->pd, &attr);
	ASSERT_NE(NULL, qp);
	EXPECT_EQ(EINVAL, ibv_post_recv(qp, &wr, &bad));
	EXPECT_WHY(self->ctx, POST_NO_QUEUE, qp->qp_num, IBV_QPT_RC);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

WHY(POST_OPCODE)
{
	may_post(self);
	EXPECT_EQ(EINVAL, post(self, self->ep->qp,
			       (struct ibv_send_wr){ .opcode = IBV_WR_TSO }));
	EXPECT_WHY(self->ctx, POST_OPCODE, QPN, IBV_WR_TSO, IBV_QPT_RC);
}

WHY(POST_FLAGS)
{
	may_post(self);
	EXPECT_EQ(EINVAL, post(self, self->ep->qp,
			       (struct ibv_send_wr){ .send_flags = 1 << 9 }));
	EXPECT_WHY(self->ctx, POST_FLAGS, QPN, 1 << 9, 1 << 9);
}

WHY(POST_INLINE)
{
	may_post(self);
	EXPECT_EQ(EINVAL, post(self, self->ep->qp, (struct ibv_send_wr){
			       .opcode = IBV_WR_RDMA_READ,
			       .send_flags = IBV_SEND_INLINE }));
	EXPECT_WHY(self->ctx, POST_INLINE, QPN, IBV_WR_RDMA_READ);
}

WHY(POST_INLINE_LENGTH)
{
	struct ibv_qp_cap cap = { SMALL, .max_inline_data = 64 };
	struct ibv_qp *qp = create_qp(self, IBV_QPT_RC, cap);

	ASSERT_NE(NULL, qp);
	qp->state = IBV_QPS_RTS;
	EXPECT_EQ(EINVAL, post(self, qp, (struct ibv_send_wr){
			       .opcode = IBV_WR_SEND, .num_sge = 1,
			       .send_flags = IBV_SEND_INLINE }));
	EXPECT_WHY(self->ctx, POST_INLINE_LENGTH, qp->qp_num, LEN, 64);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

WHY(POST_SGE)
{
	struct ibv_recv_wr recv = { .num_sge = 2 }, *bad;
	struct ibv_qp *qp = create_qp(self, IBV_QPT_RC, (struct ibv_qp_cap){ SMALL });

	ASSERT_NE(NULL, qp);
	qp->state = IBV_QPS_RTS;
	EXPECT_EQ(EINVAL, post(self, qp, (struct ibv_send_wr){
			       .opcode = IBV_WR_SEND, .num_sge = 2 }));
	EXPECT_WHY(self->ctx, POST_SGE, qp->qp_num, 2, 1);
	EXPECT_EQ(EINVAL, ibv_post_recv(qp, &recv, &bad));
	EXPECT_WHY(self->ctx, POST_SGE, qp->qp_num, 2, 1);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* For the kernel the QP is in RESET, so it takes nothing from the queue. */
WHY(POST_FULL)
{
	struct ibv_qp_cap cap = { SMALL };
	struct ibv_qp_init_attr init;
	struct smr_abi_why recs[4];
	struct ibv_qp_attr attr;
	struct ibv_recv_wr wr = {}, *bad;
	struct ibv_qp *qp;
	uint32_t i;

	qp = create_qp(self, IBV_QPT_RC, cap);
	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, ibv_query_qp(qp, &attr, IBV_QP_CAP, &init));
	qp->state = IBV_QPS_INIT;
	for (i = 0; i < init.cap.max_recv_wr; i++)
		ASSERT_EQ(0, ibv_post_recv(qp, &wr, &bad));
	for (i = 0; i < 3; i++)
		EXPECT_EQ(ENOMEM, ibv_post_recv(qp, &wr, &bad));
	EXPECT_WHY(self->ctx, POST_FULL, qp->qp_num, init.cap.max_recv_wr);
	/* a repeated refusal is not recorded again */
	EXPECT_EQ(1, vt_whys(self->ctx, 0, recs, 4));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

WHY(POST_NO_AH)
{
	struct ibv_qp *qp = create_qp(self, IBV_QPT_UD, (struct ibv_qp_cap){ SMALL });

	ASSERT_NE(NULL, qp);
	qp->state = IBV_QPS_RTS;
	EXPECT_EQ(EINVAL, post(self, qp, (struct ibv_send_wr){ .opcode = IBV_WR_SEND }));
	EXPECT_WHY(self->ctx, POST_NO_AH, qp->qp_num, 0);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

WHY(POST_NO_WINDOW)
{
	may_post(self);
	EXPECT_EQ(EINVAL, post(self, self->ep->qp,
			       (struct ibv_send_wr){ .opcode = IBV_WR_BIND_MW }));
	EXPECT_WHY(self->ctx, POST_NO_WINDOW, QPN, 0);
}

WHY(POST_ZERO_BASED)
{
	struct ibv_mw_bind bind = { .bind_info = {
		.mw_access_flags = IBV_ACCESS_ZERO_BASED } };
	struct ibv_mw *mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_1);

	ASSERT_NE(NULL, mw);
	may_post(self);
	EXPECT_EQ(EINVAL, ibv_bind_mw(self->ep->qp, mw, &bind));
	EXPECT_WHY(self->ctx, POST_ZERO_BASED, QPN, IBV_ACCESS_ZERO_BASED);
	EXPECT_EQ(0, ibv_dealloc_mw(mw));
}

ELSEWHERE(POST_ATOMIC_WRITE, "the kernel's queues always have the room")

/* -- any */

WHY(FIELDS_UNKNOWN)
{
	struct ibv_cq_init_attr_ex attr = { .cqe = 1, .comp_mask = 1 << 9 };

	EXPECT_NONE(EOPNOTSUPP, ibv_create_cq_ex(self->ctx, &attr));
	EXPECT_WHY(self->ctx, FIELDS_UNKNOWN, 0, 1 << 9, 1 << 9);
}

WHY(FIELDS_INVALID)
{
	struct ibv_alloc_dm_attr attr = { .length = PAGE, .comp_mask = 2 };

	EXPECT_NONE(EINVAL, ibv_alloc_dm(self->ctx, &attr));
	EXPECT_WHY(self->ctx, FIELDS_INVALID, 0, 2, 2);
}

static struct ibv_pd *parent_of(FIXTURE_DATA(why) *self, struct ibv_pd *pd,
				struct ibv_td *td, uint32_t mask)
{
	struct ibv_parent_domain_init_attr attr = {
		.pd = pd, .td = td, .comp_mask = mask,
	};

	return ibv_alloc_parent_domain(self->ctx, &attr);
}

WHY(PD_IN_USE)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx), *parent;

	ASSERT_NE(NULL, pd);
	parent = parent_of(self, pd, NULL, 0);
	ASSERT_NE(NULL, parent);
	EXPECT_EQ(EBUSY, ibv_dealloc_pd(pd));
	EXPECT_WHY(self->ctx, PD_IN_USE, 0, 1);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_dealloc_pd(pd));
}

WHY(TD_IN_USE)
{
	struct ibv_td_init_attr attr = {};
	struct ibv_td *td = ibv_alloc_td(self->ctx, &attr);
	struct ibv_pd *parent;

	ASSERT_NE(NULL, td);
	parent = parent_of(self, self->pd, td, 0);
	ASSERT_NE(NULL, parent);
	EXPECT_EQ(EBUSY, ibv_dealloc_td(td));
	EXPECT_WHY(self->ctx, TD_IN_USE, 0, 1);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_dealloc_td(td));
}

WHY(PARENT_PD)
{
	struct ibv_pd *parent = parent_of(self, self->pd, NULL, 0);

	ASSERT_NE(NULL, parent);
	EXPECT_NONE(EINVAL, parent_of(self, parent, NULL, 0));
	EXPECT_WHY(self->ctx, PARENT_PD, 0, 0);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
}

WHY(PARENT_ALLOCATORS)
{
	EXPECT_NONE(EINVAL, parent_of(self, self->pd, NULL,
				       IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS));
	EXPECT_WHY(self->ctx, PARENT_ALLOCATORS, 0, 0);
}

/* The context is of a process whose effective user is another one. */
WHY(CAPTURE_USER)
{
	struct ibv_context *ctx;

	ASSERT_EQ(0, seteuid(65534));
	ctx = ibv_open_device(self->ctx->device);
	ASSERT_EQ(0, seteuid(0));
	ASSERT_TRUE(ctx);
	EXPECT_EQ(-EPERM, vt_ucmd_file(ctx, SMR_METHOD_CAPTURE_OPEN, SMR_ATTR_CAPTURE_FD));
	EXPECT_WHY(ctx, CAPTURE_USER, 0);
	EXPECT_EQ(0, ibv_close_device(ctx));
}

WHY(LIMIT)
{
	struct ibv_pd *pds[MOST] = {};
	struct vt_dev dev;
	int i, ret;

	ASSERT_EQ(0, vt_write_file(MAX_OBJECTS, "30"));
	ret = vt_own_link_add();
	ASSERT_EQ(0, vt_write_file(MAX_OBJECTS, "131072"));
	ASSERT_EQ(0, ret);
	ASSERT_EQ(0, vt_dev_open(&dev, 0, AF_INET6));
	/* the kernel has some of its own */
	for (i = 0; i < MOST && (pds[i] = ibv_alloc_pd(dev.ctx)); i++)
		;
	EXPECT_LT(i, MOST);
	EXPECT_WHY(dev.ctx, LIMIT, 0, 0, MOST);
	while (i--)
		EXPECT_EQ(0, ibv_dealloc_pd(pds[i]));
	vt_dev_close(&dev);
	EXPECT_EQ(0, vt_own_link_del());
}

/* A provider that is newer passes more than the module knows. */
struct newer_pd {
	struct ib_uverbs_cmd_hdr hdr;
	uint64_t response;
	uint64_t more;
};

static int newer_pd(FIXTURE_DATA(why) *self, struct newer_pd *cmd)
{
	struct ib_uverbs_alloc_pd_resp resp;

	cmd->hdr.command = IB_USER_VERBS_CMD_ALLOC_PD;
	cmd->hdr.in_words = sizeof(*cmd) / 4;
	cmd->hdr.out_words = sizeof(resp) / 4;
	cmd->response = (uintptr_t)&resp;
	return write(self->ctx->cmd_fd, cmd, sizeof(*cmd)) < 0 ? errno : 0;
}

WHY(INPUT_UNKNOWN)
{
	struct newer_pd cmd = { .more = 1 };

	EXPECT_EQ(EOPNOTSUPP, newer_pd(self, &cmd));
	EXPECT_WHY(self->ctx, INPUT_UNKNOWN, 0, 0);
}

WHY(COMMAND_MEMORY)
{
	struct newer_pd *cmd = self->p + PAGE - offsetof(struct newer_pd, more);

	ASSERT_EQ(0, munmap(self->p + PAGE, PAGE));
	cmd->hdr.command = IB_USER_VERBS_CMD_ALLOC_PD;
	EXPECT_EQ(EFAULT, newer_pd(self, cmd));
	EXPECT_WHY(self->ctx, COMMAND_MEMORY, 0, 0);
}

WHY(FILES)
{
	struct rlimit lim, none;
	int fd = dup(0);

	ASSERT_LE(0, fd);
	close(fd);
	ASSERT_EQ(0, getrlimit(RLIMIT_NOFILE, &lim));
	none = (struct rlimit){ fd, lim.rlim_max };
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &none));
	EXPECT_EQ(-EMFILE, vt_ucmd_file(self->ctx, SMR_METHOD_DOORBELL_OPEN, SMR_ATTR_DOORBELL_FD));
	ASSERT_EQ(0, setrlimit(RLIMIT_NOFILE, &lim));
	EXPECT_WHY(self->ctx, FILES, 0, 0);
}

ELSEWHERE(DEVICE_GOES, "a region whose page is waited for while its link is removed")
ELSEWHERE(NO_NUMBER, "16 million keys or queue pairs")
#define EXPECT_IN_USE(call, qpn, kind) do {				\
	EXPECT_EQ(EBUSY, call);						\
	EXPECT_WHY(self->ctx, IN_USE, qpn, kind);			\
} while (0)

/* The endpoint has a QP. */
WHY(IN_USE)
{
	EXPECT_IN_USE(ibv_dealloc_pd(self->pd), 0, 0);
	EXPECT_IN_USE(ibv_destroy_cq(self->ep->scq), 0, 2);
}

TEST_F(why, in_use_srq)
{
	struct ibv_srq *srq = create_srq(self, 1, 1);
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { SMALL }, .srq = srq,
		.send_cq = self->ep->scq, .recv_cq = self->ep->rcq,
	};
	struct ibv_qp *qp;

	ASSERT_NE(NULL, srq);
	qp = ibv_create_qp(self->pd, &attr);
	ASSERT_NE(NULL, qp);
	EXPECT_IN_USE(ibv_destroy_srq(srq), 0, 3);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

TEST_F(why, in_use_qp)
{
	struct ibv_qp *qp = create_qp(self, IBV_QPT_UD, (struct ibv_qp_cap){ SMALL });
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };

	ASSERT_NE(NULL, qp);
	ASSERT_EQ(0, vt_qp_init(qp, &(struct vt_conf){ .qp_type = IBV_QPT_UD }));
	ASSERT_EQ(0, ibv_attach_mcast(qp, &group, 0));
	EXPECT_IN_USE(ibv_destroy_qp(qp), qp->qp_num, 4);
	EXPECT_EQ(0, ibv_detach_mcast(qp, &group, 0));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(why, in_use_xrcd)
{
	struct ibv_xrcd_init_attr init = {
		.comp_mask = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS,
		.fd = -1, .oflags = O_CREAT,
	};
	struct ibv_xrcd *xrcd = ibv_open_xrcd(self->ctx, &init);
	struct ibv_srq *srq;

	ASSERT_NE(NULL, xrcd);
	srq = create_srq_ex(self, (struct ibv_srq_init_attr_ex){
			.comp_mask = IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_XRCD |
				     IBV_SRQ_INIT_ATTR_CQ,
			.srq_type = IBV_SRQT_XRC, .xrcd = xrcd, .cq = self->ep->rcq });
	ASSERT_NE(NULL, srq);
	EXPECT_IN_USE(ibv_close_xrcd(xrcd), 0, 7);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
	EXPECT_EQ(0, ibv_close_xrcd(xrcd));
}

TEST_F(why, in_use_dm)
{
	struct ibv_dm *dm = alloc_dm(self, PAGE, 0);
	struct ibv_mr *mr;

	ASSERT_NE(NULL, dm);
	mr = ibv_reg_dm_mr(self->pd, dm, 0, PAGE, IBV_ACCESS_ZERO_BASED);
	ASSERT_NE(NULL, mr);
	EXPECT_IN_USE(ibv_free_dm(dm), 0, 15);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
	EXPECT_EQ(0, ibv_free_dm(dm));
}

ELSEWHERE(OLD_MODULE, "see userspace/tests/context_test.c: the module here is not older")
ELSEWHERE(RING_UNKNOWN, "see userspace/tests/rings_test.c: the module describes rings well")
ELSEWHERE(NO_MEMORY, "see verbs_fail_nth.c")
ELSEWHERE(SIGNAL, "see odp_slow.c")
ELSEWHERE(UNSAID, "there is to be none")

#define EACH(name, ...)	tested_##name,
static const int tested[] __attribute__((unused)) = { SMR_WHYS_VERBS(EACH) };

/* -- the log */

/* The log keeps the latest refusals in order, and returns as many as the caller has room for. */
TEST_F(why, log_is_bounded)
{
	struct smr_abi_why recs[100];
	uint64_t from = 0;
	int i, n;

	for (i = 0; i < 300; i++)
		advise(self, self->pd, 1000 + i, 0, 1);
	n = vt_whys(self->ctx, 0, recs, 100);
	ASSERT_LT(0, n);
	ASSERT_GT(100, n);
	for (i = 0; i < n; i++) {
		EXPECT_EQ((uint64_t)(300 - n + 1 + i), recs[i].seq);
		EXPECT_EQ((uint64_t)(1300 - n + i), recs[i].num[0]);
		EXPECT_LE(i ? recs[i - 1].time : 0, recs[i].time);
	}
	for (i = 0; vt_whys(self->ctx, from, recs, 3) > 0; i++)
		from = recs[2].seq > from ? recs[2].seq : recs[0].seq;
	EXPECT_EQ(300, from);
}

/* A context with @n refusals, which is closed */
static int refuse_and_close(int advice, int n)
{
	struct ibv_sge sge = {};
	struct vt_dev dev;
	struct ibv_pd *pd;
	int ret = vt_dev_open(&dev, 0, vt_defaults.family);

	if (ret)
		return ret;
	pd = ibv_alloc_pd(dev.ctx);
	for (; pd && n && !ret; n--)
		ret = ibv_advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1) != EOPNOTSUPP;
	if (!pd || ibv_dealloc_pd(pd))
		ret = -ENOMEM;
	vt_dev_close(&dev);
	return ret;
}

/* However many contexts another user closes, they do not overwrite all that others were refused. */
TEST_F(why, ended_refusals_of_another_user)
{
	int i, status, ret = 0;
	pid_t pid;

	ASSERT_EQ(0, refuse_and_close(4242, 1));
	pid = fork();
	if (!pid) {
		if (setresgid(NOBODY, NOBODY, NOBODY) || setresuid(NOBODY, NOBODY, NOBODY))
			_exit(2);
		for (i = 0; i < 5 && !ret; i++)
			ret = refuse_and_close(99, 64);
		_exit(!!ret);
	}
	ASSERT_EQ(pid, waitpid(pid, &status, 0));
	ASSERT_EQ(0, status);
	EXPECT_EQ(0, system("softmr why | grep -qw 'the advice 99'"));
	EXPECT_EQ(0, system("softmr why | grep -qw 'the advice 4242'"));
}

VT_HARNESS_MAIN
