// SPDX-License-Identifier: GPL-2.0
/*
 * The module serves providers that are older and newer than itself. It truncates answers or pads
 * them with zeros, and ignores unknown attributes unless they are mandatory.
 *
 * timeout: 60
 * paths: host
 */
#include "harness.h"

#include <sys/ioctl.h>

#include <rdma/ib_user_ioctl_cmds.h>
#include <rdma/ib_user_ioctl_verbs.h>
#include <rdma/ib_user_verbs.h>
#include <rdma/rdma_user_ioctl_cmds.h>

#include "region.h"
#include "softmr-abi.h"
#include "window.h"

#define ROOM	256	/* larger than any answer */
#define UNUSED	0xa5	/* what the buffer is filled with before */

FIXTURE(abi)
{
	struct vt_ep ep;
	uint8_t out[ROOM];
};

FIXTURE_SETUP(abi)
{
	memset(self->out, UNUSED, sizeof(self->out));
	VT_SETUP(vt_ep_open(&self->ep, &vt_defaults, 0));
}

FIXTURE_TEARDOWN(abi)
{
	vt_ep_close(&self->ep);
}

static bool all(const uint8_t *from, const uint8_t *end, uint8_t value)
{
	while (from < end && *from == value)
		from++;
	return from == end;
}

/* The command that opens a device, with @len bytes for the driver's answer. */
static int get_context(const char *node, uint8_t *out, size_t driver)
{
	struct ib_uverbs_get_context_resp resp = {};
	uint8_t answer[sizeof(resp) + ROOM];
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_get_context cmd;
	} __attribute__((packed)) in = {
		.hdr = {
			.command = IB_USER_VERBS_CMD_GET_CONTEXT,
			.in_words = sizeof(in) / 4,
			.out_words = (sizeof(resp) + driver) / 4,
		},
		.cmd.response = (uintptr_t)answer,
	};
	int fd = open(node, O_RDWR | O_CLOEXEC), ret = 0;

	if (fd < 0)
		return -errno;
	memset(answer, UNUSED, sizeof(answer));
	if (write(fd, &in, sizeof(in)) != sizeof(in)) {
		ret = -errno;
	} else {
		memcpy(&resp, answer, sizeof(resp));
		close(resp.async_fd);
		memcpy(out, answer + sizeof(resp), ROOM);
	}
	close(fd);
	return ret;
}

static int call(struct ibv_context *ctx, uint16_t object, uint16_t method,
		const struct ib_uverbs_attr *attrs, unsigned int n)
{
	struct {
		struct ib_uverbs_ioctl_hdr hdr;
		struct ib_uverbs_attr attrs[4];
	} cmd = {
		.hdr = {
			.length = sizeof(cmd.hdr) + n * sizeof(*attrs),
			.object_id = object,
			.method_id = method,
			.num_attrs = n,
			.driver_id = SMR_DRIVER_ID,
		},
	};

	memcpy(cmd.attrs, attrs, n * sizeof(*attrs));
	return ioctl(ctx->cmd_fd, RDMA_VERBS_IOCTL, &cmd) ? -errno : 0;
}

static struct ib_uverbs_attr attr_out(uint16_t id, void *out, size_t len)
{
	return (struct ib_uverbs_attr){
		.attr_id = id,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.len = len,
		.data = (uintptr_t)out,
	};
}

static struct ib_uverbs_attr attr_obj(uint16_t id, uint32_t handle)
{
	return (struct ib_uverbs_attr){
		.attr_id = id,
		.flags = UVERBS_ATTR_F_MANDATORY,
		.data = handle,
	};
}

TEST_F(abi, context_for_each_length)
{
	static const size_t lengths[] = { 4, 8, 24, 128 };
	struct smr_alloc_ucontext_resp want = {
		.abi_version = SMR_ABI_VERSION,
		.abi_minor = SMR_ABI_MINOR,
	};
	char node[128];
	size_t i, known;

	snprintf(node, sizeof(node), "/dev/infiniband/%s",
		 self->ep.dev.ctx->device->dev_name);
	for (i = 0; i < sizeof(lengths) / sizeof(*lengths); i++) {
		known = lengths[i] < sizeof(want) ? lengths[i] : sizeof(want);
		ASSERT_EQ(0, get_context(node, self->out, lengths[i]));
		EXPECT_EQ(0, memcmp(self->out, &want, known));
		EXPECT_TRUE(all(self->out + known, self->out + lengths[i], 0));
		EXPECT_TRUE(all(self->out + lengths[i], self->out + ROOM,
				UNUSED));
	}
}

