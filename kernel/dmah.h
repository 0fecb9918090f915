/* SPDX-License-Identifier: GPL-2.0 */
/* DMA handles. */
#ifndef SMR_DMAH_H
#define SMR_DMAH_H

#include <linux/container_of.h>

#include "compat/ib.h"

struct smr_account;

/**
 * struct smr_dmah - a DMA handle
 * @ibdmah: the core's part, with the hints, which the core has checked
 * @account: of the user that made it; see limits.c
 *
 * Constant. It tells a PCIe device which CPU will use what the device writes, and in
 * which kind of memory that is. The CPU that copies here needs no such hints.
 */
struct smr_dmah {
	struct ib_dmah ibdmah;
	struct smr_account *account;
};

static inline struct smr_dmah *to_smr_dmah(const struct ib_dmah *ibdmah)
{
	return container_of(ibdmah, struct smr_dmah, ibdmah);
}

#endif /* SMR_DMAH_H */
