// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * One provider for all libibverbs from rdma-core 39 on: find out which layout the private interface has in this
 * process, and adapt to it.
 *
 * libibverbs has no function that returns its release, and its file's name need not contain it. Visible are its
 * functions, the place where ibv_qp_to_qp_ex() reads comp_mask and, in a context that it has made, the size of struct
 * verbs_context and the place of its operations. All of these must match one row of the table.
 */
#include <layout.h>

#include <dlfcn.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The functions to register a provider; each libibverbs has one of them. */
#define REGISTER(number)                                                       \
	void verbs_register_driver_##number(const struct verbs_device_ops *ops) \
		__attribute__((weak));
REGISTER(34)
REGISTER(57)
REGISTER(59)
REGISTER(64)
REGISTER(65)
#undef REGISTER

typedef void (*register_fn)(const struct verbs_device_ops *ops);

static register_fn registrar(unsigned int number)
{
	switch (number) {
	case 34:
		return verbs_register_driver_34;
	case 57:
		return verbs_register_driver_57;
	case 59:
		return verbs_register_driver_59;
	case 64:
		return verbs_register_driver_64;
	case 65:
		return verbs_register_driver_65;
	default:
		return NULL;
	}
}

/*
 * functions.def and operations.def say which releases have a function or an operation. Two functions have a new
 * argument in the middle: see below. ibv_cmd_reg_dmabuf_mr() (54) and ibv_cmd_create_qp_ex2() (64) have a new argument
 * at the end. The provider passes NULL, and an older function ignores it: on all of Linux's architectures the caller
 * cleans up.
 */
static const struct smr_layout layouts[] = {
	{ .release = 39, .number = 34 },
	{ .release = 57, .number = 57 },
	{ .release = 59, .number = 59, .front = 3 },
	{ .release = 62, .number = 59, .front = 4 },
	{ .release = 64, .number = 64, .front = 6 },
	{ .release = 65, .number = 65, .front = 6 },
};

enum {
	LAYOUTS = sizeof(layouts) / sizeof(*layouts),
	GET_CONTEXT_FDS = 57,
	CREATE_CQ_PROV_ATTR = 59,
};

struct smr_libibverbs smr_libibverbs;

/* @release: 39 or newer */
const struct smr_layout *smr_layout_of(unsigned int release)
{
	const struct smr_layout *layout = layouts;

	while (layout + 1 < layouts + LAYOUTS && layout[1].release <= release)
		layout++;
	return layout;
}

/* Does this libibverbs have the private functions of a release that the provider calls? */
static bool has_functions(unsigned int release)
{
	static const struct {
		unsigned int release;
		void (*fn)(void);
	} functions[] = {
#define FUNCTION(since, result, name, arguments)                               \
	{ since, (void (*)(void))(name) },
#define UNTIL(before, result, name, arguments)
#include <infiniband/functions.def>
#undef UNTIL
#undef FUNCTION
	};
	size_t i;

	for (i = 0; i < sizeof(functions) / sizeof(*functions); i++)
		if (functions[i].release <= release && !functions[i].fn)
			return false;
	return true;
}

static const struct smr_layout *find_layout(void)
{
	const struct smr_layout *layout;

	/* 59 and 62 have the same number, but only 62 has this function */
	for (layout = layouts + LAYOUTS; layout-- > layouts;)
		if (registrar(layout->number) && has_functions(layout->release))
			return layout;
	return NULL;
}

/* The smallest size of struct ibv_qp_ex: with the functions of release 39 */
static size_t first_qp_ex_size(void)
{
	return offsetof(struct ibv_qp_ex, wr_abort) + sizeof(void *);
}

static uint32_t *comp_mask_at(struct verbs_qp *vqp, size_t offset)
{
	return (uint32_t *)((char *)vqp + offset);
}

/*
 * ibv_qp_to_qp_ex() returns NULL unless comp_mask, which is after struct ibv_qp_ex, has the bit for it. It reads
 * nothing else. Returns 0 if the place is not found.
 */
static size_t find_comp_mask(void)
{
	const size_t behind = 2 * sizeof(void *);
	size_t offset;

	for (offset = first_qp_ex_size(); offset + behind <= SMR_QP_ROOM;
	     offset += sizeof(void *)) {
		struct verbs_qp vqp = {};

		*comp_mask_at(&vqp, offset) = VERBS_QP_EX;
		if (ibv_qp_to_qp_ex(&vqp.qp))
			return offset;
	}
	return 0;
}

/* False: its layout is unknown. */
bool smr_layout_find(struct smr_libibverbs *found)
{
	found->comp_mask = 0;
	found->layout = find_layout();
	if (found->layout)
		found->comp_mask = find_comp_mask();
	return found->comp_mask;
}