TEST_F(abi, imported_context)
{
	struct smr_alloc_ucontext_resp want = {
		.abi_version = SMR_ABI_VERSION,
		.abi_minor = SMR_ABI_MINOR,
	};
	struct ib_uverbs_attr attr =
		attr_out(SMR_ATTR_QUERY_CONTEXT_RESP, self->out, 24);

	ASSERT_EQ(0, call(self->ep.dev.ctx, UVERBS_OBJECT_DEVICE,
			  UVERBS_METHOD_QUERY_CONTEXT, &attr, 1));
	EXPECT_EQ(0, memcmp(self->out, &want, sizeof(want)));
	EXPECT_TRUE(all(self->out + sizeof(want), self->out + 24, 0));
	attr.len = 4;
	EXPECT_EQ(-EINVAL, call(self->ep.dev.ctx, UVERBS_OBJECT_DEVICE,
				UVERBS_METHOD_QUERY_CONTEXT, &attr, 1));
}

TEST_F(abi, device_memory)
{
	struct ibv_alloc_dm_attr dm_attr = { .length = 4096 };
	struct ibv_context *ctx = self->ep.dev.ctx;
	struct smr_dm_info *info = (struct smr_dm_info *)self->out;
	struct ibv_dm *dm = ibv_alloc_dm(ctx, &dm_attr);
	struct ib_uverbs_attr attrs[3];

	ASSERT_NE(NULL, dm);
	attrs[0] = attr_obj(SMR_ATTR_DM_QUERY_DM, dm->handle);
	attrs[1] = attr_out(SMR_ATTR_DM_QUERY_INFO, self->out, sizeof(*info));
	EXPECT_EQ(0, call(ctx, UVERBS_OBJECT_DM, SMR_METHOD_DM_QUERY, attrs, 2));
	EXPECT_EQ(4096, info->length);
	EXPECT_TRUE(all(self->out + sizeof(*info), self->out + ROOM, UNUSED));

	/* a newer provider: a longer struct, and one more attribute */
	attrs[1].len = 40;
	attrs[2] = attr_out(SMR_ATTR_DM_QUERY_INFO + 100, self->out + 64, 8);
	attrs[2].flags = 0;
	EXPECT_EQ(0, call(ctx, UVERBS_OBJECT_DM, SMR_METHOD_DM_QUERY, attrs, 3));
	EXPECT_EQ(4096, info->length);
	EXPECT_TRUE(all(self->out + sizeof(*info), self->out + 40, 0));
	EXPECT_TRUE(all(self->out + 40, self->out + ROOM, UNUSED));

	attrs[2].flags = UVERBS_ATTR_F_MANDATORY;
	EXPECT_NE(0, call(ctx, UVERBS_OBJECT_DM, SMR_METHOD_DM_QUERY, attrs, 3));
	attrs[1].len = 8;
	EXPECT_EQ(-EINVAL, call(ctx, UVERBS_OBJECT_DM, SMR_METHOD_DM_QUERY,
				attrs, 2));
	EXPECT_EQ(0, ibv_free_dm(dm));
}

