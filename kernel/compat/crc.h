/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels in what can be known of crc32_le(). For net/crc.c only. */
#ifndef SMR_COMPAT_CRC_H
#define SMR_COMPAT_CRC_H

#include <linux/crc32.h>
#include <linux/kconfig.h>
#include <linux/types.h>

/* Does it use instructions of the CPU? Since 6.14 it tells; before, arm64's always did. */
static inline bool smr_crc32_le_is_fast(void)
{
#ifdef CRC32_LE_OPTIMIZATION
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
#else
	return IS_ENABLED(CONFIG_ARM64);
#endif
}

#endif /* SMR_COMPAT_CRC_H */
