// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * These functions take precedence over libibverbs' of the same names.
 */
#include "fake_kernel.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdarg.h>
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

unsigned int fake_maps(void)
{
	return !!fake_ctx.maps.first;
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

/* A place for a ring of @bytes in a shared mapping */
static uint64_t fake_share(struct smr_ring_map *map, uint32_t bytes)
{
	static struct smr_ring_map now = { .mmap_size = FAKE_MAP_SIZE };
	static uint32_t end;

	if (!now.id || end + bytes > FAKE_MAP_SIZE) {
		now.mmap_offset = fake_room(FAKE_MAP_SIZE);
		now.id++;
		end = 0;
	}
	now.offset = end;
	end += bytes;
	*map = now;
	return now.mmap_offset + now.offset;
}

static void fake_ring(struct smr_ring_info *info, struct smr_ring_map *map,
		      uint32_t head, uint32_t depth)
{
	uint32_t payload = fake.max_sge * sizeof(struct smr_sge);
	struct smr_ring_hdr hdr = {
		.prod = fake.start_index,
		.cons = fake.start_index,
	};
	int fd = fake_context()->cmd_fd;

	*info = (struct smr_ring_info){
		.depth = depth,
		.stride = head + payload,
		.max_sge = fake.max_sge,
		.max_inline = fake.max_inline,
		.max_wr = FAKE_MAX_WR,
	};
	info->mmap_size = (sizeof(hdr) + depth * info->stride + 4095) & ~4095U;
	info->mmap_offset = fake.shared && info->mmap_size <= FAKE_MAP_SIZE ?
				    fake_share(map, info->mmap_size) :
				    fake_room(info->mmap_size);
	fake.ring_at = info->mmap_offset;
	if (pwrite(fd, &hdr, sizeof(hdr), (off_t)info->mmap_offset) < 0)
		*info = (struct smr_ring_info){};
}

/* A ring that replaces @old, with the entries between its indices */
static int fake_new_ring(struct smr_ring_info *info, struct smr_ring_map *map,
			 uint32_t head, uint32_t depth,
			 const struct smr_ring *old)
{
	int fd = fake_context()->cmd_fd;
	struct smr_ring_hdr hdr = {};
	uint32_t i;

	fake_ring(info, map, head, depth);
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

/* It has its own mapping, so the provider must call mmap(). */
static void fake_break_ring(struct smr_ring_info *info,
			    struct smr_ring_map *map)
{
	if (fake.bad_ring == FAKE_RING_GOOD)
		return;
	*map = (struct smr_ring_map){};
	if (fake.bad_ring == FAKE_RING_DEPTH)
		info->depth = info->depth / 2 + 1;
	else if (fake.bad_ring == FAKE_RING_MMAP)
		info->mmap_offset++;
	else
		info->depth = 0;
}

static bool fake_qp_doorbell(const struct ib_uverbs_ioctl_hdr *hdr)
{
	return hdr->object_id == UVERBS_OBJECT_QP &&
	       hdr->method_id == SMR_METHOD_QP_DOORBELL &&
	       hdr->attrs[0].attr_id == SMR_ATTR_DOORBELL_QP &&
	       hdr->attrs[0].data == FAKE_QP_HANDLE;
}

/* The doorbell as a command. Return: the sides that it rings; 0: it is another command. */
static uint32_t fake_command(unsigned long request,
			     const struct ib_uverbs_ioctl_hdr *hdr)
{
	if (request != RDMA_VERBS_IOCTL || hdr->driver_id != SMR_DRIVER_ID ||
	    hdr->length != sizeof(*hdr) + hdr->num_attrs * sizeof(*hdr->attrs))
		return 0;
	if (!fake_qp_doorbell(hdr))
		return 0;
	if (hdr->num_attrs > 1 &&
	    hdr->attrs[1].attr_id == SMR_ATTR_DOORBELL_FLAGS)
		return (uint32_t)hdr->attrs[1].data;
	return SMR_DOORBELL_SQ;
}

/* The doorbell as a file */
static uint32_t fake_bell(unsigned long request, unsigned long number)
{
	if (request == SMR_IOC_RING_SQ && number == FAKE_QP_NUM)
		return SMR_DOORBELL_SQ;
	if (request == SMR_IOC_RING_RQ && number == FAKE_QP_NUM)
		return SMR_DOORBELL_RQ;
	return 0;
}

int ioctl(int fd, unsigned long request, ...)
{
	uint32_t flags = 0;
	va_list args;
	void *arg;

	va_start(args, request);
	arg = va_arg(args, void *);
	va_end(args);

	if (fd == FAKE_BELL_FD)
		flags = fake_bell(request, (unsigned long)arg);
	else if (fd == fake_context()->cmd_fd)
		flags = fake_command(request, arg);
	if (!flags) {
		errno = EINVAL;
		return -1;
	}
	if (fake.at_doorbell)
		fake.at_doorbell();
	if (fake.doorbell_err) {
		errno = fake.doorbell_err;
		return -1;
	}
	__atomic_fetch_add(&fake.doorbells[0], !!(flags & SMR_DOORBELL_SQ),
			   __ATOMIC_RELAXED);
	__atomic_fetch_add(&fake.doorbells[1], !!(flags & SMR_DOORBELL_RQ),
			   __ATOMIC_RELAXED);
	return 0;
}

/* The windows from @page->next on; the position of one is its number. */
static void fake_windows(const struct ib_uverbs_attr *attr,
			 struct smr_windows_page *page)
{
	struct smr_abi_window *out = (void *)(uintptr_t)attr->data;
	uint32_t i = page->next;

	page->count = 0;
	for (; i < fake.windows && page->count < attr->len / sizeof(*out); i++)
		out[page->count++] = (struct smr_abi_window){
			.handle = 100 + i,
			.rkey = 200 + i,
			.type = IBV_MW_TYPE_2,
			.qpn = 17,
			.addr = 0x1000 * i,
			.length = 1ULL << 40,
			.access = IBV_ACCESS_REMOTE_READ,
		};
	page->next = i < fake.windows ? i : 0;
}

/* An attribute that a module without pages ignores, if it is optional */
static bool fake_knows(const struct ib_uverbs_attr *attr)
{
	return !fake.no_pages || attr->flags & UVERBS_ATTR_F_MANDATORY;
}

static int fake_query_windows(const struct ibv_command_buffer *cmd)
{
	const struct ib_uverbs_attr *attr, *array = NULL, *total = NULL;
	struct smr_windows_page page = {}, *answer = NULL;

	fake.queries++;
	if (fake.query_err)
		return fake.query_err;
	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_WINDOWS_ARRAY)
			array = attr;
		else if (attr->attr_id == SMR_ATTR_WINDOWS_TOTAL)
			total = attr;
		else if (!fake_knows(attr))
			continue;
		else if (attr->attr_id == SMR_ATTR_WINDOWS_FROM && !fake.no_pages)
			page.next = attr->data;
		else if (attr->attr_id == SMR_ATTR_WINDOWS_PAGE && !fake.no_pages)
			answer = (void *)(uintptr_t)attr->data;
		else if (attr->attr_id != SMR_ATTR_WINDOWS_MR ||
			 attr->data != FAKE_MR_HANDLE)
			return EINVAL;
	}
	if (page.next && fake.windows_end)
		fake.windows = fake.windows_end;
	if (array)
		fake_windows(array, &page);
	if (answer)
		*answer = page;
	memcpy((void *)(uintptr_t)total->data, &fake.windows,
	       sizeof(fake.windows));
	return 0;
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

static int fake_export_dm(const struct ibv_command_buffer *cmd)
{
	const int32_t fd = FAKE_DM_FD;
	const struct ib_uverbs_attr *attr;

	if (fake.reg_err)
		return fake.reg_err;
	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_DM_EXPORT_FD &&
		    attr->len == sizeof(fd))
			memcpy((void *)(uintptr_t)attr->data, &fd, sizeof(fd));
		else if (attr->attr_id != SMR_ATTR_DM_EXPORT_DM ||
			 attr->data != FAKE_DM_HANDLE)
			return EINVAL;
	}
	return 0;
}