TEST_F(abi, resize_of_srq)
{
	struct ibv_srq_init_attr init = { .attr = { .max_wr = 8, .max_sge = 1 } };
	struct smr_resize_srq_resp *resp = (void *)self->out;
	struct smr_ring_info *info = &resp->rq;
	struct ibv_srq *srq = ibv_create_srq(self->ep.pd, &init);
	struct ib_uverbs_attr attrs[3];
	uint64_t wide;

	ASSERT_NE(NULL, srq);
	attrs[0] = attr_obj(SMR_ATTR_RESIZE_SRQ, srq->handle);
	attrs[1] = attr_obj(SMR_ATTR_RESIZE_MAX_WR, 64);
	attrs[1].len = sizeof(uint32_t);
	attrs[2] = attr_out(SMR_ATTR_RESIZE_RING, self->out, sizeof(*resp) + 32);
	EXPECT_EQ(0, call(self->ep.dev.ctx, UVERBS_OBJECT_SRQ,
			  SMR_METHOD_SRQ_RESIZE, attrs, 3));
	EXPECT_LE(64, info->depth);
	EXPECT_NE(0, info->arena);
	EXPECT_TRUE(all(self->out + sizeof(*resp),
			self->out + sizeof(*resp) + 32, 0));
	/* an older provider: it has no room for the last words */
	memset(self->out, UNUSED, sizeof(self->out));
	attrs[2].len = sizeof(*info) - 8;
	EXPECT_EQ(-EINVAL, call(self->ep.dev.ctx, UVERBS_OBJECT_SRQ,
				SMR_METHOD_SRQ_RESIZE, attrs, 3));
	EXPECT_TRUE(all(self->out, self->out + ROOM, UNUSED));
	attrs[2].len = sizeof(*info);
	/* a newer provider: numbers of 64 bits; this module has 32 of them */
	wide = 32;
	attrs[1].len = sizeof(wide);
	attrs[1].data = wide;
	EXPECT_EQ(0, call(self->ep.dev.ctx, UVERBS_OBJECT_SRQ,
			  SMR_METHOD_SRQ_RESIZE, attrs, 3));
	EXPECT_LE(32, info->depth);
	attrs[1].data |= 1ull << 32;
	EXPECT_EQ(-EOPNOTSUPP, call(self->ep.dev.ctx, UVERBS_OBJECT_SRQ,
				    SMR_METHOD_SRQ_RESIZE, attrs, 3));
	EXPECT_EQ(0, ibv_destroy_srq(srq));
}

/* Entries of an array, in the size that a provider knows */
TEST_F(abi, windows_of_each_size)
{
	static const uint32_t sizes[] = { 40, 48, 128 };
	struct ibv_context *ctx = self->ep.dev.ctx;
	struct smr_abi_window *w = (void *)self->out, *next;
	struct ib_uverbs_attr attrs[4];
	struct vt_addr me;
	uint64_t total;
	struct ibv_mr *mr;
	struct ibv_mw *mw[2];
	int i;

	mr = vt_window_reg(&self->ep, PAGE);
	ASSERT_NE(NULL, mr);
	me = vt_ep_addr(&self->ep);
	ASSERT_EQ(0, vt_ep_connect(&self->ep, &me));
	for (i = 0; i < 2; i++) {
		mw[i] = ibv_alloc_mw(self->ep.pd, IBV_MW_TYPE_1);
		ASSERT_NE(NULL, mw[i]);
		ASSERT_EQ(0, vt_bind_page(&self->ep, mw[i], mr));
	}
	attrs[0] = attr_obj(SMR_ATTR_WINDOWS_MR, mr->handle);
	attrs[1] = attr_out(SMR_ATTR_WINDOWS_TOTAL, &total, sizeof(total));
	for (i = 0; i < sizeof(sizes) / sizeof(*sizes); i++) {
		memset(self->out, UNUSED, sizeof(self->out));
		total = ~0ull;
		attrs[2] = attr_out(SMR_ATTR_WINDOWS_ARRAY, self->out,
				    2 * sizes[i]);
		attrs[3] = attr_obj(SMR_ATTR_WINDOWS_SIZE, sizes[i]);
		attrs[3].len = sizeof(uint32_t);
		ASSERT_EQ(0, call(ctx, UVERBS_OBJECT_MR,
				  SMR_METHOD_MR_QUERY_WINDOWS, attrs, 4));
		EXPECT_EQ(2, total);
		next = (void *)self->out + sizes[i];
		EXPECT_EQ(PAGE, w->length);
		EXPECT_EQ(PAGE, next->length);
		EXPECT_NE(w->rkey, next->rkey);
		EXPECT_TRUE(all((uint8_t *)(w + 1), (uint8_t *)next, 0));
		EXPECT_TRUE(all((uint8_t *)(next + 1),
				self->out + 2 * sizes[i], 0));
		EXPECT_TRUE(all(self->out + 2 * sizes[i], self->out + ROOM,
				UNUSED));
	}
	attrs[3].data = 39;
	EXPECT_EQ(-EINVAL, call(ctx, UVERBS_OBJECT_MR,
				SMR_METHOD_MR_QUERY_WINDOWS, attrs, 4));
	for (i = 0; i < 2; i++)
		EXPECT_EQ(0, ibv_dealloc_mw(mw[i]));
	EXPECT_EQ(0, ibv_dereg_mr(mr));
}

/*
 * A command by write(): @in begins with the pointer to the answer, which has @core bytes of the
 * core and @driver of the driver. The driver's bytes are left in @out.
 */
