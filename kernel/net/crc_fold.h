/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 by x86's carry-less multiplication, with or without a copy; called by net/crc.c. */
#ifndef SMR_CRC_FOLD_H
#define SMR_CRC_FOLD_H

#include <linux/types.h>

/* Minimum number of bytes to fold. */
#define SMR_CRC_FOLD_LEAST	64

/**
 * struct smr_crc_section - several copies that share one use of the CPU's vector registers
 * @left: bytes that may still be folded in it; 0: the registers are not in use
 *
 * It begins as {}, and smr_crc_fold() uses it. While @left is not 0, preemption and softirqs are
 * off. So its user does nothing but copy, and then calls smr_crc_section_end().
 */
struct smr_crc_section {
	size_t left;
};

#ifdef CONFIG_X86_64
bool smr_crc_fold_open(void);
ssize_t smr_crc_fold(u32 *crc, void *to, const void *from, size_t len,
		     struct smr_crc_section *section);
void smr_crc_section_end(struct smr_crc_section *section);
#else
static inline bool smr_crc_fold_open(void)
{
	return false;
}

static inline ssize_t smr_crc_fold(u32 *crc, void *to, const void *from,
				   size_t len, struct smr_crc_section *section)
{
	return 0;
}

static inline void smr_crc_section_end(struct smr_crc_section *section)
{
}
#endif

#endif /* SMR_CRC_FOLD_H */
