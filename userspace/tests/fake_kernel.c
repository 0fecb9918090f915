// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * These functions take precedence over libibverbs' of the same names.
 */
#include "fake_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "../provider/abi.h"
#include "../provider/softmr.h"

struct fake_kernel fake = {
	.max_inline = FAKE_MAX_INLINE,
	.max_sge = FAKE_MAX_SGE,
	.abi_version = SMR_ABI_VERSION,
	.abi_minor = SMR_ABI_MINOR,
	.answer = sizeof(struct smr_alloc_ucontext_resp),
};

static struct smr_context fake_ctx;
static uint64_t fake_end;

struct ibv_context *fake_context(void)
{
	struct ibv_context *context = &fake_ctx.vctx.context;

	if (!context->cmd_fd) {
		fake_ctx.bell_fd = FAKE_BELL_FD;
		context->abi_compat = __VERBS_ABI_IS_EXTENDED;
		context->cmd_fd = memfd_create("softmr", 0);
		smr_maps_init(&fake_ctx.maps, context->cmd_fd);
	}
	return context;
}

/* PROVIDER_DRIVER() defines it */
extern const struct verbs_device_ops verbs_provider_softmr;

struct ibv_device *fake_device(void)
{
	static struct verbs_device vdev;

	vdev.ops = &verbs_provider_softmr;
	/* It must not be freed with the last context. */
	atomic_store(&vdev.refcount, 1000);
	return &vdev.device;
}

static uint64_t fake_room(uint32_t bytes)
{
	uint64_t at = fake_end;

	fake_end += (bytes + 4095) & ~4095U;
	return ftruncate(fake_context()->cmd_fd, (off_t)fake_end) ? 0 : at;
}

/* Each ring has an arena of its own. */
static void fake_ring(struct smr_ring_info *info, uint32_t head, uint32_t depth)
{
	uint32_t payload = fake.max_sge * sizeof(struct smr_sge);
	struct smr_ring_hdr hdr = {
		.prod = fake.start_index,
		.cons = fake.start_index,
	};
	static uint64_t arena;
	int fd = fake_context()->cmd_fd;

	*info = (struct smr_ring_info){
		.arena = ++arena,
		.depth = depth,
		.stride = head + payload,
		.max_sge = fake.max_sge,
		.max_inline = fake.max_inline,
		.max_wr = FAKE_MAX_WR,
	};
	info->mmap_size = (sizeof(hdr) + depth * info->stride + 4095) & ~4095U;
	info->mmap_offset = fake_room(info->mmap_size);
	fake.ring_at = info->mmap_offset;
	if (pwrite(fd, &hdr, sizeof(hdr), (off_t)info->mmap_offset) < 0)
		*info = (struct smr_ring_info){};
}

/* A ring that replaces @old, with the entries between its indices */
static int fake_new_ring(struct smr_ring_info *info, uint32_t head, uint32_t depth, const struct smr_ring *old)
{
	int fd = fake_context()->cmd_fd;
	struct smr_ring_hdr hdr = {};
	uint32_t i;

	fake_ring(info, head, depth);
	for (i = old->hdr->cons; i != old->hdr->prod; i++) {
		uint64_t at = info->mmap_offset + sizeof(hdr) +
			      hdr.prod++ * info->stride;

		if (pwrite(fd, smr_ring_entry(old, i), old->stride,
			   (off_t)at) < 0)
			return errno;
	}
	return pwrite(fd, &hdr, sizeof(hdr), (off_t)info->mmap_offset) < 0 ?
		       errno : 0;
}

static void fake_break_ring(struct smr_ring_info *info)
{
	if (fake.bad_ring == FAKE_RING_DEPTH)
		info->depth = info->depth / 2 + 1;
	else if (fake.bad_ring == FAKE_RING_MMAP)
		info->mmap_offset++;
	else if (fake.bad_ring == FAKE_RING_NONE)
		info->depth = 0;
}

/* The doorbell */
int ioctl(int fd, unsigned long request, ...)
{
	if (fd != FAKE_BELL_FD || (request != SMR_IOC_RING_SQ && request != SMR_IOC_RING_RQ)) {
		errno = EINVAL;
		return -1;
	}
	if (fake.at_doorbell)
		fake.at_doorbell();
	errno = fake.doorbell_err;
	return fake.doorbell_err ? -1 : 0;
}

static int fake_query_windows(void)
{
	fake.queries++;
	return fake.query_err;
}