/*
 * Print the warning for a program that shows every warning, and if the module is loaded. Other users may have installed
 * the package for later use.
 */
static bool somebody_cares(void)
{
	return getenv("IBV_SHOW_WARNINGS") || !access("/sys/module/softmr", F_OK);
}

static void decline(void)
{
	char path[PATH_MAX] = "libibverbs";
	Dl_info info;

	if (dladdr((void *)(uintptr_t)ibv_get_device_list, &info) &&
	    info.dli_fname && !realpath(info.dli_fname, path))
		snprintf(path, sizeof(path), "%s", info.dli_fname);
	fprintf(stderr,
		"softmr: its devices cannot be used: the private interface of %s is none of those that this softmr knows (rdma-core %u to %u); a newer softmr may know it\n",
		path, layouts[0].release, layouts[LAYOUTS - 1].release);
}

void smr_layout_register(const struct verbs_device_ops *ops)
{
	if (smr_layout_find(&smr_libibverbs))
		registrar(smr_libibverbs.layout->number)(ops);
	else if (somebody_cares())
		decline();
}

/* -- contexts */

static size_t align(size_t size, size_t to)
{
	return (size + to - 1) & ~(to - 1);
}

/* The offset of struct ibv_context, the last member, in a layout's struct verbs_context */
static size_t context_offset(const struct smr_layout *layout)
{
	/* pointers, a 64-bit number, and the size */
	const size_t pointers = 38 + layout->front;
	size_t offset = align(pointers * sizeof(void *), _Alignof(uint64_t));

	offset += sizeof(uint64_t) + sizeof(size_t);
	return align(offset, _Alignof(struct ibv_context));
}

static size_t context_size(const struct smr_layout *layout)
{
	return align(context_offset(layout) + sizeof(struct ibv_context),
		     _Alignof(struct verbs_context));
}

struct verbs_context *smr_layout_context(struct verbs_context *vctx)
{
	return (void *)((char *)&vctx->context - context_offset(smr_libibverbs.layout));
}

enum {
	/* libibverbs may read more than known: there it must find NULLs */
	OPS_ROOM = 256,
};

/* Arrange a provider's operations as in a layout. Return: how many there are. */
size_t smr_layout_ops(const struct smr_layout *layout,
		      const struct verbs_context_ops *ops, void **table)
{
	static const struct {
		unsigned int release;
		size_t offset;
	} places[] = {
#define OP(since, result, name, arguments)                                     \
	{ since, offsetof(struct verbs_context_ops, name) },
#define UNUSED(since, name)	OP(since, , name, )
#include <infiniband/operations.def>
#undef UNUSED
#undef OP
	};
	size_t i, n = 0;

	for (i = 0; i < sizeof(places) / sizeof(*places); i++)
		if (places[i].release <= layout->release)
			memcpy(&table[n++], (const char *)ops + places[i].offset, sizeof(*table));
	return n;
}

void smr_layout_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops)
{
	void *table[OPS_ROOM] = {};

	smr_layout_ops(smr_libibverbs.layout, ops, table);
	(verbs_set_ops)(smr_layout_context(vctx), (const void *)table);
}

/*
 * libibverbs also keeps some operations at the places where programs call them. That shows whether a newer libibverbs
 * has inserted operations between the known ones: the others have moved.
 */
static bool ops_fit(struct verbs_context *vctx)
{
	static char marks[OPS_ROOM];
	const struct verbs_context_ops all = {
#define OP(since, result, name, arguments)                                     \
	.name = (result (*) arguments)(void *)                                 \
		&marks[offsetof(struct verbs_context_ops, name) / sizeof(void *)],
#define UNUSED(since, name)
#include <infiniband/operations.def>
#undef UNUSED
#undef OP
	};
	const struct ibv_context_ops *ops = &vctx->context.ops;

	smr_layout_set_ops(vctx, &all);
	return ops->alloc_mw == all.alloc_mw && ops->bind_mw == all.bind_mw &&
	       ops->poll_cq == all.poll_cq && ops->post_recv == all.post_recv &&
	       ops->post_send == all.post_send &&
	       ops->post_srq_recv == all.post_srq_recv &&
	       ops->req_notify_cq == all.req_notify_cq &&
	       ops->_compat_resize_cq == (void *)all.resize_cq;
}

