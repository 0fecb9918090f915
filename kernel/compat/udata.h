/* SPDX-License-Identifier: GPL-2.0 */
/* The driver's part of a verbs command: input and response. */
#ifndef SMR_COMPAT_UDATA_H
#define SMR_COMPAT_UDATA_H

#include <linux/minmax.h>
#include <linux/uaccess.h>
#include <rdma/ib_verbs.h>
#include <rdma/uverbs_ioctl.h>

#include "generated.h"

/*
 * Newer cores have functions for the compatibility of providers and modules of different
 * versions: see struct ib_udata there, and Documentation/abi.rst. These do the same on older
 * cores, under the same names, even if such a core has a part of them.
 */
#ifndef HAVE_IB_NO_UDATA_IO
static inline int smr_compat_udata_in_empty(const struct ib_udata *udata)
{
	int ret;

	if (!udata || !udata->inlen)
		return 0;
	ret = check_zeroed_user(udata->inbuf, udata->inlen);
	if (ret < 0)
		return ret;
	return ret ? 0 : -EOPNOTSUPP;
}

static inline int smr_compat_respond(const struct ib_udata *udata,
				     const void *resp, size_t len)
{
	size_t n = min(len, udata->outlen);

	if (copy_to_user(udata->outbuf, resp, n) ||
	    clear_user(udata->outbuf + n, udata->outlen - n))
		return -EFAULT;
	return 0;
}

static inline int smr_compat_respond_empty(const struct ib_udata *udata)
{
	return udata ? smr_compat_respond(udata, NULL, 0) : 0;
}

static inline int smr_compat_no_io(const struct ib_udata *udata)
{
	int ret = smr_compat_udata_in_empty(udata);

	return ret ?: smr_compat_respond_empty(udata);
}

#undef ib_respond_udata
#define ib_is_udata_in_empty(udata)	smr_compat_udata_in_empty(udata)
#define ib_respond_udata(udata, resp) \
	smr_compat_respond(udata, &(resp), sizeof(resp))
#define ib_respond_empty_udata(udata)	smr_compat_respond_empty(udata)
#define ib_no_udata_io(udata)		smr_compat_no_io(udata)
#endif

/*
 * Read the input of a command, which may be shorter or longer: fields that a newer provider
 * adds must be zero.
 */
static inline int smr_compat_udata_in(const struct ib_udata *udata, void *to,
				      size_t len)
{
	int ret;

	if (!udata)
		return 0;
	ret = copy_struct_from_user(to, len, udata->inbuf, udata->inlen);
	return ret == -E2BIG ? -EOPNOTSUPP : ret;
}

/*
 * An integer attribute. A newer provider may use a longer one: further bytes of an input must
 * be zero, and further bytes of an output are set to zero, if it is read by
 * uverbs_copy_from_or_zero() and written by uverbs_copy_to_struct_or_zero().
 */
#define SMR_ATTR_NUMBER(type) \
	.zero_trailing = 1, UVERBS_ATTR_SIZE(sizeof(type), sizeof(type))

#endif /* SMR_COMPAT_UDATA_H */