static int fake_query_dm(const struct ibv_command_buffer *cmd)
{
	const struct smr_dm_info info = {
		.mmap_offset = fake_room(FAKE_DM_LENGTH),
		.mmap_size = FAKE_DM_LENGTH,
		.length = FAKE_DM_LENGTH,
	};
	const struct ib_uverbs_attr *attr;

	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_DM_QUERY_INFO)
			memcpy((void *)(uintptr_t)attr->data, &info,
			       sizeof(info));
		else if (attr->attr_id != SMR_ATTR_DM_QUERY_DM ||
			 attr->data != FAKE_DM_HANDLE)
			return EINVAL;
	}
	return 0;
}

static int fake_open_bell(const struct ibv_command_buffer *cmd)
{
	int32_t fd;

	if (fake.bell_fd < 0)
		return EMFILE;
	if (cmd->buffer_error || cmd->hdr.attrs[0].attr_id != SMR_ATTR_DOORBELL_FD ||
	    cmd->hdr.attrs[0].len != sizeof(fd))
		return EINVAL;
	fd = memfd_create("doorbell", MFD_CLOEXEC);
	fake.bell_fd = fd;
	memcpy((void *)(uintptr_t)cmd->hdr.attrs[0].data, &fd, sizeof(fd));
	return 0;
}

static struct smr_srq *fake_srq;

static int fake_resize_srq(const struct ibv_command_buffer *cmd)
{
	struct smr_resize_srq_resp resp = {};
	const struct ib_uverbs_attr *attr, *answer = NULL;
	uint32_t max_wr = 0;
	int ret;

	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_RESIZE_MAX_WR)
			max_wr = (uint32_t)attr->data;
		else if (attr->attr_id == SMR_ATTR_RESIZE_RING)
			answer = attr;
		else if (attr->attr_id != SMR_ATTR_RESIZE_SRQ ||
			 attr->data != FAKE_SRQ_HANDLE)
			return EINVAL;
	}
	if (!answer || answer->len != sizeof(resp))
		return EOPNOTSUPP;
	if (!max_wr || max_wr > FAKE_MAX_CQE)
		return EINVAL;
	ret = fake_new_ring(&resp.rq, sizeof(struct smr_recv_wqe), max_wr, &fake_srq->rq.ring);
	if (ret)
		return ret;
	fake_break_ring(&resp.rq);
	memcpy((void *)(uintptr_t)answer->data, &resp, answer->len);
	return 0;
}

/* The refusals after the caller's last one, as many as there is room for */
static int fake_whys(const struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attr, *array = NULL, *count = NULL;
	struct smr_abi_why *to;
	uint64_t from = 0;
	uint32_t n = 0, i;

	if (fake.query_err)
		return fake.query_err;
	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_WHY_FROM)
			from = attr->data;
		else if (attr->attr_id == SMR_ATTR_WHY_ARRAY)
			array = attr;
		else if (attr->attr_id == SMR_ATTR_WHY_COUNT)
			count = attr;
		else if (attr->attr_id != SMR_ATTR_WHY_SIZE ||
			 attr->data != sizeof(*to))
			return EINVAL;
	}
	to = (void *)(uintptr_t)array->data;
	for (i = 0; i < fake.nr_whys && (n + 1) * sizeof(*to) <= array->len; i++)
		if (fake.whys[i].seq > from)
			to[n++] = fake.whys[i];
	memcpy((void *)(uintptr_t)count->data, &n, sizeof(n));
	return 0;
}

static int fake_note(const struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attr = cmd->hdr.attrs;

	if (attr->attr_id != SMR_ATTR_WHY_NOTE ||
	    attr->len != sizeof(fake.note))
		return EINVAL;
	memcpy(&fake.note, (void *)(uintptr_t)attr->data, sizeof(fake.note));
	fake.notes++;
	errno = EIO; /* as it might be after an ioctl */
	return 0;
}

