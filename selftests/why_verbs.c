// SPDX-License-Identifier: GPL-2.0
/*
 * Each reason for which a verb is refused (kernel/uapi/softmr-why.h): a call, its errno, and the
 * numbers that the device then reports. If a reason has no row here, this file does not compile.
 *
 * timeout: 120
 * paths: veth
 */
#include "harness.h"

#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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

/* @qp is in RESET. @srq has room for 4. */
FIXTURE(why)
{
	struct vt_pair pair;
	struct vt_ep *ep;
	struct ibv_context *ctx;
	struct ibv_pd *pd;
	struct ibv_qp *qp, *ud;
	struct ibv_srq *srq;
	struct ibv_dm *dm;
	struct ibv_mw *mw;
	void *p;
};

#define SELF	FIXTURE_DATA(why) *self

/* Queues of one request, but for what @attr says */
static struct ibv_qp *create_qp(SELF, struct ibv_qp_init_attr_ex attr)
{
	struct ibv_qp_cap *cap = &attr.cap;

	attr.qp_type = attr.qp_type ? attr.qp_type : IBV_QPT_RC;
	cap->max_send_wr = cap->max_send_wr ? cap->max_send_wr : 1;
	cap->max_recv_wr = cap->max_recv_wr ? cap->max_recv_wr : 1;
	cap->max_send_sge = cap->max_send_sge ? cap->max_send_sge : 1;
	cap->max_recv_sge = cap->max_recv_sge ? cap->max_recv_sge : 1;
	attr.comp_mask |= IBV_QP_INIT_ATTR_PD;
	attr.pd = self->pd;
	attr.send_cq = self->ep->scq;
	attr.recv_cq = self->ep->rcq;
	return ibv_create_qp_ex(self->ctx, &attr);
}

static struct ibv_srq *create_srq(SELF, uint32_t wr, uint32_t sge)
{
	struct ibv_srq_init_attr attr = { .attr = { .max_wr = wr, .max_sge = sge } };

	return ibv_create_srq(self->pd, &attr);
}

static struct ibv_srq *create_srq_ex(SELF, struct ibv_srq_init_attr_ex attr)
{
	attr.attr.max_wr = 1;
	attr.attr.max_sge = 1;
	attr.pd = self->pd;
	attr.comp_mask |= IBV_SRQ_INIT_ATTR_PD;
	return ibv_create_srq_ex(self->ctx, &attr);
}

static struct ibv_dm *alloc_dm(SELF, size_t length, uint32_t log_align)
{
	struct ibv_alloc_dm_attr attr = { .length = length, .log_align_req = log_align };

	return ibv_alloc_dm(self->ctx, &attr);
}

FIXTURE_SETUP(why)
{
	struct smr_abi_why rec;

	VT_SETUP(vt_pair_open(&self->pair, &vt_defaults));
	self->ep = &self->pair.a;
	self->ctx = self->ep->dev.ctx;
	self->pd = self->ep->pd;
	self->p = vt_map(LEN, PAGE, MAP_PRIVATE, -1);
	ASSERT_NE(NULL, self->p);
	self->qp = create_qp(self, (struct ibv_qp_init_attr_ex){ .cap.max_inline_data = 64 });
	ASSERT_NE(NULL, self->qp);
	self->ud = create_qp(self, (struct ibv_qp_init_attr_ex){ .qp_type = IBV_QPT_UD });
	ASSERT_NE(NULL, self->ud);
	self->srq = create_srq(self, 4, 1);
	ASSERT_NE(NULL, self->srq);
	self->dm = alloc_dm(self, PAGE, 0);
	ASSERT_NE(NULL, self->dm);
	self->mw = ibv_alloc_mw(self->pd, IBV_MW_TYPE_1);
	ASSERT_NE(NULL, self->mw);
	ASSERT_EQ(-ENOENT, vt_why_last(self->ctx, &rec));
}

FIXTURE_TEARDOWN(why)
{
	EXPECT_EQ(0, ibv_dealloc_mw(self->mw));
	EXPECT_EQ(0, ibv_free_dm(self->dm));
	EXPECT_EQ(0, ibv_destroy_srq(self->srq));
	EXPECT_EQ(0, ibv_destroy_qp(self->ud));
	EXPECT_EQ(0, ibv_destroy_qp(self->qp));
	munmap(self->p, LEN);
	vt_pair_close(&self->pair);
}

static const struct { uint32_t id, error; const char *name; } reasons[] = {
#define REASON(_name, _id, _error, ...) { _id, _error, #_name },
	SMR_WHYS_VERBS(REASON)
};

/* The last refusal of @ctx was for this reason, with this errno and these numbers. */
static void expect_why(struct __test_metadata *_metadata, struct ibv_context *ctx, uint32_t id,
		       uint32_t error, uint32_t qpn, const uint64_t *num)
{
	struct smr_abi_why rec = {};
	int i;

	ASSERT_EQ(0, vt_why_last(ctx, &rec));
	EXPECT_EQ(id, rec.id);
	EXPECT_EQ(error, rec.error);
	EXPECT_EQ(qpn, rec.qpn);
	EXPECT_EQ((uint32_t)syscall(SYS_gettid), rec.tid);
	for (i = 0; i < SMR_WHY_NUMBERS; i++)
		EXPECT_EQ(num[i], rec.num[i])
			TH_LOG("number %d", i);
	EXPECT_TRUE(vt_why_reads(&rec));
}

static uint32_t error_of(uint32_t id)
{
	size_t i;

	for (i = 0; reasons[i].id != id; i++)
		;
	return reasons[i].error;
}

#define EXPECT_WHY_ERR(ctx, name, err, qp, ...) do {				\
	const uint64_t _num[SMR_WHY_NUMBERS] = { __VA_ARGS__ };			\
										\
	expect_why(_metadata, ctx, SMR_WHY_##name, err, qp, _num);		\
} while (0)

