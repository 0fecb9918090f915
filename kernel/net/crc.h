/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 (IEEE 802.3, least significant bit first), as the ICRC uses it. */
#ifndef SMR_CRC_H
#define SMR_CRC_H

#include <linux/types.h>

u32 __must_check smr_crc32(u32 crc, const void *data, size_t len);

#endif /* SMR_CRC_H */