/* The methods that are called through libibverbs */
int execute_ioctl(struct ibv_context *context, struct ibv_command_buffer *cmd)
{
	if (cmd->hdr.object_id == UVERBS_OBJECT_DEVICE &&
	    cmd->hdr.method_id == SMR_METHOD_DOORBELL_OPEN)
		return fake_open_bell(cmd);
	if (context != fake_context() || cmd->buffer_error)
		return EINVAL;
	if (cmd->hdr.object_id == UVERBS_OBJECT_DEVICE &&
	    cmd->hdr.method_id == SMR_METHOD_WHY_READ)
		return fake_whys(cmd);
	if (cmd->hdr.object_id == UVERBS_OBJECT_DEVICE &&
	    cmd->hdr.method_id == SMR_METHOD_WHY_NOTE)
		return fake_note(cmd);
	if (cmd->hdr.object_id == UVERBS_OBJECT_DM &&
	    cmd->hdr.method_id == SMR_METHOD_DM_QUERY)
		return fake_query_dm(cmd);
	if (cmd->hdr.object_id == UVERBS_OBJECT_SRQ &&
	    cmd->hdr.method_id == SMR_METHOD_SRQ_RESIZE)
		return fake_resize_srq(cmd);
	if (cmd->hdr.object_id != UVERBS_OBJECT_MR ||
	    cmd->hdr.method_id != SMR_METHOD_MR_QUERY_WINDOWS)
		return EINVAL;
	return fake_query_windows();
}

/* The answer of a module of this version: a shorter answer leaves zeros. */
static int fake_answer(struct smr_alloc_ucontext_resp *resp)
{
	const struct smr_alloc_ucontext_resp full = {
		.abi_version = fake.abi_version,
		.abi_minor = fake.abi_minor,
	};

	if (fake.context_err)
		return fake.context_err;
	memcpy(resp, &full, fake.answer);
	return 0;
}

/* A libibverbs may call this without @fds: then the arguments after it are one place earlier. */
int (ibv_cmd_get_context)(struct verbs_context *context,
			  struct ibv_get_context *cmd, size_t cmd_size,
			  struct ibv_fd_arr *fds,
			  struct ib_uverbs_get_context_resp *resp,
			  size_t resp_size)
{
	struct usmr_get_context_resp *full;

	(void)context, (void)cmd;
	if (smr_libibverbs.layout->release < 57) {
		resp_size = (size_t)resp;
		resp = (void *)fds;
	}
	full = container_of(resp, struct usmr_get_context_resp, ibv_resp);
	/* No module reads any input. */
	if (cmd_size != sizeof(*cmd) || resp_size != sizeof(*full))
		return EINVAL;
	return fake_answer(&full->drv_payload);
}

int ibv_cmd_query_context(struct ibv_context *context,
			  struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attr = cmd->hdr.attrs;

	(void)context;
	if (cmd->next_attr != attr + 1 ||
	    attr->attr_id != SMR_ATTR_QUERY_CONTEXT_RESP ||
	    attr->len != sizeof(struct smr_alloc_ucontext_resp))
		return EINVAL;
	return fake_answer((void *)(uintptr_t)attr->data);
}

/* libibverbs' own, which gets the operations unchanged, or as if it had one more */
void (verbs_set_ops)(struct verbs_context *vctx,
		     const struct verbs_context_ops *ops)
{
	void (*next)(struct verbs_context *vctx, const void *ops);
	void *moved[1 + FAKE_OPS] = {};

	memcpy(fake.ops, ops, sizeof(fake.ops));
	memcpy(moved + 1, ops, sizeof(fake.ops));
	*(void **)&next = dlsym(RTLD_NEXT, "verbs_set_ops");
	next(vctx, fake.new_op ? moved : moved + 1);
}

int ibv_dontfork_range(void *base, size_t size)
{
	(void)base;
	if (fake.dontfork_err)
		return fake.dontfork_err;
	__atomic_fetch_add(&fake.not_for_child, size, __ATOMIC_RELAXED);
	return 0;
}

int ibv_dofork_range(void *base, size_t size)
{
	(void)base;
	__atomic_fetch_sub(&fake.not_for_child, size, __ATOMIC_RELAXED);
	return 0;
}

int ibv_cmd_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
		   uint64_t hca_va, int access, struct verbs_mr *vmr,
		   struct ibv_reg_mr *cmd, size_t cmd_size,
		   struct ib_uverbs_reg_mr_resp *resp, size_t resp_size)
{
	(void)cmd, (void)cmd_size, (void)resp, (void)resp_size;
	fake.reg = (struct fake_reg){
		.start = (uintptr_t)addr,
		.length = length,
		.iova = hca_va,
		.fd = -1,
		.access = access,
	};
	vmr->ibv_mr.context = pd->context;
	return fake.reg_err;
}