/* The same with the errno of the table */
#define EXPECT_WHY(ctx, name, qp, ...) \
	EXPECT_WHY_ERR(ctx, name, error_of(SMR_WHY_##name), qp, ##__VA_ARGS__)

/* @call returns @err, for this reason, about the QP @qp. */
#define EXPECT_REFUSED(err, name, qp, call, ...) do {				\
	EXPECT_EQ(err, call);							\
	EXPECT_EQ(err, error_of(SMR_WHY_##name));				\
	EXPECT_WHY(self->ctx, name, qp, ##__VA_ARGS__);				\
} while (0)

/* Each reason must use one of these three macros, or this file does not compile. */
#define WHY(name)	enum { tested_##name }; TEST_F(why, name)

/* The verb, its errno and its reason */
#define REFUSED(err, name, qp, call, ...) \
	WHY(name) { EXPECT_REFUSED(err, name, qp, call, ##__VA_ARGS__); }

/* A reason that no process can cause, and why */
#define ELSEWHERE(name, text)	enum { tested_##name };

/* The errno of a verb that returns an object, or 0 */
#define ERRNO(call) (errno = 0, (call) ? 0 : errno)

#define EXPECT_NONE(err, call)	EXPECT_EQ(err, ERRNO(call))

/* -- memory regions */

/*
 * Older kernels do not know the flag, and the core refuses it where the device has no
 * persistent memory.
 */
static bool knows_persist(SELF)
{
	struct ibv_device_attr_ex attr = {};

	return !ibv_query_device_ex(self->ctx, NULL, &attr) &&
	       attr.device_cap_flags_ex & 1ULL << 39;
}

/* ibv_reg_mr_iova() of @p */
static int reg(SELF, void *p, size_t len, uint64_t iova, int access)
{
	return ERRNO(ibv_reg_mr_iova(self->pd, p, len, iova, access));
}

static int reg_dmabuf(SELF, uint64_t at, size_t len, int fd)
{
	return ERRNO(ibv_reg_dmabuf_mr(self->pd, at, len, at, fd, LW));
}

ELSEWHERE(MR_IO_MEMORY, "see mr_exporter.c, memory_of_the_device")
ELSEWHERE(MR_TYPE, "kernel consumers only")
ELSEWHERE(MR_BLOCKS, "kernel consumers only")
ELSEWHERE(MR_ACCESS, "the core knows no flag that softmr does not know")
ELSEWHERE(MR_NO_ATOMICS, "there is memory without atomics on arm64 only")
ELSEWHERE(MR_DMABUF_ON_DEMAND, "the core refuses the flag for dma-bufs")
ELSEWHERE(MR_FIXED, "libibverbs refuses it first")
ELSEWHERE(MR_ATTRS, "see userspace/tests/memory_test.c: libibverbs has the call from 59 on")

WHY(MR_PERSISTENT)
{
	if (!knows_persist(self))
		SKIP(return, "the kernel does not know the flag");
	if (vt_need_odp(self->ep, 0))
		SKIP(return, "the kernel has no on-demand paging");
	EXPECT_REFUSED(EOPNOTSUPP, MR_PERSISTENT, 0,
		       ERRNO(ibv_reg_mr(self->pd, self->p, LEN, ODP | PERSIST)), ODP | PERSIST);
}

WHY(MR_NOT_PERSISTENT)
{
	if (!knows_persist(self))
		SKIP(return, "the kernel does not know the flag");
	EXPECT_REFUSED(EINVAL, MR_NOT_PERSISTENT, 0,
		       ERRNO(ibv_reg_mr(self->pd, self->p, LEN, PERSIST)), (uintptr_t)self->p, LEN);
}

REFUSED(EINVAL, MR_DM_ON_DEMAND, 0,
	ERRNO(ibv_reg_dm_mr(self->pd, self->dm, 0, PAGE, IBV_ACCESS_ZERO_BASED | ODP)),
	IBV_ACCESS_ZERO_BASED | ODP)
REFUSED(EINVAL, MR_IMPLICIT, 0, ERRNO(ibv_reg_mr(self->pd, NULL, SIZE_MAX, LW)), LW, 0)
REFUSED(EINVAL, MR_WRAPS, 0, reg(self, self->p, LEN, -(uint64_t)PAGE, LW), -(uint64_t)PAGE, LEN)
REFUSED(EINVAL, MR_START_WRAPS, 0, reg(self, (void *)-(uintptr_t)PAGE, LEN, 0, LW),
	-(uintptr_t)PAGE, LEN)
REFUSED(EBADF, MR_DMABUF_FD, 0, reg_dmabuf(self, 0, LEN, 1000), 1000)

WHY(MR_DMABUF)
{
	int fd = open("/dev/null", O_RDWR);

	ASSERT_LE(0, fd);
	EXPECT_REFUSED(EINVAL, MR_DMABUF, 0, reg_dmabuf(self, PAGE, LEN, fd), fd, PAGE, LEN);
	close(fd);
}

WHY(MR_UNMAPPED)
{
	ASSERT_EQ(0, mprotect(self->p, PAGE, PROT_READ));
	EXPECT_REFUSED(EFAULT, MR_UNMAPPED, 0, ERRNO(ibv_reg_mr(self->pd, self->p, LEN, LW)),
		       (uintptr_t)self->p, LEN, 1);
	ASSERT_EQ(0, munmap(self->p, PAGE));
	EXPECT_REFUSED(EFAULT, MR_UNMAPPED, 0, ERRNO(ibv_reg_mr(self->pd, self->p, LEN, 0)),
		       (uintptr_t)self->p, LEN, 0);
}

WHY(MR_BUSY)
{
	struct vt_window w;

	ASSERT_EQ(0, vt_window_open(&w, self->ep, IBV_MW_TYPE_1));
	ASSERT_EQ(0, vt_bind_page(self->ep, w.mw, w.mr));
	EXPECT_REFUSED(EBUSY, MR_BUSY, 0, ibv_dereg_mr(w.mr), w.mr->lkey, 1, w.mw->rkey);
	EXPECT_EQ(IBV_REREG_MR_ERR_CMD,
		  ibv_rereg_mr(w.mr, IBV_REREG_MR_CHANGE_ACCESS, NULL, NULL, 0, LW | MW | RW));
	EXPECT_REFUSED(EBUSY, MR_BUSY, 0, errno, w.mr->lkey, 1, w.mw->rkey);
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

#define READ	IBV_ADVISE_MR_ADVICE_PREFETCH
#define WRITE	IBV_ADVISE_MR_ADVICE_PREFETCH_WRITE

static int advise(SELF, struct ibv_pd *pd, int advice, uint32_t lkey, size_t len)
{
	struct ibv_sge sge = { (uintptr_t)self->p, len, lkey };

	return ibv_advise_mr(pd, advice, IBV_ADVISE_MR_FLAG_FLUSH, &sge, 1);
}

REFUSED(EOPNOTSUPP, ADVICE, 0, advise(self, self->pd, 99, 0, 1), 99)
REFUSED(ENOENT, ADVISE_NO_KEY, 0, advise(self, self->pd, READ, 0x100, 1), 0, 0x100)
REFUSED(EINVAL, ADVISE_WINDOW, 0, advise(self, self->pd, READ, self->mw->rkey, 1),
	0, self->mw->rkey)
REFUSED(ENOENT, ADVISE_PINNED, 0, advise(self, self->pd, READ, self->ep->buf.mr->lkey, 1),
	0, self->ep->buf.mr->lkey)

WHY(ADVISE_PD)
{
	struct ibv_pd *other = ibv_alloc_pd(self->ctx);
	uint32_t lkey = self->ep->buf.mr->lkey;

	ASSERT_NE(NULL, other);
	EXPECT_REFUSED(EPERM, ADVISE_PD, 0, advise(self, other, READ, lkey, 1), 0, lkey);
	EXPECT_EQ(0, ibv_dealloc_pd(other));
}

/* Advice on memory that pages on demand, whose first @holes bytes are not mapped */
#define ON_DEMAND(err, name, access, holes, advice, len, ...)				\
WHY(name)										\
{											\
	uint64_t p __attribute__((unused)) = (uintptr_t)self->p;			\
	struct ibv_mr *mr = ibv_reg_mr(self->pd, self->p, LEN, ODP | (access));		\
											\
	if (!mr)									\
		SKIP(return, "the kernel has no on-demand paging");			\
	ASSERT_EQ(0, (holes) ? munmap(self->p, holes) : 0);				\
	EXPECT_REFUSED(err, name, 0, advise(self, self->pd, advice, mr->lkey, len),	\
		       __VA_ARGS__);							\
	EXPECT_EQ(0, ibv_dereg_mr(mr));							\
}

ON_DEMAND(EPERM, ADVISE_RIGHT, RR, 0, WRITE, 1, 0, mr->lkey)
ON_DEMAND(EFAULT, ADVISE_RANGE, LW, 0, READ, LEN + 1, 0, mr->lkey, p, LEN + 1, p, LEN)
ON_DEMAND(EFAULT, ADVISE_UNMAPPED, LW, PAGE, READ, LEN, 1)

/* -- memory windows */

ELSEWHERE(MW_TYPE, "the core refuses it first")

/* -- queue pairs */

#define END_PADDING	(1 << 11) /* IBV_QP_CREATE_PCI_WRITE_END_PADDING */

/* A QP cannot be created with these attributes. */
#define NEW_QP(...) ERRNO(create_qp(self, (struct ibv_qp_init_attr_ex){ __VA_ARGS__ }))

/* Not one more than @most, nor the largest number that the field can have */
#define NO_QP(name, field, most)							\
WHY(name)										\
{											\
	EXPECT_REFUSED(EINVAL, name, 0, NEW_QP(.cap.field = (most) + 1), (most) + 1, most);	\
	EXPECT_REFUSED(EINVAL, name, 0, NEW_QP(.cap.field = UINT32_MAX), UINT32_MAX, most);	\
}

ELSEWHERE(QP_NO_XRCD, "the core refuses it first")
ELSEWHERE(QP_NO_CQ, "the core refuses it first")
ELSEWHERE(QP_CGROUP, "see egress_owner.c: refuses()")
ELSEWHERE(QP_ERROR_MEANWHILE, "a race that nobody can win on purpose")

REFUSED(EOPNOTSUPP, QP_TYPE, 0, NEW_QP(.qp_type = IBV_QPT_DRIVER), 0xff)
REFUSED(EOPNOTSUPP, QP_FLAGS, 0,
	NEW_QP(.qp_type = IBV_QPT_UD, .comp_mask = IBV_QP_INIT_ATTR_CREATE_FLAGS,
	       .create_flags = IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | END_PADDING),
	IBV_QP_CREATE_BLOCK_SELF_MCAST_LB | END_PADDING, END_PADDING)
NO_QP(QP_SEND_WR, max_send_wr, self->ep->dev.attr.max_qp_wr)
NO_QP(QP_SEND_SGE, max_send_sge, self->ep->dev.attr.max_sge)
NO_QP(QP_INLINE, max_inline_data, 512)
NO_QP(QP_RECV_WR, max_recv_wr, self->ep->dev.attr.max_qp_wr)
NO_QP(QP_RECV_SGE, max_recv_sge, self->ep->dev.attr.max_sge)
REFUSED(EOPNOTSUPP, QP_SEND_OPS, 0,
	NEW_QP(.qp_type = IBV_QPT_UD, .comp_mask = IBV_QP_INIT_ATTR_SEND_OPS_FLAGS,
	       .send_ops_flags = IBV_QP_EX_WITH_RDMA_READ), IBV_QPT_UD, IBV_QP_EX_WITH_RDMA_READ)
static struct ibv_ah_attr good_ah(SELF)
{
	return vt_ah_attr(self->ep->dev.gid_index, &self->pair.b.dev.gid);
}

static int modify(struct ibv_qp *qp, struct ibv_qp_attr attr, int mask)
{
	return ibv_modify_qp(qp, &attr, mask);
}

#define MODIFY(qp, mask, ...)	modify(qp, (struct ibv_qp_attr){ __VA_ARGS__ }, mask)
/* The endpoint's QP is in RTS, the other one in RESET. */
#define QP	self->ep->qp
#define QPN	QP->qp_num
#define NEW	self->qp
#define NEW_QPN	NEW->qp_num
#define INIT	(IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS)
#define TO(state) .qp_state = IBV_QPS_##state, .port_num = 1

REFUSED(EOPNOTSUPP, QP_ATTR, QPN, MODIFY(QP, IBV_QP_CAP, TO(RTS)), IBV_QP_CAP, IBV_QP_CAP)
REFUSED(EOPNOTSUPP, QP_ACCESS, QPN,
	MODIFY(QP, IBV_QP_ACCESS_FLAGS, .qp_access_flags = RR | 1 << 15), RR | 1 << 15, 1 << 15)

/* The core refuses the second and the third. */
WHY(QP_VALUE)
{
	EXPECT_REFUSED(EINVAL, QP_VALUE, QPN, MODIFY(QP, IBV_QP_TIMEOUT, TO(RTS), .timeout = 40),
		       IBV_QP_TIMEOUT, 40, 0, 31);
	EXPECT_REFUSED(EINVAL, QP_VALUE, NEW_QPN, MODIFY(NEW, INIT, .qp_state = IBV_QPS_INIT),
		       IBV_QP_PORT, 0, 1, 1);
	EXPECT_REFUSED(EINVAL, QP_VALUE, NEW_QPN, MODIFY(NEW, IBV_QP_STATE, .qp_state = 9),
		       IBV_QP_STATE, 9, IBV_QPS_RESET, IBV_QPS_ERR);
}

REFUSED(EINVAL, QP_CUR_STATE, QPN,
	MODIFY(QP, IBV_QP_STATE | IBV_QP_CUR_STATE, TO(RTS), .cur_qp_state = IBV_QPS_RTR),
	IBV_QPS_RTR, IBV_QPS_RTS)

/* The core refuses an address before the QP has a port. */
WHY(QP_TRANSITION)
{
	EXPECT_REFUSED(EINVAL, QP_TRANSITION, QPN, MODIFY(QP, INIT, TO(INIT)),
		       IBV_QPS_RTS, IBV_QPS_INIT);
	EXPECT_REFUSED(EINVAL, QP_TRANSITION, NEW_QPN,
		       MODIFY(NEW, IBV_QP_STATE | IBV_QP_AV, TO(RTR), .ah_attr = good_ah(self)),
		       IBV_QPS_RESET, IBV_QPS_RTR);
}

REFUSED(EINVAL, QP_ATTR_MISSING, NEW_QPN, MODIFY(NEW, IBV_QP_STATE | IBV_QP_PORT, TO(INIT)),
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS)
REFUSED(EINVAL, QP_ATTR_EXCESS, NEW_QPN,
	MODIFY(NEW, INIT | IBV_QP_TIMEOUT | IBV_QP_SQ_PSN, TO(INIT)),
	IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_TIMEOUT | IBV_QP_SQ_PSN)

/* No receive is posted, so the SEND waits, and the queue never finishes draining. */
WHY(QP_DRAINING)
{
	struct ibv_send_wr wr = { .opcode = IBV_WR_SEND }, *bad;

	ASSERT_EQ(0, ibv_post_send(QP, &wr, &bad));
	ASSERT_EQ(0, MODIFY(QP, IBV_QP_STATE, TO(SQD)));
	EXPECT_REFUSED(EINVAL, QP_DRAINING, QPN, MODIFY(QP, IBV_QP_STATE, TO(RTS)), IBV_QPS_RTS);
}

/* A QP in INIT is asked to go to RTR with this address. */
static int to_rtr(SELF, enum ibv_mtu mtu, struct ibv_ah_attr ah)
{
	struct ibv_qp_attr attr = {
		TO(RTR), .path_mtu = mtu, .dest_qp_num = self->pair.b.qp->qp_num,
		.min_rnr_timer = 12, .max_dest_rd_atomic = 1, .ah_attr = ah,
	};
	int ret = vt_qp_reset(QP);

	if (!ret)
		ret = -vt_qp_init(QP, &self->ep->conf);
	return ret ? ret : modify(QP, attr, IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU |
				  IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
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

	EXPECT_REFUSED(EOPNOTSUPP, QP_RATE_TYPE, QPN, ibv_modify_qp_rate_limit(QP, &limit), 1000);
}

/* The rate of a RAW_PACKET QP, which is of another context */
#define RAW_RATE(err, name, to, limits, ...)						\
WHY(name)										\
{											\
	struct ibv_qp_rate_limit_attr limit = { limits };				\
	struct vt_raw raw;								\
											\
	VT_SETUP(vt_raw_open(&raw, 0, 0));						\
	ASSERT_EQ(0, vt_raw_state(&raw, to));						\
	EXPECT_EQ(err, ibv_modify_qp_rate_limit(raw.ep.qp, &limit));			\
	EXPECT_WHY(raw.ep.dev.ctx, name, raw.ep.qp->qp_num, __VA_ARGS__);		\
	vt_raw_close(&raw);								\
}

RAW_RATE(EINVAL, QP_RATE_STATE, IBV_QPS_ERR, .rate_limit = 1000, IBV_QPS_ERR, IBV_QPS_ERR)
RAW_RATE(EINVAL, QP_RATE_BURST, IBV_QPS_RTS, .max_burst_sz = 10, 10, 0)

/* Another user connects to the QP that this one is connected to. */
static int take_peer(SELF)
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
	EXPECT_EQ(0, VT_IN_CHILD(take_peer(self)));
}

WHY(QP_ECE)
{
	struct ibv_ece ece = { .vendor_id = 1 };

	QP->state = IBV_QPS_RTS;
	EXPECT_REFUSED(EINVAL, QP_ECE, QPN, ibv_set_ece(QP, &ece), 0, IBV_QPS_RTS);
}

/* -- completion queues */

static int new_cq(SELF, struct ibv_cq_init_attr_ex attr)
{
	attr.cqe = 1;
	return ERRNO(ibv_create_cq_ex(self->ctx, &attr));
}

#define NEW_CQ(...) new_cq(self, (struct ibv_cq_init_attr_ex){ __VA_ARGS__ })

ELSEWHERE(CQ_RESPONSE, "an older provider")
ELSEWHERE(CQ_VECTOR, "the core refuses it first")

REFUSED(EOPNOTSUPP, CQ_FLAGS, 0,
	NEW_CQ(.comp_mask = IBV_CQ_INIT_ATTR_MASK_FLAGS, .flags = 1 << 7), 1 << 7)
REFUSED(EOPNOTSUPP, CQ_WC_FLAGS, 0,
	NEW_CQ(.wc_flags = IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_TM_INFO),
	IBV_WC_EX_WITH_BYTE_LEN | IBV_WC_EX_WITH_TM_INFO, (uint64_t)IBV_WC_EX_WITH_TM_INFO)
REFUSED(EINVAL, CQ_PARENT, 0,
	NEW_CQ(.comp_mask = IBV_CQ_INIT_ATTR_MASK_PD, .parent_domain = self->pd), 0)

WHY(CQ_CQE)
{
	uint32_t most = self->ep->dev.attr.max_cqe;

	EXPECT_REFUSED(EINVAL, CQ_CQE, 0,
		       ERRNO(ibv_create_cq(self->ctx, most + 1, NULL, NULL, 0)), most + 1, most);
	EXPECT_REFUSED(EINVAL, CQ_CQE, 0, ibv_resize_cq(self->ep->scq, most + 1), most + 1, most);
}

/* When the sender's request has completed, so has the receive. */
WHY(CQ_FULL)
{
	struct ibv_send_wr send = { .opcode = IBV_WR_SEND, .send_flags = IBV_SEND_SIGNALED };
	int i;

	for (i = 0; i < 3; i++) {
		ASSERT_EQ(0, vt_post_recv(self->ep, 0, NULL, 0));
		ASSERT_EQ(IBV_WC_SUCCESS, vt_outcome(&self->pair.b, &send));
	}
	EXPECT_REFUSED(EINVAL, CQ_FULL, 0, ibv_resize_cq(self->ep->rcq, 2), 2, 3);
}

/* -- shared receive queues */

ELSEWHERE(SRQ_SIZE, "only providers older than the driver's method ask for it")

static int modify_srq(SELF, struct ibv_srq_attr attr, int mask)
{
	return ibv_modify_srq(self->srq, &attr, mask);
}

REFUSED(EOPNOTSUPP, SRQ_TYPE, 0,
	ERRNO(create_srq_ex(self, (struct ibv_srq_init_attr_ex){
		.comp_mask = IBV_SRQ_INIT_ATTR_TYPE, .srq_type = IBV_SRQT_TM })), IBV_SRQT_TM)
REFUSED(EINVAL, SRQ_LIMIT, 0,
	modify_srq(self, (struct ibv_srq_attr){ .srq_limit = 5 }, IBV_SRQ_LIMIT), 5, 4)
REFUSED(EINVAL, SRQ_ATTR, 0, modify_srq(self, (struct ibv_srq_attr){}, 1 << 5), 1 << 5)

WHY(SRQ_NO_NUMBER)
{
	struct ibv_srq *srq = create_srq_ex(self, (struct ibv_srq_init_attr_ex){});
	uint32_t number;

	ASSERT_NE(NULL, srq);
	EXPECT_REFUSED(EOPNOTSUPP, SRQ_NO_NUMBER, 0, ibv_get_srq_num(srq, &number),
		       IBV_SRQT_BASIC);
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

WHY(SRQ_WR)
{
	uint32_t most = self->ep->dev.attr.max_srq_wr;

	EXPECT_REFUSED(EINVAL, SRQ_WR, 0, ERRNO(create_srq(self, most + 1, 1)), most + 1, most);
	EXPECT_REFUSED(EINVAL, SRQ_WR, 0, ERRNO(create_srq(self, 0, 1)), 0, most);
}

WHY(SRQ_SGE)
{
	uint32_t most = self->ep->dev.attr.max_srq_sge;

	EXPECT_REFUSED(EINVAL, SRQ_SGE, 0, ERRNO(create_srq(self, 1, most + 1)), most + 1, most);
}

WHY(SRQ_FULL)
{
	struct ibv_recv_wr wr = {}, *bad;
	int i;

	for (i = 0; i < 3; i++)
		ASSERT_EQ(0, ibv_post_srq_recv(self->srq, &wr, &bad));
	EXPECT_REFUSED(EINVAL, SRQ_FULL, 0,
		       modify_srq(self, (struct ibv_srq_attr){ .max_wr = 2 }, IBV_SRQ_MAX_WR),
		       2, 3);
}

/* -- addresses */

ELSEWHERE(AH_GID_TYPE, "all GIDs of the device are of RoCEv2")
ELSEWHERE(AH_NETDEV, "the core drops a GID before its netdev has left")

/*
 * The core refuses the address of an address handle, and of a QP. Its errno is another one in some
 * kernels.
 */
#define EXPECT_NO_ADDRESS(name, ah, ...) do {						\
	int _err = ERRNO(ibv_create_ah(self->pd, &(ah)));				\
											\
	EXPECT_NE(0, _err);								\
	EXPECT_WHY_ERR(self->ctx, name, _err, 0, __VA_ARGS__);				\
	_err = to_rtr(self, IBV_MTU_1024, ah);						\
	EXPECT_LT(0, _err);								\
	EXPECT_WHY_ERR(self->ctx, name, _err, QPN, __VA_ARGS__);			\
} while (0)

/* A valid address, but for what @change does */
#define NO_ADDRESS(name, change, ...)							\
WHY(name)										\
{											\
	struct ibv_ah_attr ah = good_ah(self);						\
											\
	change;										\
	EXPECT_NO_ADDRESS(name, ah, __VA_ARGS__);					\
}

NO_ADDRESS(AH_NO_GRH, ah.is_global = 0, 0)
NO_ADDRESS(AH_PORT, ah.port_num = 2, 2)
NO_ADDRESS(AH_SGID_INDEX, ah.grh.sgid_index = 255, 255)
NO_ADDRESS(AH_NO_DGID, ah.grh.dgid = (union ibv_gid){}, ah.grh.sgid_index)

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
static struct vt_raw with_qp(SELF, enum ibv_qp_type type)
{
	struct vt_raw raw = { .ep = *self->ep };

	raw.ep.qp = create_qp(self, (struct ibv_qp_init_attr_ex){ .qp_type = type });
	return raw;
}

/* The rule that @init and @add make */
#define NO_RULE(err, name, type, init, add, ...)					\
WHY(name)										\
{											\
	struct vt_raw raw = with_qp(self, type);					\
	struct vt_rule rule;								\
											\
	if (!raw.ep.qp && errno == EOPNOTSUPP) {					\
		EXPECT_WHY(self->ctx, QP_TYPE, 0, type);				\
		SKIP(return, "this link has no frames");				\
	}										\
	ASSERT_NE(NULL, raw.ep.qp);							\
	init;										\
	add;										\
	EXPECT_REFUSED(err, name, raw.ep.qp->qp_num, ERRNO(vt_rule_apply(&raw, &rule)), __VA_ARGS__); \
	EXPECT_EQ(0, ibv_destroy_qp(raw.ep.qp));					\
}

#define NORMAL(flags)	vt_rule_normal(&rule, 0, flags)
#define OF_TYPE(type)	vt_rule_init(&rule, type, 0)
#define SPEC(spec, of)	vt_rule_add(&rule, spec, sizeof(struct ibv_flow_spec_##of))
#define INNER_ETH	(IBV_FLOW_SPEC_INNER | IBV_FLOW_SPEC_ETH)

NO_RULE(EOPNOTSUPP, FLOW_QP, IBV_QPT_UD, NORMAL(0),, IBV_QPT_UD)
NO_RULE(EOPNOTSUPP, FLOW_FLAGS, IBV_QPT_RAW_PACKET, NORMAL(IBV_FLOW_ATTR_FLAGS_EGRESS),,
	IBV_FLOW_ATTR_FLAGS_EGRESS)
NO_RULE(EINVAL, FLOW_TYPE, IBV_QPT_RAW_PACKET, OF_TYPE(IBV_FLOW_ATTR_SNIFFER),,
	IBV_FLOW_ATTR_SNIFFER)
NO_RULE(EINVAL, FLOW_DEFAULT, IBV_QPT_RAW_PACKET, OF_TYPE(IBV_FLOW_ATTR_ALL_DEFAULT),
	SPEC(IBV_FLOW_SPEC_ETH, eth), IBV_FLOW_ATTR_ALL_DEFAULT, 1, 0)
NO_RULE(EOPNOTSUPP, FLOW_SPEC, IBV_QPT_RAW_PACKET, NORMAL(0), SPEC(INNER_ETH, eth), INNER_ETH)
NO_RULE(EOPNOTSUPP, FLOW_IP_FLAGS, IBV_QPT_RAW_PACKET, NORMAL(0),
	((struct ibv_flow_spec_ipv4_ext *)SPEC(IBV_FLOW_SPEC_IPV4_EXT, ipv4_ext))->mask.flags = 1, 1)
NO_RULE(EINVAL, FLOW_TWICE, IBV_QPT_RAW_PACKET, NORMAL(0),
	SPEC(IBV_FLOW_SPEC_UDP, tcp_udp); SPEC(IBV_FLOW_SPEC_TCP, tcp_udp), IBV_FLOW_SPEC_TCP)
NO_RULE(EINVAL, FLOW_DROP, IBV_QPT_RAW_PACKET, NORMAL(IBV_FLOW_ATTR_FLAGS_DONT_TRAP),
	SPEC(IBV_FLOW_SPEC_ACTION_DROP, action_drop), 0)

ELSEWHERE(FLOW_RX_MODE, "a netdev that 2^32 others have made promiscuous")
ELSEWHERE(FLOW_MANY, "see raw_rules.c, as_many_as_there_may_be")
ELSEWHERE(FLOW_NETDEV, "a race with a netdev that goes")

/* -- multicast */

ELSEWHERE(MCAST_NETDEV, "see mcast.c, netdev_forgets")
ELSEWHERE(MCAST_AGAIN, "the core takes a second attachment for the first one")
ELSEWHERE(MCAST_QPS, "see mcast.c, limits")
ELSEWHERE(MCAST_GROUPS, "see mcast.c, limits")

/* -- device memory */

REFUSED(EINVAL, DM_NO_LENGTH, 0, ERRNO(alloc_dm(self, 0, 0)), 0)
REFUSED(EINVAL, DM_ALIGN, 0, ERRNO(alloc_dm(self, PAGE, 20)), 20, __builtin_ctz(PAGE))
REFUSED(EFAULT, DM_UNALIGNED, 0, ibv_memcpy_to_dm(self->dm, 2, self->p, 4), 2, 4)
REFUSED(EFAULT, DM_RANGE, 0, ibv_memcpy_from_dm(self->p, self->dm, PAGE - 4, 8), PAGE - 4, 8, PAGE)

WHY(DM_FULL)
{
	struct ibv_device_attr_ex attr = {};

	ASSERT_EQ(0, ibv_query_device_ex(self->ctx, NULL, &attr));
	ASSERT_EQ(0, ibv_free_dm(self->dm));
	self->dm = alloc_dm(self, attr.max_dm_size, 0);
	ASSERT_NE(NULL, self->dm);
	EXPECT_REFUSED(ENOMEM, DM_FULL, 0, ERRNO(alloc_dm(self, PAGE, 0)), PAGE, attr.max_dm_size);
}

/* -- posting */

/* What is posted to a QP that libibverbs takes for one in RTS */
static int post(SELF, struct ibv_qp *qp, struct ibv_send_wr wr)
{
	struct ibv_sge sge = { (uintptr_t)self->p, LEN, self->ep->buf.mr->lkey };
	struct ibv_send_wr *bad = NULL;
	int ret;

	qp->state = IBV_QPS_RTS;
	wr.sg_list = &sge;
	ret = ibv_post_send(qp, &wr, &bad);
	return ret && bad == &wr ? ret : ret ? -1 : 0;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr wr)
{
	struct ibv_recv_wr *bad;

	return ibv_post_recv(qp, &wr, &bad);
}

#define POST(qp, ...)	post(self, qp, (struct ibv_send_wr){ __VA_ARGS__ })
#define RECV(...)	(struct ibv_recv_wr){ __VA_ARGS__ }

ELSEWHERE(POST_ATOMIC_WRITE, "the kernel's queues always have the room")

REFUSED(EINVAL, POST_OPCODE, QPN, POST(QP, .opcode = IBV_WR_TSO), IBV_WR_TSO, IBV_QPT_RC)
REFUSED(EINVAL, POST_FLAGS, QPN, POST(QP, .send_flags = 1 << 9), 1 << 9, 1 << 9)
REFUSED(EINVAL, POST_INLINE, QPN,
	POST(QP, .opcode = IBV_WR_RDMA_READ, .send_flags = IBV_SEND_INLINE), IBV_WR_RDMA_READ)
REFUSED(EINVAL, POST_INLINE_LENGTH, NEW_QPN,
	POST(NEW, .opcode = IBV_WR_SEND, .num_sge = 1, .send_flags = IBV_SEND_INLINE), LEN, 64)
REFUSED(EINVAL, POST_NO_AH, self->ud->qp_num, POST(self->ud, .opcode = IBV_WR_SEND), 0)
REFUSED(EINVAL, POST_NO_WINDOW, QPN, POST(QP, .opcode = IBV_WR_BIND_MW), 0)

WHY(POST_STATE)
{
	struct ibv_send_wr wr = {}, *bad;

	EXPECT_REFUSED(EINVAL, POST_STATE, NEW_QPN, ibv_post_send(NEW, &wr, &bad), IBV_QPS_RESET);
	EXPECT_EQ(&wr, bad);
	EXPECT_REFUSED(EINVAL, POST_STATE, NEW_QPN, post_recv(NEW, RECV()), IBV_QPS_RESET);
}

WHY(POST_SGE)
{
	EXPECT_REFUSED(EINVAL, POST_SGE, NEW_QPN, POST(NEW, .opcode = IBV_WR_SEND, .num_sge = 2),
		       2, 1);
	EXPECT_REFUSED(EINVAL, POST_SGE, NEW_QPN, post_recv(NEW, RECV(.num_sge = 2)), 2, 1);
}

/* A QP whose receives come from the SRQ: neither can be destroyed before the other one. */
static struct ibv_qp *on_srq(SELF)
{
	struct ibv_qp_init_attr attr = {
		.qp_type = IBV_QPT_RC, .cap = { 1, 1, 1, 1 }, .srq = self->srq,
		.send_cq = self->ep->scq, .recv_cq = self->ep->rcq,
	};

	return ibv_create_qp(self->pd, &attr);
}

WHY(POST_NO_QUEUE)
{
	struct ibv_qp *qp = on_srq(self);

	ASSERT_NE(NULL, qp);
	EXPECT_REFUSED(EINVAL, POST_NO_QUEUE, qp->qp_num, post_recv(qp, RECV()), IBV_QPT_RC);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* For the kernel the QP is in RESET, so it takes nothing from the queue. */
WHY(POST_FULL)
{
	struct ibv_qp_init_attr init;
	struct smr_abi_why recs[4];
	struct ibv_qp_attr attr;
	uint32_t i;

	ASSERT_EQ(0, ibv_query_qp(NEW, &attr, IBV_QP_CAP, &init));
	NEW->state = IBV_QPS_INIT;
	for (i = 0; i < init.cap.max_recv_wr; i++)
		ASSERT_EQ(0, post_recv(NEW, RECV()));
	for (i = 0; i < 3; i++)
		EXPECT_REFUSED(ENOMEM, POST_FULL, NEW_QPN, post_recv(NEW, RECV()),
			       init.cap.max_recv_wr);
	/* a repeated refusal is not recorded again */
	EXPECT_EQ(1, vt_whys(self->ctx, 0, recs, 4));
}

WHY(POST_ZERO_BASED)
{
	struct ibv_mw_bind bind = { .bind_info.mw_access_flags = IBV_ACCESS_ZERO_BASED };

	QP->state = IBV_QPS_RTS;
	EXPECT_REFUSED(EINVAL, POST_ZERO_BASED, QPN, ibv_bind_mw(QP, self->mw, &bind),
		       IBV_ACCESS_ZERO_BASED);
}

/* -- any */

REFUSED(EOPNOTSUPP, FIELDS_UNKNOWN, 0, NEW_CQ(.comp_mask = 1 << 9), 1 << 9, 1 << 9)

WHY(FIELDS_INVALID)
{
	struct ibv_alloc_dm_attr attr = { .length = PAGE, .comp_mask = 2 };

	EXPECT_REFUSED(EINVAL, FIELDS_INVALID, 0, ERRNO(ibv_alloc_dm(self->ctx, &attr)), 2, 2);
}

static struct ibv_pd *parent_of(SELF, struct ibv_pd *pd, struct ibv_td *td, uint32_t mask)
{
	struct ibv_parent_domain_init_attr attr = { .pd = pd, .td = td, .comp_mask = mask };

	return ibv_alloc_parent_domain(self->ctx, &attr);
}

WHY(PD_IN_USE)
{
	struct ibv_pd *pd = ibv_alloc_pd(self->ctx), *parent;

	ASSERT_NE(NULL, pd);
	parent = parent_of(self, pd, NULL, 0);
	ASSERT_NE(NULL, parent);
	EXPECT_REFUSED(EBUSY, PD_IN_USE, 0, ibv_dealloc_pd(pd), 1);
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
	EXPECT_REFUSED(EBUSY, TD_IN_USE, 0, ibv_dealloc_td(td), 1);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
	EXPECT_EQ(0, ibv_dealloc_td(td));
}

WHY(PARENT_PD)
{
	struct ibv_pd *parent = parent_of(self, self->pd, NULL, 0);

	ASSERT_NE(NULL, parent);
	EXPECT_REFUSED(EINVAL, PARENT_PD, 0, ERRNO(parent_of(self, parent, NULL, 0)), 0);
	EXPECT_EQ(0, ibv_dealloc_pd(parent));
}

REFUSED(EINVAL, PARENT_ALLOCATORS, 0,
	ERRNO(parent_of(self, self->pd, NULL, IBV_PARENT_DOMAIN_INIT_ATTR_ALLOCATORS)), 0)

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

/* The process has no capabilities. */
WHY(CAPTURE_ALL)
{
	struct vt_ucmd cmd = vt_ucmd(VT_OBJ_DEVICE, SMR_METHOD_CAPTURE_OPEN);
	int32_t fd = -1;
	int ret;

	vt_ucmd_out(&cmd, SMR_ATTR_CAPTURE_FD, &fd, sizeof(fd));
	vt_ucmd_value(&cmd, SMR_ATTR_CAPTURE_FLAGS, SMR_CAPTURE_ALL, sizeof(uint32_t));
	ASSERT_EQ(0, seteuid(65534));
	ret = vt_ucmd_run(&cmd, self->ctx);
	ASSERT_EQ(0, seteuid(0));
	EXPECT_EQ(-EPERM, ret);
	EXPECT_WHY(self->ctx, CAPTURE_ALL, 0);
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

static int newer_pd(SELF, struct newer_pd *cmd)
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

	EXPECT_REFUSED(EOPNOTSUPP, INPUT_UNKNOWN, 0, newer_pd(self, &cmd), 0);
}

WHY(COMMAND_MEMORY)
{
	struct newer_pd *cmd = self->p + PAGE - offsetof(struct newer_pd, more);

	ASSERT_EQ(0, munmap(self->p + PAGE, PAGE));
	cmd->hdr.command = IB_USER_VERBS_CMD_ALLOC_PD;
	EXPECT_REFUSED(EFAULT, COMMAND_MEMORY, 0, newer_pd(self, cmd), 0);
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

#define EXPECT_IN_USE(call, qpn, kind) EXPECT_REFUSED(EBUSY, IN_USE, qpn, call, kind)

/* The endpoint has a QP. */
WHY(IN_USE)
{
	EXPECT_IN_USE(ibv_dealloc_pd(self->pd), 0, 0);
	EXPECT_IN_USE(ibv_destroy_cq(self->ep->scq), 0, 2);
}

TEST_F(why, in_use_srq)
{
	struct ibv_qp *qp = on_srq(self);

	ASSERT_NE(NULL, qp);
	EXPECT_IN_USE(ibv_destroy_srq(self->srq), 0, 3);
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

TEST_F(why, in_use_qp)
{
	union ibv_gid group = { .raw = { [10] = 0xff, 0xff, 239, 1, 2, 3 } };

	ASSERT_EQ(0, vt_qp_init(self->ud, &(struct vt_conf){ .qp_type = IBV_QPT_UD }));
	ASSERT_EQ(0, ibv_attach_mcast(self->ud, &group, 0));
	EXPECT_IN_USE(ibv_destroy_qp(self->ud), self->ud->qp_num, 4);
	EXPECT_EQ(0, ibv_detach_mcast(self->ud, &group, 0));
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
	struct ibv_mr *mr = ibv_reg_dm_mr(self->pd, self->dm, 0, PAGE, IBV_ACCESS_ZERO_BASED);

	ASSERT_NE(NULL, mr);
	EXPECT_IN_USE(ibv_free_dm(self->dm), 0, 10);
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

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
