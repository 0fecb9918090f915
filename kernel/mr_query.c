// SPDX-License-Identifier: GPL-2.0
/*
 * Reports about a region: the windows bound to it, and softmr's part of `rdma resource show
 * mr`.
 */
#include "mr_query.h"

#include <linux/err.h>
#include <linux/slab.h>
#include <rdma/restrack.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/cleanup.h"
#include "compat/udata.h"
#include "mem.h"
#include "mr.h"
#include "mw.h"
#include "uapi/softmr-abi.h"

/* An entry of the first version of the ABI */
#define WINDOW_MIN	offsetofend(struct smr_abi_window, flags)

/* Get the size of an entry that the provider knows. */
static int window_size(struct uverbs_attr_bundle *attrs, u32 *size)
{
	int ret;

	*size = WINDOW_MIN;
	if (!uverbs_attr_is_valid(attrs, SMR_ATTR_WINDOWS_SIZE))
		return 0;
	ret = uverbs_copy_from_or_zero(size, attrs, SMR_ATTR_WINDOWS_SIZE);
	if (ret)
		return ret;
	return *size < WINDOW_MIN || *size % sizeof(u64) ? -EINVAL : 0;
}

/* Copy entries to the entry size that the provider knows; @to is zeroed. */
static void windows_resize(const struct smr_abi_window *from, u32 n, void *to,
			   u32 size)
{
	u32 i;

	for (i = 0; i < n; i++)
		memcpy(to + i * size, &from[i], min_t(u32, size, sizeof(*from)));
}

/*
 * Copy the windows from @page->next on, as many as fit into the process's array. The
 * attribute's length has 16 bits, which bounds what is allocated.
 */
static int copy_windows(struct uverbs_attr_bundle *attrs, struct smr_mr *mr,
			struct smr_windows_page *page)
{
	struct smr_abi_window *list;
	int room, ret;
	void *out;
	u32 size;

	ret = window_size(attrs, &size);
	if (ret)
		return ret;
	room = uverbs_attr_ptr_get_array_size(attrs, SMR_ATTR_WINDOWS_ARRAY,
					      size);
	if (room <= 0)
		return room;
	list = kvcalloc(room, sizeof(*list), GFP_KERNEL_ACCOUNT);
	out = kvcalloc(room, size, GFP_KERNEL_ACCOUNT);
	if (list && out) {
		page->count = smr_mw_list(mr, &page->next, list, room);
		windows_resize(list, page->count, out, size);
		if (page->count)
			ret = uverbs_copy_to(attrs, SMR_ATTR_WINDOWS_ARRAY, out,
					     page->count * size);
	} else {
		ret = -ENOMEM;
	}
	kvfree(out);
	kvfree(list);
	return ret;
}

static int UVERBS_HANDLER(SMR_METHOD_MR_QUERY_WINDOWS)(struct uverbs_attr_bundle *attrs)
{
	struct ib_mr *ibmr = uverbs_attr_get_obj(attrs, SMR_ATTR_WINDOWS_MR);
	struct smr_windows_page page = {};
	u32 total;
	int ret;

	if (uverbs_attr_is_valid(attrs, SMR_ATTR_WINDOWS_FROM)) {
		ret = uverbs_copy_from_or_zero(&page.next, attrs,
					       SMR_ATTR_WINDOWS_FROM);
		if (ret)
			return ret;
	}
	if (uverbs_attr_is_valid(attrs, SMR_ATTR_WINDOWS_ARRAY)) {
		ret = copy_windows(attrs, to_smr_mr(ibmr), &page);
		if (ret)
			return ret;
	}
	if (uverbs_attr_is_valid(attrs, SMR_ATTR_WINDOWS_PAGE)) {
		ret = uverbs_copy_to_struct_or_zero(attrs,
						    SMR_ATTR_WINDOWS_PAGE,
						    &page, sizeof(page));
		if (ret)
			return ret;
	}
	total = smr_mr_windows(to_smr_mr(ibmr));
	return uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_WINDOWS_TOTAL,
					     &total, sizeof(total));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_MR_QUERY_WINDOWS,
			    UVERBS_ATTR_IDR(SMR_ATTR_WINDOWS_MR,
					    UVERBS_OBJECT_MR,
					    UVERBS_ACCESS_READ, UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WINDOWS_ARRAY,
						UVERBS_ATTR_MIN_SIZE(0),
						UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WINDOWS_TOTAL,
						SMR_ATTR_NUMBER(u32),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_WINDOWS_FROM,
					       SMR_ATTR_NUMBER(u64),
					       UA_OPTIONAL),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_WINDOWS_SIZE,
					       SMR_ATTR_NUMBER(u32),
					       UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WINDOWS_PAGE,
						UVERBS_ATTR_STRUCT(struct smr_windows_page,
								   rsvd),
						UA_OPTIONAL));

ADD_UVERBS_METHODS(smr_mr_methods, UVERBS_OBJECT_MR,
		   &UVERBS_METHOD(SMR_METHOD_MR_QUERY_WINDOWS));

const struct uapi_definition smr_mr_query_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_MR, &smr_mr_methods),
	{}
};

/* The memory behind a region of a process, with a reference; or NULL */
static struct smr_mem *mr_mem_get(struct smr_mr *mr)
{
	guard(spinlock_bh)(&mr->lock);
	if (!mr->ibmr.uobject || mr->fast || mr->state != SMR_MR_VALID)
		return NULL;
	smr_mem_get(mr->key.mem);
	return mr->key.mem;
}

static int put_mem(struct sk_buff *msg, struct smr_mem *mem)
{
	struct smr_mem_look look;

	smr_mem_look(mem, &look);
	if (rdma_nl_put_driver_string(msg, "memory", mem->ops->name) ||
	    rdma_nl_put_driver_u64(msg, "present_bytes", look.present) ||
	    rdma_nl_put_driver_u64(msg, "faults", look.faults) ||
	    rdma_nl_put_driver_u64(msg, "bytes", atomic64_read(&mem->moved)))
		return -EMSGSIZE;
	return 0;
}

/* Add softmr's part to `rdma resource show mr -dd`. Returns 0 or -EMSGSIZE. */
int smr_mr_query_fill(struct sk_buff *msg, struct ib_mr *ibmr)
{
	struct smr_mr *mr = to_smr_mr(ibmr);
	struct nlattr *table;
	struct smr_mem *mem;
	int ret;

	table = nla_nest_start(msg, RDMA_NLDEV_ATTR_DRIVER);
	if (!table)
		return -EMSGSIZE;
	ret = rdma_nl_put_driver_u32(msg, "windows", smr_mr_windows(mr));
	mem = mr_mem_get(mr);
	if (mem) {
		if (!ret)
			ret = put_mem(msg, mem);
		smr_mem_put(mem);
	}
	if (ret) {
		nla_nest_cancel(msg, table);
		return ret;
	}
	nla_nest_end(msg, table);
	return 0;
}
