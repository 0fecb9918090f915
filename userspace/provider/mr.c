// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions. The kernel checks everything; the provider only keeps the
 * struct as long as the kernel keeps the registration.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

/* The result of a registration after its command: the MR, or NULL and errno. */
static struct ibv_mr *outcome(struct verbs_mr *vmr, int err)
{
	if (!err)
		return &vmr->ibv_mr;
	free(vmr);
	errno = err;
	return NULL;
}

/* A length of SIZE_MAX asks for all of the address space (implicit ODP). */
struct ibv_mr *smr_reg_mr(struct ibv_pd *pd, void *addr, size_t length, uint64_t hca_va, int access)
{
	struct verbs_mr *vmr = smr_zalloc(pd->context, sizeof(*vmr));
	struct ib_uverbs_reg_mr_resp resp = {};
	struct ibv_reg_mr cmd = {};

	if (!vmr)
		return NULL;
	return outcome(vmr, ibv_cmd_reg_mr(pd, addr, length, hca_va, access,
					   vmr, &cmd, sizeof(cmd), &resp,
					   sizeof(resp)));
}

struct ibv_mr *smr_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct verbs_mr *vmr = smr_zalloc(pd->context, sizeof(*vmr));

	if (!vmr)
		return NULL;
	return outcome(vmr, ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr, NULL));
}

struct ibv_mr *smr_reg_mr_ex(struct ibv_pd *pd, struct ibv_mr_init_attr *attr)
{
	const uint64_t known = IBV_REG_MR_MASK_IOVA | IBV_REG_MR_MASK_ADDR |
			       IBV_REG_MR_MASK_FD | IBV_REG_MR_MASK_FD_OFFSET;
	uint64_t mask = attr->comp_mask;
	/* a dma-buf has no address that could be the default iova */
	uint64_t needed = mask & IBV_REG_MR_MASK_FD ?
				  IBV_REG_MR_MASK_FD_OFFSET |
					  IBV_REG_MR_MASK_IOVA :
				  IBV_REG_MR_MASK_ADDR;
	uint64_t foreign = mask & IBV_REG_MR_MASK_FD ?
				   IBV_REG_MR_MASK_ADDR :
				   IBV_REG_MR_MASK_FD_OFFSET;

	if (mask & ~known) {
		errno = smr_refuse(pd->context, 0, FIELDS_UNKNOWN, mask, mask & ~known);
		return NULL;
	}
	if ((mask & needed) != needed || mask & foreign) {
		errno = smr_refuse(pd->context, 0, MR_ATTRS, mask);
		return NULL;
	}
	if (mask & IBV_REG_MR_MASK_FD)
		return smr_reg_dmabuf_mr(pd, attr->fd_offset, attr->length,
					 attr->iova, attr->fd, attr->access);
	return smr_reg_mr(pd, attr->addr, attr->length,
			  mask & IBV_REG_MR_MASK_IOVA ? attr->iova :
							(uintptr_t)attr->addr,
			  attr->access);
}

/*
 * The keys follow, and libibverbs updates the rest on success. vmr->access does not change: with it ibv_dereg_mr() undoes what
 * the registration did.
 */
int smr_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		 void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct ibv_rereg_mr cmd = {};

	return ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
				access, pd, &cmd, sizeof(cmd), &resp,
				sizeof(resp));
}

/* Its addr is unknown in this process. */
struct ibv_mr *smr_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr = smr_zalloc(pd->context, sizeof(*vmr));

	if (!vmr)
		return NULL;
	return outcome(vmr, ibv_cmd_query_mr(pd, vmr, handle));
}

void smr_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}

int smr_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (!ret)
		free(vmr);
	return ret;
}
