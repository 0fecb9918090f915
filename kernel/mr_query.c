// SPDX-License-Identifier: GPL-2.0
#include "mr_query.h"

#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "mr.h"
#include "mw.h"
#include "uapi/softmr-abi.h"

/* Nobody reads more about one region at a time. */
#define WINDOWS_MAX	4096

static void window_to_abi(const struct smr_mw_info *info,
			  struct smr_abi_window *out)
{
	*out = (struct smr_abi_window) {
		.handle = info->handle,
		.rkey = info->rkey,
		.type = info->type,
		.qpn = info->qpn,
		.addr = info->addr,
		.length = info->length,
		.access = info->access,
	};
}

/* Give the first @n windows to the process, in its own layout. */
static int copy_windows(struct uverbs_attr_bundle *attrs,
			const struct smr_mw_info *infos, u32 n)
{
	struct smr_abi_window *out;
	int ret;
	u32 i;

	out = kvcalloc(n, sizeof(*out), GFP_KERNEL_ACCOUNT);
	if (!out)
		return -ENOMEM;
	for (i = 0; i < n; i++)
		window_to_abi(&infos[i], &out[i]);
	ret = uverbs_copy_to(attrs, SMR_ATTR_WINDOWS_ARRAY, out,
			     n * sizeof(*out));
	kvfree(out);
	return ret;
}

static int query_windows(struct uverbs_attr_bundle *attrs, struct smr_mr *mr,
			 u32 room, u32 *total)
{
	struct smr_mw_info *infos;
	int ret = 0;

	if (!room) {
		*total = smr_mw_list(mr, NULL, 0);
		return 0;
	}
	infos = kvcalloc(room, sizeof(*infos), GFP_KERNEL_ACCOUNT);
	if (!infos)
		return -ENOMEM;
	*total = smr_mw_list(mr, infos, room);
	if (*total)
		ret = copy_windows(attrs, infos, min(*total, room));
	kvfree(infos);
	return ret;
}

static int UVERBS_HANDLER(SMR_METHOD_MR_QUERY_WINDOWS)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *ibmr = uverbs_attr_get_obj(attrs, SMR_ATTR_WINDOWS_MR);
	u32 room = 0, total;
	int ret;

	if (uverbs_attr_is_valid(attrs, SMR_ATTR_WINDOWS_ARRAY)) {
		ret = uverbs_attr_ptr_get_array_size(attrs,
						     SMR_ATTR_WINDOWS_ARRAY,
						     sizeof(struct smr_abi_window));
		if (ret < 0)
			return ret;
		room = min_t(u32, ret, WINDOWS_MAX);
	}
	ret = query_windows(attrs, to_smr_mr(ibmr), room, &total);
	return ret ?: uverbs_copy_to(attrs, SMR_ATTR_WINDOWS_TOTAL, &total,
				     sizeof(total));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_MR_QUERY_WINDOWS,
			    UVERBS_ATTR_IDR(SMR_ATTR_WINDOWS_MR,
					    UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WINDOWS_ARRAY,
						UVERBS_ATTR_MIN_SIZE(0),
						UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WINDOWS_TOTAL,
						UVERBS_ATTR_TYPE(u32),
						UA_MANDATORY));

ADD_UVERBS_METHODS(smr_mr_methods, UVERBS_OBJECT_MR,
		   &UVERBS_METHOD(SMR_METHOD_MR_QUERY_WINDOWS));

const struct uapi_definition smr_mr_query_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &smr_mr_methods),
	{}
};

/**
 * smr_mr_query_fill() - add softmr's part to `rdma resource show mr -dd`
 * @msg: the message
 * @ibmr: the region
 *
 * Context: process.
 * Return: 0 or -EMSGSIZE.
 */
int smr_mr_query_fill(struct sk_buff *msg, struct ib_mr *ibmr)
{
	u32 windows = smr_mw_list(to_smr_mr(ibmr), NULL, 0);
	struct nlattr *table;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	if (rdma_nl_put_driver_u32(msg, "windows", windows)) {
		nla_nest_cancel(msg, table);
		return -EMSGSIZE;
	}
	nla_nest_end(msg, table);
	return 0;
}
