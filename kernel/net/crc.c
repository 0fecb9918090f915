// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 at a useful speed on every kernel, with or without a copy.
 *
 * On x86-64 with AVX, net/crc_fold.c uses carry-less multiplication. Elsewhere the kernel's
 * crc32_le() is the fastest choice, if it uses CPU instructions. If not, it looks up a table
 * byte by byte or word by word, and each step depends on the one before; the ICRC, which is
 * computed twice for each byte, would then limit the speed of the whole device. The portable
 * code here runs four independent streams over the words of a stripe, so that table look-ups
 * overlap: about ten times the bytewise speed. It is also the fastest for a few bytes, since code
 * with vector instructions first has to save FPU registers.
 */
#include "net/crc.h"

#include <linux/bits.h>
#include <linux/build_bug.h>
#include <linux/cache.h>
#include <linux/init.h>
#include <linux/minmax.h>
#include <linux/uaccess.h>

#include "compat/crc.h"
#include "compat/unaligned.h"

/*
 * A CRC is linear: the entry for a byte is the exclusive or of the entries for its
 * bits. So eight constants define a table's 256 entries.
 */
#define E1(v, a)			(v), (v) ^ (a)
#define E2(v, a, b)			E1(v, a), E1((v) ^ (b), a)
#define E3(v, a, b, c)			E2(v, a, b), E2((v) ^ (c), a, b)
#define E4(v, a, b, c, d)		E3(v, a, b, c), E3((v) ^ (d), a, b, c)
#define E5(v, a, b, c, d, e)		\
	E4(v, a, b, c, d), E4((v) ^ (e), a, b, c, d)
#define E6(v, a, b, c, d, e, f)		\
	E5(v, a, b, c, d, e), E5((v) ^ (f), a, b, c, d, e)
#define E7(v, a, b, c, d, e, f, g)	\
	E6(v, a, b, c, d, e, f), E6((v) ^ (g), a, b, c, d, e, f)
#define ROW(a, b, c, d, e, f, g, h)	\
	{ E7(0, a, b, c, d, e, f, g), E7(h, a, b, c, d, e, f, g) }

#define STREAMS		4
#define STRIPE		(STREAMS * sizeof(u64))

/* The contribution of byte k of a word to the CRC at the word's end. */
static const u32 word_table[8][256] = {
	ROW(0xccaa009e, 0x4225077d, 0x844a0efa, 0xd3e51bb5,
	    0x7cbb312b, 0xf9766256, 0x299dc2ed, 0x533b85da),
	ROW(0xa6770bb4, 0x979f1129, 0xf44f2413, 0x33ef4e67,
	    0x67de9cce, 0xcfbd399c, 0x440b7579, 0x8816eaf2),
	ROW(0xcb5cd3a5, 0x4dc8a10b, 0x9b914216, 0xec53826d,
	    0x03d6029b, 0x07ac0536, 0x0f580a6c, 0x1eb014d8),
	ROW(0x3d6029b0, 0x7ac05360, 0xf580a6c0, 0x30704bc1,
	    0x60e09782, 0xc1c12f04, 0x58f35849, 0xb1e6b092),
	ROW(0xb8bc6765, 0xaa09c88b, 0x8f629757, 0xc5b428ef,
	    0x5019579f, 0xa032af3e, 0x9b14583d, 0xed59b63b),
	ROW(0x01c26a37, 0x0384d46e, 0x0709a8dc, 0x0e1351b8,
	    0x1c26a370, 0x384d46e0, 0x709a8dc0, 0xe1351b80),
	ROW(0x191b3141, 0x32366282, 0x646cc504, 0xc8d98a08,
	    0x4ac21251, 0x958424a2, 0xf0794f05, 0x3b83984b),
	ROW(0x77073096, 0xee0e612c, 0x076dc419, 0x0edb8832,
	    0x1db71064, 0x3b6e20c8, 0x76dc4190, 0xedb88320),
};

