// SPDX-License-Identifier: GPL-2.0
/* The ioctl method by which a process reads the last refusals of its context. */
#include "why_query.h"

#include <linux/err.h>
#include <linux/minmax.h>
#include <linux/slab.h>
#include <linux/string.h>
#include <rdma/uverbs_ioctl.h>
#include <rdma/uverbs_types.h>

#define UVERBS_MODULE_NAME softmr
#include <rdma/uverbs_named_ioctl.h>

#include "compat/udata.h"
#include "ucontext.h"
#include "why.h"

/* The ids from here on are not those of verbs */
#define SMR_WHY_NO_VERB	0x1000

/* An entry of the first version of the ABI */
#define ENTRY_MIN	offsetofend(struct smr_abi_why, num)

/*
 * Copies as many refusals as fit into the array, with the entry size that the provider knows.
 * The attribute's length has 16 bits, which bounds what is allocated.
 */
static int copy_refusals(struct uverbs_attr_bundle *attrs,
			 struct smr_why_log *log, u64 from, u32 *count)
{
	struct smr_abi_why rec;
	int room, ret;
	void *out;
	u32 size;

	ret = uverbs_copy_from_or_zero(&size, attrs, SMR_ATTR_WHY_SIZE);
	if (ret)
		return ret;
	if (size < ENTRY_MIN || size % sizeof(u64))
		return -EINVAL;
	room = uverbs_attr_ptr_get_array_size(attrs, SMR_ATTR_WHY_ARRAY, size);
	if (room <= 0)
		return room;
	out = kvcalloc(room, size, GFP_KERNEL_ACCOUNT);
	if (!out)
		return -ENOMEM;
	for (*count = 0; *count < room; ++*count) {
		if (!smr_why_read(log, from, &rec))
			break;
		from = rec.seq;
		memcpy(out + *count * size, &rec, min_t(u32, size, sizeof(rec)));
	}
	if (*count)
		ret = uverbs_copy_to(attrs, SMR_ATTR_WHY_ARRAY, out,
				     *count * size);
	kvfree(out);
	return ret;
}

static int UVERBS_HANDLER(SMR_METHOD_WHY_READ)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	u32 count = 0;
	u64 from = 0;
	int ret;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	if (uverbs_attr_is_valid(attrs, SMR_ATTR_WHY_FROM)) {
		ret = uverbs_copy_from_or_zero(&from, attrs, SMR_ATTR_WHY_FROM);
		if (ret)
			return ret;
	}
	ret = copy_refusals(attrs, smr_uctx_whys(uctx), from, &count);
	return ret ?: uverbs_copy_to_struct_or_zero(attrs, SMR_ATTR_WHY_COUNT,
						    &count, sizeof(count));
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_WHY_READ,
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_WHY_FROM,
					       SMR_ATTR_NUMBER(u64),
					       UA_OPTIONAL),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WHY_ARRAY,
						UVERBS_ATTR_MIN_SIZE(0),
						UA_MANDATORY),
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_WHY_SIZE,
					       SMR_ATTR_NUMBER(u32),
					       UA_MANDATORY),
			    UVERBS_ATTR_PTR_OUT(SMR_ATTR_WHY_COUNT,
						SMR_ATTR_NUMBER(u32),
						UA_MANDATORY));

/* The reason is not verified: only the process itself, and readers of its log, see it. */
static int UVERBS_HANDLER(SMR_METHOD_WHY_NOTE)(struct uverbs_attr_bundle *attrs)
{
	struct ib_ucontext *uctx = ib_uverbs_get_ucontext(attrs);
	struct smr_reason why = { .nr = SMR_WHY_NUMBERS };
	struct smr_why_note note;
	int ret;

	if (IS_ERR(uctx))
		return PTR_ERR(uctx);
	ret = uverbs_copy_from(&note, attrs, SMR_ATTR_WHY_NOTE);
	if (ret)
		return ret;
	if (!note.id || note.id >= SMR_WHY_NO_VERB || !note.error ||
	    note.error > MAX_ERRNO || note.rsvd)
		return -EINVAL;
	why.id = note.id;
	memcpy(why.num, note.num, sizeof(why.num));
	smr_why_verb(smr_uctx_whys(uctx), note.qpn, -(int)note.error, why);
	return 0;
}

DECLARE_UVERBS_NAMED_METHOD(SMR_METHOD_WHY_NOTE,
			    UVERBS_ATTR_PTR_IN(SMR_ATTR_WHY_NOTE,
					       UVERBS_ATTR_STRUCT(struct smr_why_note,
								  num),
					       UA_MANDATORY));

ADD_UVERBS_METHODS(smr_why_methods, UVERBS_OBJECT_DEVICE,
		   &UVERBS_METHOD(SMR_METHOD_WHY_READ),
		   &UVERBS_METHOD(SMR_METHOD_WHY_NOTE));

const struct uapi_definition smr_why_query_uapi[] = {
	UAPI_DEF_CHAIN_OBJ_TREE(UVERBS_OBJECT_DEVICE, &smr_why_methods),
	{}
};
