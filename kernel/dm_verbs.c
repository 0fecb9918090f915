// SPDX-License-Identifier: GPL-2.0
#include "dm_verbs.h"

#include <linux/err.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "dm.h"
#include "mr.h"
#include "pd.h"
#include "uapi/softmr-abi.h"
#include "verbs.h"

static struct ib_dm *alloc_dm(struct ib_device *ibdev,
			      struct ib_ucontext *uctx,
			      struct ib_dm_alloc_attr *attr,
			      struct uverbs_attr_bundle *attrs)
{
	struct smr_dm *dm = smr_dm_alloc(&to_smr_verbs(ibdev)->dms, uctx, attr);

	return IS_ERR(dm) ? ERR_CAST(dm) : &dm->ibdm;
}

static int dealloc_dm(struct ib_dm *ibdm, struct uverbs_attr_bundle *attrs)
{
	smr_dm_free(to_smr_dm(ibdm));
	return 0;
}

static struct ib_mr *reg_dm_mr(struct ib_pd *pd, struct ib_dm *ibdm,
			       struct ib_dm_mr_attr *attr,
			       struct uverbs_attr_bundle *attrs)
{
	struct smr_mr *mr = smr_mr_reg_dm(to_smr_pd(pd), to_smr_dm(ibdm),
					  attr->offset, attr->length,
					  attr->access_flags);

	return IS_ERR(mr) ? ERR_CAST(mr) : &mr->ibmr;
}

static int UVERBS_HANDLER(SMR_METHOD_DM_QUERY)(struct uverbs_attr_bundle *attrs)
{
	struct ib_dm *ibdm = uverbs_attr_get_obj(attrs, SMR_ATTR_DM_QUERY_DM);
	const struct smr_dm *dm = to_smr_dm(ibdm);
	const struct smr_dm_info info = {
		.mmap_offset = rdma_user_mmap_get_offset(dm->entry),
		.mmap_size = dm->size,
		.length = ibdm->length,
	};

	return uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_DM_QUERY_INFO,
					     &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_DM_QUERY,
			    UVERBS_ATTR_IDR(SMR_ATTR_DM_QUERY_DM,
					    UVERBS_OBJECT_DM,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_DM_QUERY_INFO,
						UVERBS_ATTR_STRUCT(struct smr_dm_info,
								   length),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_dm_methods, UVERBS_OBJECT_DM,
		   &UVERBS_METHOD(SMR_METHOD_DM_QUERY));

const struct uapi_definition smr_dm_verbs_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DM, &smr_dm_methods),
	{}
};

const struct ib_device_ops smr_dm_verbs_ops = {
	.alloc_dm = alloc_dm,
	.dealloc_dm = dealloc_dm,
	.reg_dm_mr = reg_dm_mr,
};