static int fake_open_bell(const struct ibv_command_buffer *cmd)
{
	int32_t fd;

	if (fake.bell_fd < 0)
		return EPROTONOSUPPORT;
	if (cmd->buffer_error || cmd->hdr.attrs[0].attr_id != SMR_ATTR_DOORBELL_FD ||
	    cmd->hdr.attrs[0].len != sizeof(fd))
		return EINVAL;
	fd = memfd_create("doorbell", MFD_CLOEXEC);
	fake.bell_fd = fd;
	memcpy((void *)(uintptr_t)cmd->hdr.attrs[0].data, &fd, sizeof(fd));
	return 0;
}

static struct smr_srq *fake_srq;

/* A module before SMR_ABI_MINOR_GROWS accepts only an answer of the original length. */
static int fake_resize_srq(const struct ibv_command_buffer *cmd)
{
	bool grows = to_smr_context(fake_context())->abi_minor >=
		     SMR_ABI_MINOR_GROWS;
	struct smr_resize_srq_resp resp = {};
	const struct ib_uverbs_attr *attr, *answer = NULL;
	uint32_t max_wr = 0;
	int ret;

	for (attr = cmd->hdr.attrs; attr < cmd->next_attr; attr++) {
		if (attr->attr_id == SMR_ATTR_RESIZE_MAX_WR)
			max_wr = (uint32_t)attr->data;
		else if (attr->attr_id == SMR_ATTR_RESIZE_LIMIT)
			fake.srq_limit = (uint32_t)attr->data;
		else if (attr->attr_id == SMR_ATTR_RESIZE_RING)
			answer = attr;
		else if (attr->attr_id != SMR_ATTR_RESIZE_SRQ ||
			 attr->data != FAKE_SRQ_HANDLE)
			return EINVAL;
	}
	if (!answer || answer->len != (grows ? sizeof(resp) : sizeof(resp.rq)))
		return EOPNOTSUPP;
	if (!max_wr || max_wr > FAKE_MAX_CQE)
		return EINVAL;
	ret = fake_new_ring(&resp.rq, &resp.map, sizeof(struct smr_recv_wqe),
			    max_wr, &fake_srq->rq.ring);
	if (ret)
		return ret;
	fake_break_ring(&resp.rq, &resp.map);
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
	if (cmd->hdr.object_id == UVERBS_OBJECT_DM &&
	    cmd->hdr.method_id == SMR_METHOD_DM_EXPORT)
		return fake_export_dm(cmd);
	if (cmd->hdr.object_id == UVERBS_OBJECT_SRQ &&
	    cmd->hdr.method_id == SMR_METHOD_SRQ_RESIZE)
		return fake_resize_srq(cmd);
	if (cmd->hdr.object_id != UVERBS_OBJECT_MR ||
	    cmd->hdr.method_id != SMR_METHOD_MR_QUERY_WINDOWS)
		return EINVAL;
	return fake_query_windows(cmd);
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

	(void)context;
	(void)cmd;
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
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
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
	(void)vmr;
	(void)flags;
	(void)pd;
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
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

	(void)context;
	(void)input;
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
	fake.ended++;
	return 0;
}

