/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 by x86's carry-less multiplication, with or without a copy; for net/crc.c. */
#ifndef SMR_CRC_FOLD_H
#define SMR_CRC_FOLD_H

#include <linux/types.h>

/* Minimum number of bytes to fold. */
#define SMR_CRC_FOLD_LEAST	64

#ifdef CONFIG_X86_64
bool smr_crc_fold_open(void);
ssize_t smr_crc_fold(u32 *crc, void *to, const void *from, size_t len);
#else
static inline bool smr_crc_fold_open(void)
{
	return false;
}

static inline ssize_t smr_crc_fold(u32 *crc, void *to, const void *from,
				   size_t len)
{
	return 0;
}
#endif

#endif /* SMR_CRC_FOLD_H */
