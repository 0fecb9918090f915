// SPDX-License-Identifier: GPL-2.0
#include <rdma/uverbs_ioctl.h>
int probe(struct ib_udata *udata);
int probe(struct ib_udata *udata)
{
	return ib_is_udata_in_empty(udata) ?: ib_respond_udata(udata, *udata) ?:
	       ib_respond_empty_udata(udata) ?: ib_no_udata_io(udata);
}