/* As word_table, but at the start of the word that the stream reads next, a stripe later. */
static const u32 stripe_table[8][256] = {
	ROW(0xf1da05aa, 0x38c50d15, 0x718a1a2a, 0xe3143454,
	    0x1d596ee9, 0x3ab2ddd2, 0x7565bba4, 0xeacb7748),
	ROW(0x0ee7e8d1, 0x1dcfd1a2, 0x3b9fa344, 0x773f4688,
	    0xee7e8d10, 0x078c1c61, 0x0f1838c2, 0x1e307184),
	ROW(0x3c60e308, 0x78c1c610, 0xf1838c20, 0x38761e01,
	    0x70ec3c02, 0xe1d87804, 0x18c1f649, 0x3183ec92),
	ROW(0x6307d924, 0xc60fb248, 0x576e62d1, 0xaedcc5a2,
	    0x86c88d05, 0xd6e01c4b, 0x76b13ed7, 0xed627dae),
	ROW(0x01b5fd1d, 0x036bfa3a, 0x06d7f474, 0x0dafe8e8,
	    0x1b5fd1d0, 0x36bfa3a0, 0x6d7f4740, 0xdafe8e80),
	ROW(0x6e8c1b41, 0xdd183682, 0x61416b45, 0xc282d68a,
	    0x5e74ab55, 0xbce956aa, 0xa2a3ab15, 0x9e36506b),
	ROW(0xe71da697, 0x154a4b6f, 0x2a9496de, 0x55292dbc,
	    0xaa525b78, 0x8fd5b0b1, 0xc4da6723, 0x52c5c807),
	ROW(0xa58b900e, 0x9066265d, 0xfbbd4afb, 0x2c0b93b7,
	    0x5817276e, 0xb02e4edc, 0xbb2d9bf9, 0xad2a31b3),
};

static __always_inline u32 fold(const u32 (*table)[256], u64 word)
{
	return table[0][word & 0xff] ^ table[1][word >> 8 & 0xff] ^
	       table[2][word >> 16 & 0xff] ^ table[3][word >> 24 & 0xff] ^
	       table[4][word >> 32 & 0xff] ^ table[5][word >> 40 & 0xff] ^
	       table[6][word >> 48 & 0xff] ^ table[7][word >> 56];
}

static __always_inline u32 fold_4(u32 octets)
{
	return word_table[4][octets & 0xff] ^ word_table[5][octets >> 8 & 0xff] ^
	       word_table[6][octets >> 16 & 0xff] ^ word_table[7][octets >> 24];
}

/*
 * Process all stripes except the last. Returns the start of the last stripe. @state: the value
 * to XOR into the next word of each stream.
 */
static const u8 *crc_stripes(u32 state[STREAMS], const u8 *data, size_t stripes)
{
	u32 a = state[0], b = state[1], c = state[2], d = state[3];

	while (--stripes) {
		a = fold(stripe_table, get_unaligned_le64(data) ^ a);
		b = fold(stripe_table, get_unaligned_le64(data + 8) ^ b);
		c = fold(stripe_table, get_unaligned_le64(data + 16) ^ c);
		d = fold(stripe_table, get_unaligned_le64(data + 24) ^ d);
		data += STRIPE;
	}

	state[0] = a;
	state[1] = b;
	state[2] = c;
	state[3] = d;
	return data;
}

static u32 crc_portable(u32 crc, const u8 *data, size_t len)
{
	unsigned int i;

	if (len >= 2 * STRIPE) {
		u32 state[STREAMS] = { crc };

		data = crc_stripes(state, data, len / STRIPE);
		for (i = 0, crc = 0; i < STREAMS; i++, data += sizeof(u64))
			crc = fold(word_table, get_unaligned_le64(data) ^
				   state[i] ^ crc);
		len %= STRIPE;
	}
	for (; len >= sizeof(u64); len -= sizeof(u64), data += sizeof(u64))
		crc = fold(word_table, get_unaligned_le64(data) ^ crc);
	if (len & 4) {
		crc = fold_4(crc ^ get_unaligned_le32(data));
		data += 4;
	}
	for (len &= 3; len; len--)
		crc = crc >> 8 ^ word_table[7][(crc ^ *data++) & 0xff];
	return crc;
}

