// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
/*
 * The functions for programs that link with the provider. softmrdv.h documents
 * them.
 */
#include <infiniband/softmrdv.h>

#include <errno.h>

#include <infiniband/cmd_ioctl.h>
#include <rdma/ib_user_ioctl_cmds.h>

#include "abi.h"
#include "softmr.h"

/* The kernel fills the caller's array. */
#define ASSERT_SAME_PLACE(_public, _abi)                                       \
	static_assert(offsetof(struct softmrdv_mr_window, _public) ==          \
			      offsetof(struct smr_abi_window, _abi),           \
		      "softmrdv_mr_window." #_public " is not the kernel's")
ASSERT_SAME_PLACE(handle, handle);
ASSERT_SAME_PLACE(rkey, rkey);
ASSERT_SAME_PLACE(type, type);
ASSERT_SAME_PLACE(qp_num, qpn);
ASSERT_SAME_PLACE(addr, addr);
ASSERT_SAME_PLACE(length, length);
ASSERT_SAME_PLACE(access, access);
ASSERT_SAME_PLACE(flags, flags);
SMR_ASSERT_SIZE(smr_abi_window, sizeof(struct softmrdv_mr_window));
SMR_ASSERT_SIZE(smr_windows_page, 16);
SMR_ASSERT_SIZE(smr_captured_packet, sizeof(struct softmrdv_packet));
static_assert(SOFTMRDV_MR_WINDOW_PENDING == (int)SMR_WINDOW_PENDING,
	      "the flags are not the kernel's");
/* The length of an attribute has 16 bits. */
static_assert(SOFTMRDV_MR_WINDOWS_MAX * sizeof(struct smr_abi_window) <=
		      UINT16_MAX,
	      "the windows do not fit into an attribute");

static uint32_t min_u32(uint32_t a, uint32_t b)
{
	return a < b ? a : b;
}

/* The windows from @page->next on, at most @max */
static int query_page(struct ibv_mr *mr, struct softmrdv_mr_window *windows,
		      uint32_t max, struct smr_windows_page *page,
		      uint32_t *total)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_MR,
			       SMR_METHOD_MR_QUERY_WINDOWS, 5);

	fill_attr_in_obj(cmd, SMR_ATTR_WINDOWS_MR, mr->handle);
	fill_attr_out_ptr(cmd, SMR_ATTR_WINDOWS_TOTAL, total);
	fill_attr_in_uint64(cmd, SMR_ATTR_WINDOWS_FROM, page->next);
	fill_attr_out_ptr(cmd, SMR_ATTR_WINDOWS_PAGE, page);
	if (max)
		fill_attr_out_ptr_array(cmd, SMR_ATTR_WINDOWS_ARRAY, windows,
					max);
	return execute_ioctl(mr->context, cmd);
}

/*
 * All pages, as far as there is room. Windows may be bound and unbound between two pages: when all
 * are listed, the total is the number that was listed.
 */
static int query_windows(struct ibv_mr *mr, struct softmrdv_mr_window *windows,
			 uint32_t max, uint32_t *total)
{
	struct smr_windows_page page = {};
	uint32_t n = 0;
	int ret;

	do {
		ret = query_page(mr, windows + n,
				 min_u32(max - n, SOFTMRDV_MR_WINDOWS_MAX),
				 &page, total);
		if (ret)
			return ret;
		n += page.count;
	} while (page.next && n < max);
	if (max && (!page.next || *total < n))
		*total = n;
	return 0;
}

int softmrdv_query_mr_windows(struct ibv_mr *mr,
			      struct softmrdv_mr_window *windows,
			      uint32_t max, uint32_t *total)
{
	uint32_t n = 0;
	int ret;

	if (!mr || !total || (max && !windows))
		return EINVAL;
	if (!softmrdv_is_supported(mr->context->device))
		return EOPNOTSUPP;

	ret = query_windows(mr, windows, max, &n);
	if (!ret)
		*total = n;
	return ret;
}

int softmrdv_query_device(struct ibv_context *context,
			  struct softmrdv_device *device)
{
	if (!context || !device || device->comp_mask)
		return EINVAL;
	if (!softmrdv_is_supported(context->device))
		return EOPNOTSUPP;

	device->abi_version = SMR_ABI_VERSION;
	device->abi_minor = to_smr_context(context)->abi_minor;
	return 0;
}

static_assert(SOFTMRDV_CAPTURE_ALL == (int)SMR_CAPTURE_ALL &&
	      SOFTMRDV_CAPTURE_UNSEEN_V4 == (int)SMR_CAPTURE_UNSEEN_V4 &&
	      SOFTMRDV_CAPTURE_UNSEEN_V6 == (int)SMR_CAPTURE_UNSEEN_V6,
	      "the flags are not the kernel's");

int softmrdv_capture_open(struct ibv_context *context, uint32_t flags, int *fd, uint32_t *unseen)
{
	DECLARE_COMMAND_BUFFER(cmd, UVERBS_OBJECT_DEVICE,
			       SMR_METHOD_CAPTURE_OPEN, 3);
	uint32_t families = 0;
	int32_t opened;
	int ret;

	if (!context || !fd)
		return EINVAL;
	if (!softmrdv_is_supported(context->device))
		return EOPNOTSUPP;

	fill_attr_out_ptr(cmd, SMR_ATTR_CAPTURE_FD, &opened);
	fill_attr_in_uint32(cmd, SMR_ATTR_CAPTURE_FLAGS, flags);
	fill_attr_out_ptr(cmd, SMR_ATTR_CAPTURE_UNSEEN, &families);
	ret = execute_ioctl(context, cmd);
	if (ret)
		return ret;
	*fd = opened;
	if (unseen)
		*unseen = families;
	return 0;
}
