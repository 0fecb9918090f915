/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in what crc32_le() reports about itself. For net/crc.c only. */
#ifndef SMR_COMPAT_CRC_H
#define SMR_COMPAT_CRC_H

#include <linux/crc32.h>
#include <linux/kconfig.h>
#include <linux/types.h>

/*
 * Does crc32_le() use CPU instructions? Since 6.14 the kernel reports it; before that, arm64's
 * always does.
 */
static inline bool smr_crc32_le_is_fast(void)
{
#ifdef CRC32_LE_OPTIMIZATION
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
#else
	return IS_ENABLED(CONFIG_ARM64);
#endif
}

#endif /* SMR_COMPAT_CRC_H */
