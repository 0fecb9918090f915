// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * Device memory: allocated, mapped, registered, imported.
 */
#include "softmr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"

/* Device memory */
struct smr_dm {
	struct verbs_dm vdm;	/* libibverbs' part */
	uint8_t *map;		/* where it is mapped */
	size_t map_size;	/* bytes mapped */
	uint64_t length;	/* in bytes */
};

static struct smr_dm *to_smr_dm(struct ibv_dm *dm)
{
	return container_of(dm, struct smr_dm, vdm.dm);
}

enum {
	/* the granularity of access, as on other devices */
	SMR_DM_ALIGNMENT = 4,
};

static int check_range(const struct smr_dm *dm, uint64_t offset, size_t length)
{
	struct ibv_context *context = dm->vdm.dm.context;

	if ((offset | length) % SMR_DM_ALIGNMENT)
		return smr_refuse(context, 0, DM_UNALIGNED, offset, length);
	if (offset > dm->length || length > dm->length - offset)
		return smr_refuse(context, 0, DM_RANGE, offset, length, dm->length);
	return 0;
}

static int memcpy_to_dm(struct ibv_dm *ibdm, uint64_t offset, const void *from, size_t length)
{
	struct smr_dm *dm = to_smr_dm(ibdm);
	int ret = check_range(dm, offset, length);

	if (!ret && length)
		memcpy(dm->map + offset, from, length);
	return ret;
}

static int memcpy_from_dm(void *to, struct ibv_dm *ibdm, uint64_t offset, size_t length)
{
	struct smr_dm *dm = to_smr_dm(ibdm);
	int ret = check_range(dm, offset, length);

	if (!ret && length)
		memcpy(to, dm->map + offset, length);
	return ret;
}

/* Ask the kernel for the offset, and map it. */
static int map_dm(struct ibv_context *context, struct smr_dm *dm, uint32_t handle)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DM, SMR_METHOD_DM_QUERY, 2);
	struct smr_dm_info info;
	void *map;
	int ret;

	fill_attr_in_obj(cmd, SMR_ATTR_DM_QUERY_DM, handle);
	fill_attr_out_ptr(cmd, SMR_ATTR_DM_QUERY_INFO, &info);
	ret = execute_ioctl(context, cmd);
	if (ret)
		return ret;
	map = mmap(NULL, info.mmap_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		   context->cmd_fd, (off_t)info.mmap_offset);
	if (map == MAP_FAILED)
		return errno;
	ret = ibv_dontfork_range(map, info.mmap_size);
	if (ret) {
		munmap(map, info.mmap_size);
		return ENOMEM;
	}
	dm->map = map;
	dm->map_size = info.mmap_size;
	dm->length = info.length;
	dm->vdm.dm.memcpy_to_dm = memcpy_to_dm;
	dm->vdm.dm.memcpy_from_dm = memcpy_from_dm;
	return 0;
}

struct ibv_dm *smr_alloc_dm(struct ibv_context *context, struct ibv_alloc_dm_attr *attr)
{
	struct smr_dm *dm;
	int ret;

	if (attr->comp_mask) {
		errno = smr_refuse(context, 0, FIELDS_INVALID, attr->comp_mask, attr->comp_mask);
		return NULL;
	}
	dm = smr_zalloc(context, sizeof(*dm));
	if (!dm)
		return NULL;
	ret = ibv_cmd_alloc_dm(context, attr, &dm->vdm, NULL);
	if (ret)
		goto err_free;
	ret = map_dm(context, dm, dm->vdm.handle);
	if (ret)
		goto err_dealloc;
	return &dm->vdm.dm;

err_dealloc:
	ibv_cmd_free_dm(&dm->vdm);
err_free:
	free(dm);
	errno = ret;
	return NULL;
}

void smr_unimport_dm(struct ibv_dm *ibdm)
{
	struct smr_dm *dm = to_smr_dm(ibdm);

	ibv_dofork_range(dm->map, dm->map_size);
	munmap(dm->map, dm->map_size);
	free(dm);
}

int smr_free_dm(struct ibv_dm *dm)
{
	int ret = smr_ended(dm->context, 0, SMR_KIND_DM, ibv_cmd_free_dm(&to_smr_dm(dm)->vdm));

	if (!ret)
		smr_unimport_dm(dm);
	return ret;
}

struct ibv_dm *smr_import_dm(struct ibv_context *context, uint32_t handle)
{
	struct smr_dm *dm = smr_zalloc(context, sizeof(*dm));
	int ret;

	if (!dm)
		return NULL;
	ret = map_dm(context, dm, handle);
	if (ret) {
		free(dm);
		errno = ret;
		return NULL;
	}
	dm->vdm.dm.context = context;
	dm->vdm.handle = handle;
	dm->vdm.dm.handle = handle;
	return &dm->vdm.dm;
}

struct ibv_mr *smr_reg_dm_mr(struct ibv_pd *pd, struct ibv_dm *dm,
			     uint64_t offset, size_t length,
			     unsigned int access)
{
	struct verbs_mr *vmr = smr_zalloc(pd->context, sizeof(*vmr));
	int ret;

	if (!vmr)
		return NULL;
	ret = ibv_cmd_reg_dm_mr(pd, &to_smr_dm(dm)->vdm, offset, length, access, vmr, NULL);
	if (ret) {
		free(vmr);
		errno = ret;
		return NULL;
	}
	return &vmr->ibv_mr;
}
