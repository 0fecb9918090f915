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
 * @account: of the user that created it; see limits.c
 *
 * Constant. A handle tells a PCIe device which CPU will use the data that it writes, and the
 * kind of memory. softmr copies by the CPU, and needs no such hints.
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