int ibv_cmd_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset, size_t length,
			  uint64_t iova, int fd, int access,
			  struct verbs_mr *vmr, struct ibv_command_buffer *more)
{
	(void)more;
	fake.reg = (struct fake_reg){
		.start = offset,
		.length = length,
		.iova = iova,
		.fd = fd,
		.access = access,
	};
	vmr->ibv_mr.context = pd->context;
	return fake.reg_err;
}

int ibv_cmd_rereg_mr(struct verbs_mr *vmr, uint32_t flags, void *addr,
		     size_t length, uint64_t hca_va, int access,
		     struct ibv_pd *pd, struct ibv_rereg_mr *cmd,
		     size_t cmd_size, struct ib_uverbs_rereg_mr_resp *resp,
		     size_t resp_size)
{
	(void)vmr, (void)flags, (void)pd, (void)cmd, (void)cmd_size, (void)resp, (void)resp_size;
	fake.reg = (struct fake_reg){
		.start = (uintptr_t)addr,
		.length = length,
		.iova = hca_va,
		.fd = -1,
		.access = access,
	};
	return fake.reg_err;
}

int ibv_cmd_query_device_any(struct ibv_context *context,
			     const struct ibv_query_device_ex_input *input,
			     struct ibv_device_attr_ex *attr, size_t attr_size,
			     struct ib_uverbs_ex_query_device_resp *resp, size_t *resp_size)
{
	struct usmr_query_device_resp *full =
		container_of(resp, struct usmr_query_device_resp, ibv_resp);

	(void)context, (void)input;
	if (*resp_size != sizeof(*full))
		return EINVAL;
	if (fake.query_err)
		return fake.query_err;
	memset(attr, 0, attr_size);
	resp->base.fw_ver = fake.fw_ver;
	full->drv_payload = fake.caps;
	return 0;
}

int ibv_cmd_dereg_mr(struct verbs_mr *vmr)
{
	(void)vmr;
	return 0;
}

int ibv_cmd_alloc_dm(struct ibv_context *context,
		     const struct ibv_alloc_dm_attr *attr, struct verbs_dm *dm,
		     struct ibv_command_buffer *link)
{
	(void)attr, (void)link;
	dm->dm.context = context;
	dm->handle = FAKE_DM_HANDLE;
	return 0;
}

int ibv_cmd_free_dm(struct verbs_dm *dm)
{
	(void)dm;
	return 0;
}

int ibv_cmd_alloc_pd(struct ibv_context *context, struct ibv_pd *pd,
		     struct ibv_alloc_pd *cmd, size_t cmd_size,
		     struct ib_uverbs_alloc_pd_resp *resp, size_t resp_size)
{
	(void)cmd, (void)cmd_size, (void)resp, (void)resp_size;
	pd->context = context;
	return 0;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	return 0;
}

int ibv_cmd_create_qp_ex2(struct ibv_context *context, struct verbs_qp *vqp,
			  struct ibv_qp_init_attr_ex *attr,
			  struct ibv_create_qp_ex *cmd, size_t cmd_size,
			  struct ib_uverbs_ex_create_qp_resp *resp,
			  size_t resp_size,
			  struct ibv_command_buffer *driver)
{
	struct usmr_create_qp_resp *full =
		container_of(resp, struct usmr_create_qp_resp, ibv_resp);

	(void)driver, (void)cmd, (void)cmd_size;
	if (resp_size != sizeof(*full))
		return EINVAL;
	vqp->qp.context = context;
	vqp->qp.handle = FAKE_QP_HANDLE;
	vqp->qp.qp_num = FAKE_QP_NUM;
	vqp->qp.qp_type = attr->qp_type;
	vqp->qp.state = IBV_QPS_RESET;
	vqp->qp.send_cq = attr->send_cq;
	vqp->qp.recv_cq = attr->recv_cq;
	*(uint32_t *)((char *)vqp + smr_libibverbs.comp_mask) = 0;
	fake_ring(&full->drv_payload.sq, sizeof(struct smr_send_wqe), FAKE_DEPTH);
	fake_ring(&full->drv_payload.rq, sizeof(struct smr_recv_wqe), FAKE_DEPTH);
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd,
		      size_t cmd_size)
{
	struct smr_qp *qp = to_smr_qp(ibqp);

	(void)cmd, (void)cmd_size;
	if (!(attr_mask & IBV_QP_STATE))
		return 0;
	if (attr->qp_state == IBV_QPS_RESET) {
		memset(qp->sq.ring.hdr, 0, sizeof(*qp->sq.ring.hdr));
		memset(qp->rq.ring.hdr, 0, sizeof(*qp->rq.ring.hdr));
	}
	ibqp->state = attr->qp_state;
	return 0;
}

