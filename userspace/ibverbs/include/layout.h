/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * Differences between the releases of libibverbs, which are found out when the provider is loaded.
 * <infiniband/driver.h> includes this header, so the provider calls functions as in rdma-core's tree. No function can
 * hide that a struct has moved: there the provider calls a function of this header, and scripts/export restores the
 * code of the tree.
 */
#ifndef SMR_IBVERBS_LAYOUT_H
#define SMR_IBVERBS_LAYOUT_H

#include <assert.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/driver.h>

/**
 * struct smr_layout - the common properties of some releases of rdma-core
 * @release: the first of them
 * @number: of the private interface, in verbs_register_driver_NUMBER() and in the provider's file name
 * @front: the number of pointers at the front of struct verbs_context that release 39 did not have
 */
struct smr_layout {
	unsigned int release;
	unsigned int number;
	unsigned int front;
};

/* The libibverbs of this process */
struct smr_libibverbs {
	const struct smr_layout *layout;	/* its layout; NULL: unknown */
	/* its offset in struct verbs_qp, which is the size of struct ibv_qp_ex */
	size_t comp_mask;
};

/* Set before the provider registers itself, and constant from then on */
extern struct smr_libibverbs smr_libibverbs;

/*
 * struct verbs_context grows at its front. libibverbs' struct begins in the room before the one that the provider
 * knows; both end with the same struct ibv_context.
 */
struct smr_layout_room {
	uint64_t words[32];
};

const struct smr_layout *smr_layout_of(unsigned int release);
bool smr_layout_find(struct smr_libibverbs *found);
void smr_layout_register(const struct verbs_device_ops *ops);
void *smr_layout_alloc_context(struct ibv_device *device, int cmd_fd,
			       size_t size, size_t offset, uint32_t driver_id);
struct verbs_context *smr_layout_context(struct verbs_context *vctx);
void smr_layout_uninit_context(struct verbs_context *vctx);
size_t smr_layout_ops(const struct smr_layout *layout,
		      const struct verbs_context_ops *ops, void **table);
void smr_layout_set_ops(struct verbs_context *vctx, const struct verbs_context_ops *ops);
int smr_layout_get_context(struct verbs_context *vctx,
			   struct ibv_get_context *cmd, size_t cmd_size,
			   struct ibv_fd_arr *fds,
			   struct ib_uverbs_get_context_resp *resp,
			   size_t resp_size);
int smr_layout_create_cq_ex(struct ibv_context *context,
			    const struct ibv_cq_init_attr_ex *attr,
			    struct verbs_create_cq_prov_attr *prov_attr,
			    struct verbs_cq *vcq, struct ibv_create_cq_ex *cmd,
			    size_t cmd_size,
			    struct ib_uverbs_ex_create_cq_resp *resp,
			    size_t resp_size, uint32_t flags);
int smr_layout_open_qp(struct ibv_context *context, struct verbs_qp *vqp,
		       struct ibv_qp_open_attr *attr, struct ibv_open_qp *cmd,
		       size_t cmd_size, struct ib_uverbs_create_qp_resp *resp,
		       size_t resp_size);

#define verbs_uninit_context(vctx)		smr_layout_uninit_context(vctx)
#define verbs_set_ops(vctx, ops)		smr_layout_set_ops(vctx, ops)
#define ibv_cmd_get_context(vctx, cmd, cmd_size, fds, resp, resp_size)         \
	smr_layout_get_context(vctx, cmd, cmd_size, fds, resp, resp_size)
#define ibv_cmd_create_cq_ex(context, attr, prov_attr, vcq, cmd, cmd_size,     \
			     resp, resp_size, flags)                           \
	smr_layout_create_cq_ex(context, attr, prov_attr, vcq, cmd, cmd_size,  \
				resp, resp_size, flags)
#define ibv_cmd_open_qp(context, vqp, vqp_size, attr, cmd, cmd_size, resp,     \
			resp_size)                                             \
	smr_layout_open_qp(context, vqp, attr, cmd, cmd_size, resp, resp_size)

/* @ctx has a struct verbs_context as its last member, and a struct smr_layout_room before that. */
#define verbs_init_and_alloc_context(device, cmd_fd, ctx, member, driver_id)   \
	__extension__({                                                        \
		static_assert(offsetof(typeof(*(ctx)), member) >=              \
				      sizeof(struct smr_layout_room),          \
			      "there is no room before " #member);             \
		(typeof(ctx))smr_layout_alloc_context(                         \
			device, cmd_fd, sizeof(*(ctx)),                        \
			offsetof(typeof(*(ctx)), member), driver_id);          \
	})

#define PROVIDER_DRIVER(name, provider_ops)                                    \
	extern const struct verbs_device_ops verbs_provider_##name             \
		__attribute__((alias(#provider_ops)));                         \
	static __attribute__((constructor)) void register_##name(void)         \
	{                                                                      \
		smr_layout_register(&provider_ops);                            \
	}

/* -- functions that the provider calls where rdma-core's tree has a plain member */

void smr_layout_add_comp_mask(struct verbs_qp *vqp, uint32_t bits);
uint64_t smr_layout_send_ops(void);
void smr_layout_set_wr_atomic_write(struct ibv_qp_ex *qpx,
				    void (*fn)(struct ibv_qp_ex *qpx,
					       uint32_t rkey, uint64_t addr,
					       const void *data));
void smr_layout_set_wr_flush(struct ibv_qp_ex *qpx,
			     void (*fn)(struct ibv_qp_ex *qpx, uint32_t rkey,
					uint64_t addr, size_t len, uint8_t type,
					uint8_t level));

#endif /* SMR_IBVERBS_LAYOUT_H */
