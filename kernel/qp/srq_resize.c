// SPDX-License-Identifier: GPL-2.0
#include "qp/srq_resize.h"

#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "qp/srq.h"
#include "uapi/softmr-abi.h"

/*
 * The new ring is in use once the queue has it, so the answer must not fail
 * then: what cannot be written to is found before.
 */
static int UVERBS_HANDLER(SMR_METHOD_SRQ_RESIZE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_srq *ibsrq = uverbs_attr_get_obj(attrs, SMR_ATTR_RESIZE_SRQ);
	struct smr_ring_info info = {};
	struct ib_srq_attr attr = {};
	enum ib_srq_attr_mask mask = IB_SRQ_MAX_WR;
	int ret;

	ret = uverbs_copy_from(&attr.max_wr, attrs, SMR_ATTR_RESIZE_MAX_WR);
	if (ret)
		return ret;
	if (uverbs_attr_is_valid(attrs, SMR_ATTR_RESIZE_LIMIT)) {
		ret = uverbs_copy_from(&attr.srq_limit, attrs,
				       SMR_ATTR_RESIZE_LIMIT);
		if (ret)
			return ret;
		mask |= IB_SRQ_LIMIT;
	}
	ret = uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_RESIZE_RING, &info,
					    sizeof(info));
	if (ret)
		return ret;
	ret = smr_srq_resize(to_smr_srq(ibsrq), attrs->context, &attr, mask,
			     &info);
	return ret ?: uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_RESIZE_RING,
						    &info, sizeof(info));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_SRQ_RESIZE,
			    UVERBS_ATTR_IDR(SMR_ATTR_RESIZE_SRQ,
					    UVERBS_OBJECT_SRQ,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_RESIZE_MAX_WR,
					       UVERBS_ATTR_TYPE(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_RESIZE_LIMIT,
					       UVERBS_ATTR_TYPE(u32),
					       UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_RESIZE_RING,
						UVERBS_ATTR_STRUCT(struct smr_ring_info,
								   max_wr),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_srq_methods, UVERBS_OBJECT_SRQ,
		   &UVERBS_METHOD(SMR_METHOD_SRQ_RESIZE));

const struct uapi_definition smr_srq_resize_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_SRQ, &smr_srq_methods),
	{}
};
