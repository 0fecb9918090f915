/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What differs between kernels in how the CPU's instructions for CRC-32 are reached. For
 * net/crc.c only.
 *
 *	smr_crc32_cpu_open()	before first use. False: there are none
 *	smr_crc32_cpu()		as crc32_le(); any context
 *	smr_crc32_cpu_close()	after last use; also where there are none
 */
#ifndef SMR_COMPAT_CRC_H
#define SMR_COMPAT_CRC_H

#include <linux/bits.h>
#include <linux/crc32.h>
#include <linux/types.h>

#if !defined(CRC32_LE_OPTIMIZATION) && defined(CONFIG_X86)
#include <crypto/hash.h>
#include <linux/err.h>

/* Before 6.14 the crypto API had x86's fast code, as a driver of its own. */
static struct crypto_shash *smr_crc32_tfm;

static inline void smr_crc32_cpu_close(void)
{
	crypto_free_shash(smr_crc32_tfm);
	smr_crc32_tfm = NULL;
}

static inline bool smr_crc32_cpu_open(void)
{
	struct crypto_shash *tfm = crypto_alloc_shash("crc32-pclmul", 0, 0);

	if (IS_ERR(tfm))
		return false;
	smr_crc32_tfm = tfm;
	if (crypto_shash_descsize(tfm) == sizeof(u32))
		return true;
	smr_crc32_cpu_close();
	return false;
}

/* The state of that driver is the CRC itself. Its update cannot fail. */
static inline u32 smr_crc32_cpu(u32 crc, const void *data, size_t len)
{
	struct {
		struct shash_desc shash;
		u32 crc;
	} desc = { .shash.tfm = smr_crc32_tfm, .crc = crc };

	crypto_shash_update(&desc.shash, data, len);
	return desc.crc;
}
#else
/* crc32_le() uses them: since 6.14 the kernel tells; before, arm64's always did. */
static inline bool smr_crc32_cpu_open(void)
{
#ifdef CRC32_LE_OPTIMIZATION
	return crc32_optimizations() & CRC32_LE_OPTIMIZATION;
#else
	return IS_ENABLED(CONFIG_ARM64);
#endif
}

static inline void smr_crc32_cpu_close(void)
{
}

static inline u32 smr_crc32_cpu(u32 crc, const void *data, size_t len)
{
	return crc32_le(crc, data, len);
}
#endif

#endif /* SMR_COMPAT_CRC_H */