/* A region of another process */
int ibv_cmd_query_mr(struct ibv_pd *pd, struct verbs_mr *vmr, uint32_t handle)
{
	vmr->ibv_mr.context = pd->context;
	vmr->ibv_mr.pd = pd;
	vmr->ibv_mr.handle = handle;
	return handle == FAKE_MR_HANDLE ? fake.reg_err : EINVAL;
}

int ibv_cmd_reg_mr_ex(struct ibv_pd *pd, struct verbs_mr *vmr,
		      struct ibv_mr_init_attr *attr)
{
	fake.reg = (struct fake_reg){
		.start = (uintptr_t)attr->addr,
		.length = attr->length,
		.fd = -1,
		.access = attr->access,
		.dmah = verbs_get_dmah(attr->dmah)->handle,
	};
	vmr->ibv_mr.context = pd->context;
	return fake.reg_err;
}

int ibv_cmd_alloc_dmah(struct ibv_context *context, struct verbs_dmah *dmah,
		       struct ibv_dmah_init_attr *attr)
{
	(void)attr;
	dmah->dmah.context = context;
	dmah->handle = FAKE_DMAH_HANDLE;
	return fake.reg_err;
}

int ibv_cmd_free_dmah(struct verbs_dmah *dmah)
{
	return dmah->handle == FAKE_DMAH_HANDLE ? fake.reg_err : EINVAL;
}

int ibv_cmd_create_comp_cntr(struct ibv_context *context,
			     struct ibv_comp_cntr *cntr,
			     struct ibv_command_buffer *link)
{
	const struct ib_uverbs_attr *attr = link->hdr.attrs;

	if (fake.reg_err)
		return fake.reg_err;
	fake.cntr_type = SMR_COMP_CNTR_WRS;
	if (link->next_attr > attr) {
		if (link->next_attr != attr + 1 || attr->len != 8 ||
		    attr->attr_id != SMR_ATTR_COMP_CNTR_TYPE)
			return EINVAL;
		fake.cntr_type = attr->data;
	}
	cntr->context = context;
	cntr->handle = FAKE_CNTR_HANDLE;
	return 0;
}

int ibv_cmd_destroy_comp_cntr(struct ibv_comp_cntr *cntr)
{
	return cntr->handle == FAKE_CNTR_HANDLE ? fake.reg_err : EINVAL;
}

int ibv_cmd_alloc_dm(struct ibv_context *context,
		     const struct ibv_alloc_dm_attr *attr, struct verbs_dm *dm,
		     struct ibv_command_buffer *link)
{
	(void)attr;
	(void)link;
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
	(void)cmd;
	(void)cmd_size;
	(void)resp;
	(void)resp_size;
	pd->context = context;
	return 0;
}