/* @size: of the provider's struct, which has struct verbs_context at @offset */
void *smr_layout_alloc_context(struct ibv_device *device, int cmd_fd,
			       size_t size, size_t offset, uint32_t driver_id)
{
	const struct smr_layout *layout = smr_libibverbs.layout;
	size_t at = offset + offsetof(struct verbs_context, context) -
		    context_offset(layout);
	struct verbs_context *vctx;
	char *ctx;

	/* the same size after it: it may be longer than known */
	ctx = _verbs_init_and_alloc_context(
		device, cmd_fd, size + sizeof(struct smr_layout_room),
		(void *)at, driver_id);
	if (!ctx)
		return NULL;
	vctx = (void *)(ctx + offset);
	if (vctx->sz == context_size(layout) && ops_fit(vctx))
		return ctx;
	decline();
	(verbs_uninit_context)((void *)(ctx + at));
	free(ctx);
	errno = EPROTO;
	return NULL;
}

void smr_layout_uninit_context(struct verbs_context *vctx)
{
	(verbs_uninit_context)(smr_layout_context(vctx));
}

/* -- functions with a new argument in the middle */

int smr_layout_get_context(struct verbs_context *vctx,
			   struct ibv_get_context *cmd, size_t cmd_size,
			   struct ibv_fd_arr *fds,
			   struct ib_uverbs_get_context_resp *resp,
			   size_t resp_size)
{
	struct verbs_context *context = smr_layout_context(vctx);

	if (smr_libibverbs.layout->release < GET_CONTEXT_FDS)
		return ibv_cmd_get_context_until_57(context, cmd, cmd_size, resp, resp_size);
	return (ibv_cmd_get_context)(context, cmd, cmd_size, fds, resp, resp_size);
}

int smr_layout_create_cq_ex(struct ibv_context *context,
			    const struct ibv_cq_init_attr_ex *attr,
			    struct verbs_create_cq_prov_attr *prov_attr,
			    struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			    size_t cmd_size,
			    struct ib_uverbs_ex_create_cq_resp *resp,
			    size_t resp_size, uint32_t flags)
{
	if (smr_libibverbs.layout->release < CREATE_CQ_PROV_ATTR)
		return ibv_cmd_create_cq_ex_until_59(context, attr, vcq, cmd,
						     cmd_size, resp, resp_size,
						     flags);
	return (ibv_cmd_create_cq_ex)(context, attr, prov_attr, vcq, cmd,
				      cmd_size, resp, resp_size, flags);
}

/* -- queue pairs */

/* libibverbs requires its own size of struct verbs_qp: comp_mask and a pointer are the last members. */
int smr_layout_open_qp(struct ibv_context *context, struct verbs_qp *vqp,
		       struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd,
		       size_t cmd_size, struct ib_uverbs_create_qp_resp *resp,
		       size_t resp_size)
{
	size_t size = smr_libibverbs.comp_mask + 2 * sizeof(void *);

	return (ibv_cmd_open_qp)(context, vqp, (int)size, attr, cmd, cmd_size, resp, resp_size);
}

void smr_layout_add_comp_mask(struct verbs_qp *vqp, uint32_t bits)
{
	*comp_mask_at(vqp, smr_libibverbs.comp_mask) |= bits;
}

enum {
	/* functions of struct ibv_qp_ex that release 39 does not have, in their order */
	WR_ATOMIC_WRITE,
	WR_FLUSH,
};

static bool has_wr(unsigned int which)
{
	return smr_libibverbs.comp_mask >=
	       first_qp_ex_size() + (which + 1) * sizeof(void *);
}

static void set_wr(struct ibv_qp_ex *qpx, unsigned int which, void *fn)
{
	if (has_wr(which))
		memcpy((char *)qpx + first_qp_ex_size() + which * sizeof(fn), &fn, sizeof(fn));
}

/* All operations of QPs except those for which struct ibv_qp_ex has no function */
uint64_t smr_layout_send_ops(void)
{
	uint64_t ops = UINT64_MAX;

	if (!has_wr(WR_ATOMIC_WRITE))
		ops &= ~(uint64_t)IBV_QP_EX_WITH_ATOMIC_WRITE;
	if (!has_wr(WR_FLUSH))
		ops &= ~(uint64_t)IBV_QP_EX_WITH_FLUSH;
	return ops;
}

void smr_layout_set_wr_atomic_write(struct ibv_qp_ex *qpx,
				    void (*fn)(struct ibv_qp_ex *qpx,
					       uint32_t rkey, uint64_t addr,
					       const void *data))
{
	set_wr(qpx, WR_ATOMIC_WRITE, (void *)fn);
}

void smr_layout_set_wr_flush(struct ibv_qp_ex *qpx,
			     void (*fn)(struct ibv_qp_ex *qpx, uint32_t rkey,
					uint64_t addr, size_t len, uint8_t type,
					uint8_t level))
{
	set_wr(qpx, WR_FLUSH, (void *)fn);
}
