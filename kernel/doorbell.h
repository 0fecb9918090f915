/* SPDX-License-Identifier: GPL-2.0 */
/* The doorbell of an open context: a file. */
#ifndef SMR_DOORBELL_H
#define SMR_DOORBELL_H

#include <linux/types.h>
#include <rdma/uverbs_ioctl.h>

struct smr_bell;
struct smr_qptab;

extern const struct uapi_definition smr_bell_uapi[];

struct smr_bell *smr_bell_create(struct smr_qptab *tab, u64 context);
void smr_bell_silence(struct smr_bell *bell);
void smr_bell_end(struct smr_bell *bell);

#endif /* SMR_DOORBELL_H */
