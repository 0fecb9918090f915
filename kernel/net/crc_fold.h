/* SPDX-License-Identifier: GPL-2.0 */
/* CRC-32 by x86's carry-less multiplication, with or without a copy; called by net/crc.c. */
#ifndef SMR_CRC_FOLD_H
#define SMR_CRC_FOLD_H

#include <linux/types.h>

/*
 * Bytes are folded in units, from a minimum number on, and at most SMR_CRC_SECTION_MAX with
 * preemption off.
 */
#define SMR_CRC_FOLD_UNIT	16
#define SMR_CRC_FOLD_LEAST	64
#define SMR_CRC_SECTION_MAX	16384

/**
 * struct smr_crc_section - several copies that share one use of the CPU's vector registers
 * @left: bytes that may still be folded in it; 0: the registers are not in use
 *
 * It begins as {}. While @left is not 0, preemption and softirqs are off, and no other code may
 * use the registers. So its user does nothing but copy packets, and then calls
 * smr_crc_section_end().
 */
struct smr_crc_section {
	size_t left;
};

#ifdef CONFIG_X86_64
bool smr_crc_fold_open(void);
int smr_crc_fold(u32 *crc, void *to, const void *from, size_t len);
bool smr_crc_section_begin(struct smr_crc_section *section);
void smr_crc_section_end(struct smr_crc_section *section);
#else
static inline bool smr_crc_fold_open(void)
{
	return false;
}

static inline int smr_crc_fold(u32 *crc, void *to, const void *from, size_t len)
{
	return 0;
}

static inline bool smr_crc_section_begin(struct smr_crc_section *section)
{
	return false;
}

static inline void smr_crc_section_end(struct smr_crc_section *section)
{
}
#endif

#endif /* SMR_CRC_FOLD_H */
