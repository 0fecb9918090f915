/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 (IEEE 802.3, least significant bit first), as the ICRC uses it. */
#ifndef SMR_CRC_H
#define SMR_CRC_H

#include <linux/types.h>

#include "net/crc_fold.h"

void smr_crc_init(void);
u32 __must_check smr_crc32(u32 crc, const void *data, size_t len);
int __must_check smr_crc32_copy_any(u32 *crc, void *to, const void *from,
				    size_t len, const void *steady,
				    struct smr_crc_section *section);
u32 __must_check smr_crc32_head(u32 crc, u16 change, u32 octets);

/**
 * smr_crc32_copy() - copy bytes, and continue a CRC-32 over them
 * @crc: the CRC so far, as for smr_crc32()
 * @to: destination; must not overlap @from
 * @from: the bytes, of any alignment
 * @len: number of bytes
 * @steady: whichever of @to and @from no other CPU writes to, and is cheap to read. If the CRC
 *	has to read the bytes a second time, it reads these
 * @section: of this copy and further ones
 *
 * The CRC is that of the copy, even if another CPU writes to the other buffer concurrently.
 *
 * Return: 0; -EFAULT: there is an uncorrectable memory error in @from, and some of the bytes
 * may have been copied. Where the machine cannot recover (all but x86 with MCA recovery, and
 * powerpc) the error is fatal.
 */
static inline int smr_crc32_copy(u32 *crc, void *to, const void *from, size_t len,
				 const void *steady, struct smr_crc_section *section)
{
	/* Most payloads of a long message can be folded at once. */
	if (len + SMR_CRC_FOLD_LEAST <= section->left && len >= SMR_CRC_FOLD_LEAST &&
	    !(len % SMR_CRC_FOLD_UNIT)) {
		section->left -= len;
		return smr_crc_fold(crc, to, from, len);
	}
	return smr_crc32_copy_any(crc, to, from, len, steady, section);
}

#endif /* SMR_CRC_H */