int ibv_cmd_dealloc_pd(struct ibv_pd *pd)
{
	(void)pd;
	fake.ended++;
	return 0;
}

int _ibv_query_gid_ex(struct ibv_context *context, uint32_t port_num,
		      uint32_t gid_index, struct ibv_gid_entry *entry,
		      uint32_t flags, size_t entry_size)
{
	(void)context;
	if (port_num != 1 || flags || entry_size != sizeof(*entry))
		return EINVAL;
	if (gid_index > 1)
		return ENODATA;
	entry->gid = fake.gid;
	return 0;
}

int ibv_cmd_create_flow(struct ibv_qp *qp, struct ibv_flow *flow,
			struct ibv_flow_attr *attr, void *more, size_t size)
{
	(void)attr;
	(void)more;
	flow->context = qp->context;
	return size ? EINVAL : fake.reg_err;
}

int ibv_cmd_destroy_flow(struct ibv_flow *flow)
{
	(void)flow;
	return fake.reg_err;
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

	(void)driver;
	(void)cmd;
	(void)cmd_size;
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
	if (attr->qp_type == IBV_QPT_XRC_RECV)
		return 0;
	fake_ring(&full->drv_payload.sq, &full->drv_payload.sq_map,
		  sizeof(struct smr_send_wqe), FAKE_DEPTH);
	if (!attr->srq && attr->qp_type != IBV_QPT_XRC_SEND)
		fake_ring(&full->drv_payload.rq, &full->drv_payload.rq_map,
			  sizeof(struct smr_recv_wqe), FAKE_DEPTH);
	return 0;
}

int ibv_cmd_modify_qp(struct ibv_qp *ibqp, struct ibv_qp_attr *attr,
		      int attr_mask, struct ibv_modify_qp *cmd,
		      size_t cmd_size)
{
	struct smr_qp *qp = to_smr_qp(ibqp);

	(void)cmd;
	(void)cmd_size;
	if (!(attr_mask & IBV_QP_STATE))
		return 0;
	if (attr->qp_state == IBV_QPS_RESET) {
		memset(qp->sq.ring.hdr, 0, sizeof(*qp->sq.ring.hdr));
		memset(qp->rq.ring.hdr, 0, sizeof(*qp->rq.ring.hdr));
	}
	ibqp->state = attr->qp_state;
	return 0;
}

/* A module without SMR_ABI_MINOR_RATE refuses input that is not 0. */
int ibv_cmd_modify_qp_ex(struct ibv_qp *qp, struct ibv_qp_attr *attr,
			 int attr_mask, struct ibv_modify_qp_ex *cmd,
			 size_t cmd_size, struct ib_uverbs_ex_modify_qp_resp *resp,
			 size_t resp_size)
{
	struct usmr_modify_qp *full =
		container_of(cmd, struct usmr_modify_qp, ibv_cmd);

	(void)qp;
	(void)resp;
	(void)resp_size;
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

	(void)cmd;
	(void)cmd_size;
	if (resp_size != sizeof(*full))
		return EINVAL;
	vsrq->srq.context = context;
	vsrq->srq.handle = FAKE_SRQ_HANDLE;
	vsrq->srq_type = attr->srq_type;
	fake_srq = to_smr_srq(&vsrq->srq);
	full->drv_payload.srqn = 23;
	fake_ring(&full->drv_payload.rq, &full->drv_payload.map,
		  sizeof(struct smr_recv_wqe), FAKE_DEPTH);
	fake_break_ring(&full->drv_payload.rq, &full->drv_payload.map);
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

	(void)attr;
	(void)cmd;
	(void)cmd_flags;
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
	fake_ring(&full->drv_payload.cq, &full->drv_payload.map,
		  sizeof(struct smr_cqe), FAKE_DEPTH);
	fake_break_ring(&full->drv_payload.cq, &full->drv_payload.map);
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

	(void)cmd;
	(void)cmd_size;
	if (resp_size != sizeof(*full) || cqe > FAKE_MAX_CQE)
		return EINVAL;
	__atomic_store_n(&fake.resizing, true, __ATOMIC_SEQ_CST);
	usleep(fake.resize_usecs);
	ret = fake_new_ring(&out->cq, &out->map, sizeof(struct smr_cqe), cqe,
			    &to_smr_cq(ibcq)->ring);
	if (ret)
		return ret;
	fake_break_ring(&out->cq, &out->map);
	ibcq->cqe = cqe;
	return 0;
}

int ibv_cmd_destroy_cq(struct ibv_cq *cq)
{
	(void)cq;
	return 0;
}