static int command(int fd, uint32_t cmd, void *in, size_t in_len, size_t core,
		   uint8_t *out, size_t driver)
{
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		uint8_t in[64];
	} __attribute__((packed)) call = {
		.hdr = {
			.command = cmd,
			.in_words = (sizeof(call.hdr) + in_len) / 4,
			.out_words = (core + driver) / 4,
		},
	};
	uint64_t response = (uintptr_t)out;
	ssize_t len = sizeof(call.hdr) + in_len;

	memcpy(in, &response, sizeof(response));
	memcpy(call.in, in, in_len);
	memset(out, UNUSED, ROOM);
	return write(fd, &call, len) == len ? 0 : -errno;
}

/* A newer provider has room for an answer that this module does not have. */
TEST_F(abi, answers_that_are_none)
{
	struct ib_uverbs_open_xrcd xrcd = {
		.fd = -1, .oflags = O_CREAT,
	};
	struct ib_uverbs_alloc_pd pd = {};
	struct ib_uverbs_alloc_mw mw = { .mw_type = IBV_MW_TYPE_1 };
	struct ib_uverbs_reg_mr mr = {
		.start = (uintptr_t)self, .hca_va = (uintptr_t)self,
		.length = 1,
	};
	int fd = self->ep.dev.ctx->cmd_fd;

	ASSERT_EQ(0, command(fd, IB_USER_VERBS_CMD_ALLOC_PD, &pd, sizeof(pd),
			     4, self->out, 32));
	EXPECT_TRUE(all(self->out + 4, self->out + 36, 0));
	EXPECT_TRUE(all(self->out + 36, self->out + ROOM, UNUSED));
	memcpy(&mr.pd_handle, self->out, 4);
	mw.pd_handle = mr.pd_handle;

	ASSERT_EQ(0, command(fd, IB_USER_VERBS_CMD_REG_MR, &mr, sizeof(mr), 12,
			     self->out, 32));
	EXPECT_TRUE(all(self->out + 12, self->out + 44, 0));
	ASSERT_EQ(0, command(fd, IB_USER_VERBS_CMD_ALLOC_MW, &mw, sizeof(mw), 8,
			     self->out, 32));
	EXPECT_TRUE(all(self->out + 8, self->out + 40, 0));
	ASSERT_EQ(0, command(fd, IB_USER_VERBS_CMD_OPEN_XRCD, &xrcd,
			     sizeof(xrcd), 4, self->out, 32));
	EXPECT_TRUE(all(self->out + 4, self->out + 36, 0));
}

/* An extended command by write(): each part has bytes of the core, and bytes of the driver. */
struct ex_command {
	struct {
		struct ib_uverbs_cmd_hdr hdr;
		struct ib_uverbs_ex_cmd_hdr ex;
		uint8_t in[256];
	} call;
	uint8_t out[512];
};

static int ex_command(struct ibv_context *ctx, struct ex_command *c, uint32_t cmd, size_t in,
		      size_t driver_in, size_t out, size_t driver_out)
{
	ssize_t len = offsetof(struct ex_command, call.in) + in + driver_in;

	c->call.hdr.command = cmd | IB_USER_VERBS_CMD_FLAG_EXTENDED;
	c->call.hdr.in_words = in / 8;
	c->call.hdr.out_words = out / 8;
	c->call.ex.response = (uintptr_t)c->out;
	c->call.ex.provider_in_words = driver_in / 8;
	c->call.ex.provider_out_words = driver_out / 8;
	memset(c->out, UNUSED, sizeof(c->out));
	return write(ctx->cmd_fd, &c->call, len) == len ? 0 : -errno;
}

/*
 * The driver's answer about the device, to providers that know more of it than the module, and less
 */