/* Minimum length for which the CPU's instructions are faster */
#define CPU_BYTES	64

/* True if smr_crc_fold() can be used */
static bool can_fold __ro_after_init;
static bool kernel_is_fast __ro_after_init;

/**
 * smr_crc_init() - select the fastest implementation
 *
 * Context: process, when the module is loaded.
 */
void __init smr_crc_init(void)
{
	can_fold = smr_crc_fold_open();
	kernel_is_fast = smr_crc32_le_is_fast();
}

/* The CRC of the bytes that could not be folded */
static u32 crc_rest(u32 crc, const void *data, size_t len)
{
	if (kernel_is_fast && len >= CPU_BYTES)
		return crc32_le(crc, data, len);
	return crc_portable(crc, data, len);
}

/*
 * Fold the first bytes: all but fewer than CPU_BYTES, if the registers can be used. *@done: their
 * number. Arguments and return value are as for smr_crc_fold().
 */
static __always_inline int fold_most(u32 *crc, void *to, const void *from, size_t len,
				     struct smr_crc_section *section, size_t *done)
{
	int err = 0;
	size_t n;

	for (*done = 0; can_fold && len - *done >= CPU_BYTES && !err; *done += n) {
		if (!section->left && !smr_crc_section_begin(section))
			break;
		n = min(len - *done, section->left) & -SMR_CRC_FOLD_UNIT;
		err = smr_crc_fold(crc, to ? to + *done : NULL, from + *done, n);
		if (section->left - n < SMR_CRC_FOLD_LEAST)
			smr_crc_section_end(section);
		else
			section->left -= n;
	}
	return err;
}

/**
 * smr_crc32() - continue a CRC-32 over some bytes
 * @crc: the CRC so far; no inversion is done at either end
 * @data: the bytes, of any alignment
 * @len: number of bytes
 *
 * Return: the same as crc32_le(@crc, @data, @len).
 */
u32 smr_crc32(u32 crc, const void *data, size_t len)
{
	struct smr_crc_section section = {};
	size_t done;

	if (len < CPU_BYTES)
		return crc_portable(crc, data, len);
	/* It cannot fail without a copy. */
	fold_most(&crc, NULL, data, len, &section, &done);
	smr_crc_section_end(&section);
	return crc_rest(crc, data + done, len - done);
}

/**
 * smr_crc32_copy_any() - as smr_crc32_copy(), which calls it
 * @crc: see there
 * @to: see there
 * @from: see there
 * @len: see there
 * @steady: see there
 * @section: see there
 *
 * Return: see there.
 */
int smr_crc32_copy_any(u32 *crc, void *to, const void *from, size_t len,
		       const void *steady, struct smr_crc_section *section)
{
	size_t done;
	int err;

	BUILD_BUG_ON(CPU_BYTES < SMR_CRC_FOLD_LEAST);
	err = fold_most(crc, to, from, len, section, &done);
	if (err || done == len)
		return err;
	len -= done;
	if (copy_mc_to_kernel(to + done, from + done, len))
		return -EFAULT;
	*crc = crc_rest(*crc, steady + done, len);
	return 0;
}

/**
 * smr_crc32_head() - the CRC-32 of headers, from that of similar ones
 * @crc: the CRC of headers that differ only in two octets, up to the last four
 * @change: XOR of the two octets; the first one is the least significant. 30 octets are between
 *	them and the last four
 * @octets: the last four of the new headers; the first one is the least significant
 *
 * Return: as smr_crc32().
 */
u32 smr_crc32_head(u32 crc, u16 change, u32 octets)
{
	/* A CRC is linear. The two octets begin a stripe, at whose end @crc ends. */
	BUILD_BUG_ON(STRIPE != 32);
	crc ^= stripe_table[0][change & 0xff] ^ stripe_table[1][change >> 8];
	return fold_4(crc ^ octets);
}
