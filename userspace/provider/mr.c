// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Memory regions. The kernel checks everything; this side only keeps the struct
 * for as long as the kernel keeps the registration.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>

/**
 * smr_reg_mr - register memory
 * @pd: the protection domain
 * @addr: where the memory begins
 * @length: bytes; SIZE_MAX asks for all of the address space (implicit ODP)
 * @hca_va: the address that work requests will use for @addr
 * @access: enum ibv_access_flags
 *
 * Return: the MR, or NULL and errno.
 */
struct ibv_mr *smr_reg_mr(struct ibv_pd *pd, void *addr, size_t length,
			  uint64_t hca_va, int access)
{
	struct ib_uverbs_reg_mr_resp resp = {};
	struct ibv_reg_mr cmd = {};
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_mr(pd, addr, length, hca_va, access, vmr, &cmd,
			     sizeof(cmd), &resp, sizeof(resp));
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/**
 * smr_reg_dmabuf_mr - register a part of a dma-buf
 * @pd: the protection domain
 * @offset: where in the buffer the region begins
 * @length: bytes
 * @iova: the address that work requests will use for @offset
 * @fd: the dma-buf
 * @access: enum ibv_access_flags
 *
 * Return: the MR, or NULL and errno.
 */
struct ibv_mr *smr_reg_dmabuf_mr(struct ibv_pd *pd, uint64_t offset,
				 size_t length, uint64_t iova, int fd,
				 int access)
{
	struct verbs_mr *vmr;
	int ret;

	vmr = calloc(1, sizeof(*vmr));
	if (!vmr)
		return NULL;

	ret = ibv_cmd_reg_dmabuf_mr(pd, offset, length, iova, fd, access, vmr,
				    NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/**
 * smr_rereg_mr - change a registration
 * @vmr: the MR; its keys follow, libibverbs updates the rest on success
 * @flags: what changes, enum ibv_rereg_mr_flags
 * @pd: the new protection domain
 * @addr: the new start, which is also the new iova
 * @length: the new length
 * @access: the new rights
 */
int smr_rereg_mr(struct verbs_mr *vmr, int flags, struct ibv_pd *pd,
		 void *addr, size_t length, int access)
{
	struct ib_uverbs_rereg_mr_resp resp = {};
	struct ibv_rereg_mr cmd = {};
	int ret;

	ret = ibv_cmd_rereg_mr(vmr, flags, addr, length, (uintptr_t)addr,
			       access, pd, &cmd, sizeof(cmd), &resp,
			       sizeof(resp));
	if (!ret && (flags & IBV_REREG_MR_CHANGE_ACCESS))
		vmr->access = access;
	return ret;
}

/**
 * smr_import_mr - use a region that another process has registered
 * @pd: its protection domain, imported
 * @handle: the region's
 *
 * Return: the MR, whose addr is unknown in this process; or NULL and errno.
 */
struct ibv_mr *smr_import_mr(struct ibv_pd *pd, uint32_t handle)
{
	struct verbs_mr *vmr = calloc(1, sizeof(*vmr));
	int ret;

	if (!vmr)
		return NULL;
	ret = ibv_cmd_query_mr(pd, vmr, handle);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}

/**
 * smr_unimport_mr - forget an imported region, which lives on
 * @mr: the MR
 */
void smr_unimport_mr(struct ibv_mr *mr)
{
	free(container_of(mr, struct verbs_mr, ibv_mr));
}

/**
 * smr_dereg_mr - drop a registration
 * @vmr: the MR; with EBUSY (a window is bound to it) it stays as it is
 */
int smr_dereg_mr(struct verbs_mr *vmr)
{
	int ret = ibv_cmd_dereg_mr(vmr);

	if (!ret)
		free(vmr);
	return ret;
}