TEST_F(abi, device)
{
	size_t core = sizeof(struct ib_uverbs_ex_query_device_resp);
	size_t in = sizeof(struct ib_uverbs_ex_query_device), len, known;
	struct smr_query_device_resp want, got;
	struct ex_command c;

	for (len = sizeof(want); len <= 2 * sizeof(want); len += 8) {
		memset(&c, 0, sizeof(c));
		ASSERT_EQ(0, ex_command(self->ep.dev.ctx, &c, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
					in, 0, core, len));
		EXPECT_TRUE(all(c.out + core + sizeof(want), c.out + core + len, 0));
		EXPECT_TRUE(all(c.out + core + len, c.out + sizeof(c.out), UNUSED));
		memcpy(&want, c.out + core, sizeof(want));
	}
	EXPECT_EQ(self->ep.dev.attr.device_cap_flags & IBV_DEVICE_MANAGED_FLOW_STEERING ?
		  UINT32_MAX : 0, want.rate_limit_max);
	for (known = 0; known < sizeof(want); known += 8) {
		ASSERT_EQ(0, ex_command(self->ep.dev.ctx, &c, IB_USER_VERBS_EX_CMD_QUERY_DEVICE,
					in, 0, core, known));
		memcpy(&got, c.out + core, sizeof(got));
		EXPECT_EQ(0, memcmp(&got, &want, known));
		EXPECT_TRUE(all(c.out + core + known, c.out + sizeof(c.out), UNUSED));
	}
}

static struct ibv_qp *raw_qp_in_rts(struct vt_ep *ep)
{
	struct ibv_qp_init_attr init = {
		.send_cq = ep->scq, .recv_cq = ep->rcq, .cap = { 1, 1, 1, 1, 0 },
		.qp_type = IBV_QPT_RAW_PACKET,
	};
	struct ibv_qp *qp = ibv_create_qp(ep->pd, &init);
	struct ibv_qp_attr attr = { .port_num = 1 };
	int ret = 0;

	for (attr.qp_state = IBV_QPS_INIT; qp && attr.qp_state <= IBV_QPS_RTS; attr.qp_state++)
		ret |= ibv_modify_qp(qp, &attr, attr.qp_state == IBV_QPS_INIT ?
				     IBV_QP_STATE | IBV_QP_PORT : IBV_QP_STATE);
	return ret ? NULL : qp;
}

/* A rate limit, with driver input of each length, and with input that the module does not know */
TEST_F(abi, input)
{
	struct ib_uverbs_ex_modify_qp cmd = { .rate_limit = 1000 };
	struct ibv_qp *qp = raw_qp_in_rts(&self->ep);
	struct smr_modify_qp how = { .max_burst_sz = 5000, .typical_pkt_sz = 1000 };
	size_t known = sizeof(how), len, unknown;
	struct ex_command c;

	if (!qp && errno == EOPNOTSUPP)
		SKIP(return, "this link has no frames");
	ASSERT_NE(NULL, qp);
	cmd.base.qp_handle = qp->handle;
	cmd.base.attr_mask = IBV_QP_RATE_LIMIT;
	for (len = 0; len <= 3 * known; len += 8) {
		for (unknown = 0; unknown < 2; unknown++) {
			memset(&c, 0, sizeof(c));
			memcpy(c.call.in, &cmd, sizeof(cmd));
			memcpy(c.call.in + sizeof(cmd), &how, known);
			c.call.in[sizeof(cmd) + len - 1] |= len > known ? unknown : 0;
			EXPECT_EQ(len > known && unknown ? -EOPNOTSUPP : 0,
				  ex_command(qp->context, &c, IB_USER_VERBS_EX_CMD_MODIFY_QP,
					     sizeof(cmd), len, 8, 0)) TH_LOG("%zu", len);
		}
	}
	how.rsvd = 1;
	memcpy(c.call.in + sizeof(cmd), &how, known);
	EXPECT_EQ(-EOPNOTSUPP, ex_command(qp->context, &c, IB_USER_VERBS_EX_CMD_MODIFY_QP,
					  sizeof(cmd), known, 8, 0));
	/* without a rate limit there is no input */
	cmd.base.attr_mask = 0;
	memcpy(c.call.in, &cmd, sizeof(cmd));
	EXPECT_EQ(-EOPNOTSUPP, ex_command(qp->context, &c, IB_USER_VERBS_EX_CMD_MODIFY_QP,
					  sizeof(cmd), known, 8, 0));
	EXPECT_EQ(0, ibv_destroy_qp(qp));
}

/* A method that does not exist yet */
TEST_F(abi, unknown_method)
{
	struct ib_uverbs_attr attr = attr_out(SMR_ATTR_DM_QUERY_INFO, self->out, 8);

	EXPECT_EQ(-EPROTONOSUPPORT, call(self->ep.dev.ctx, UVERBS_OBJECT_DM,
					 SMR_METHOD_DM_QUERY + 100, &attr, 1));
}

VT_HARNESS_MAIN