int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			 int attr_mask, struct ibv_modify_qp_ex *cmd,
			 size_t cmd_size, struct ib_uverbs_ex_modify_qp_resp *resp,
			 size_t resp_size)
{
	struct usmr_modify_qp *full =
		container_of(cmd, struct usmr_modify_qp, ibv_cmd);

	(void)qp, (void)resp, (void)resp_size;
	if (!(attr_mask & IBV_QP_RATE_LIMIT))
		return EINVAL;
	fake.rate_limit = attr->rate_limit;
	fake.burst = (struct smr_modify_qp){};
	if (cmd_size == sizeof(*full))
		fake.burst = full->drv_payload;
	else if (cmd_size != sizeof(full->ibv_cmd))
		return EINVAL;
	return 0;
}

int ibv_cmd_destroy_qp(struct ibv_qp *qp)
{
	(void)qp;
	return 0;
}

int ibv_cmd_create_srq_ex(struct ibv_context *context, struct verbs_srq *vsrq,
			  struct ibv_srq_init_attr_ex *attr,
			  struct ibv_create_xsrq *cmd, size_t cmd_size,
			  struct ib_uverbs_create_srq_resp *resp,
			  size_t resp_size)
{
	struct usmr_create_xsrq_resp *full =
		container_of(resp, struct usmr_create_xsrq_resp, ibv_resp);

	(void)cmd, (void)cmd_size;
	if (resp_size != sizeof(*full))
		return EINVAL;
	vsrq->srq.context = context;
	vsrq->srq.handle = FAKE_SRQ_HANDLE;
	vsrq->srq_type = attr->srq_type;
	fake_srq = to_smr_srq(&vsrq->srq);
	full->drv_payload.srqn = 23;
	fake_ring(&full->drv_payload.rq, sizeof(struct smr_recv_wqe), FAKE_DEPTH);
	fake_break_ring(&full->drv_payload.rq);
	return 0;
}

int ibv_cmd_destroy_srq(struct ibv_srq *srq)
{
	(void)srq;
	return 0;
}

/* Likewise without @prov_attr */
int (ibv_cmd_create_cq_ex)(struct ibv_context *context,
			   const struct ibv_cq_init_attr_ex *attr,
			   struct verbs_create_cq_prov_attr *prov_attr,
			   struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			   size_t cmd_size,
			   struct ib_uverbs_ex_create_cq_resp *resp,
			   size_t resp_size, uint32_t cmd_flags)
{
	struct usmr_create_cq_resp *full;

	(void)attr, (void)cmd, (void)cmd_flags;
	if (smr_libibverbs.layout->release < 59) {
		resp_size = (size_t)resp;
		resp = (void *)cmd_size;
		vcq = (void *)prov_attr;
	}
	full = container_of(resp, struct usmr_create_cq_resp, ibv_resp);
	if (resp_size != sizeof(*full))
		return EINVAL;
	vcq->cq.context = context;
	vcq->cq.cqe = FAKE_DEPTH;
	fake_ring(&full->drv_payload.cq, sizeof(struct smr_cqe), FAKE_DEPTH);
	fake_break_ring(&full->drv_payload.cq);
	return 0;
}

/* Moves the entries between the old indices to the start of the new ring. */
int ibv_cmd_resize_cq(struct ibv_cq *ibcq, int cqe, struct ibv_resize_cq *cmd,
		      size_t cmd_size, struct ib_uverbs_resize_cq_resp *resp,
		      size_t resp_size)
{
	struct usmr_resize_cq_resp *full =
		container_of(resp, struct usmr_resize_cq_resp, ibv_resp);
	struct smr_resize_cq_resp *out = &full->drv_payload;
	int ret;

	(void)cmd, (void)cmd_size;
	if (resp_size != sizeof(*full) || cqe > FAKE_MAX_CQE)
		return EINVAL;
	__atomic_store_n(&fake.resizing, true, __ATOMIC_SEQ_CST);
	usleep(fake.resize_usecs);
	ret = fake_new_ring(&out->cq, sizeof(struct smr_cqe), cqe, &to_smr_cq(ibcq)->ring);
	if (ret)
		return ret;
	fake_break_ring(&out->cq);
	ibcq->cqe = cqe;
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}
