/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 (IEEE 802.3, least significant bit first), as the ICRC uses it. */
#ifndef SMR_CRC_H
#define SMR_CRC_H

#include <linux/types.h>

struct smr_crc_section;

void smr_crc_init(void);
u32 __must_check smr_crc32(u32 crc, const void *data, size_t len);
int __must_check smr_crc32_copy(u32 *crc, void *to, const void *from,
				size_t len, const void *steady,
				struct smr_crc_section *section);
u32 __must_check smr_crc32_4(u32 crc, u32 octets);
u32 __must_check smr_crc32_2_behind_30(u16 octets);

#endif /* SMR_CRC_H */
