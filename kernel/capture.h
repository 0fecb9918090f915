/* SPDX-License-Identifier: GPL-2.0 */
/* The files from which a process reads the packets of its user's QPs. */
#ifndef SMR_CAPTURE_H
#define SMR_CAPTURE_H

#include <rdma/uverbs_ioctl.h>

struct smr_ucontext;

void smr_captures_end(struct smr_ucontext *ctx);
void smr_captures_fini(void);

extern const struct uapi_definition smr_capture_uapi[];

#endif /* SMR_CAPTURE_H */
