// SPDX-License-Identifier: GPL-2.0
/*
 * CRC-32 by x86's carry-less multiplication.
 *
 * The kernel has such code, but not on all targets of softmr (neither on User-Mode Linux nor,
 * before 6.14, in a function that a module may call), and it does not copy. A packet's payload
 * is copied once at each end anyway. Here the bytes that are loaded for the CRC are also
 * stored. So the CRC is exactly that of the copy, even if another CPU writes to the source
 * concurrently.
 *
 * How it works: Let P be the CRC's polynomial. A message is a polynomial as well, and only its
 * remainder modulo P matters. So 16 bytes can be replaced by (their upper half times (x^(D+64)
 * mod P)) + (their lower half times (x^D mod P)), added to the 16 bytes that follow D bits
 * later. Four registers do that side by side, at a distance of four. At the end they are folded
 * into one, that into 64 bits, and Barrett's reduction gives the remainder.
 *
 * CRC-32 sends the least significant bit of an octet first, so all polynomials are stored with
 * their highest power in bit 0. The product of two such 64-bit numbers lacks a factor x, so the
 * exponents below are smaller by one.
 */
#include "net/crc_fold.h"

#ifdef CONFIG_X86_64
#include <linux/cache.h>
#include <linux/errno.h>
#include <linux/init.h>
#include <linux/instrumented.h>
#include <linux/kmsan-checks.h>
#include <linux/stringify.h>

#include <asm/cpufeature.h>
#include <asm/fpu/api.h>

/* An uncorrectable memory error in the source ends the copy, if x86 can recover from it. */
#ifdef CONFIG_ARCH_HAS_COPY_MC
#include <asm/asm.h>
#include <asm/extable_fixup_types.h>
#define MAY_FAIL	_ASM_EXTABLE_TYPE(1b, 9f, EX_TYPE_DEFAULT_MCE_SAFE) "\n"
#else
#define MAY_FAIL
#endif

/* Factors for a distance: x^(D+63) mod P, x^(D-1) mod P; highest power in bit 0 */
struct factors {
	u64 upper;
	u64 lower;
};

#define FOLD_16		{ 0x65673b4600000000, 0x9ba54c6f00000000 }
#define FOLD_32		{ 0x9570d49500000000, 0x01b5fd1d00000000 }
#define FOLD_64		{ 0x653d982200000000, 0xcad38e8f00000000 }
#define FOLD_128	{ 0x7d657a1000000000, 0x7406fa9500000000 }

/* For 16 bytes followed by 32 zero bits: x^95 mod P, x^63 mod P */
#define FOLD_REST	{ 0xccaa009e00000000, 0xb8bc676500000000 }

/* x^64 / P without the remainder, and P itself; 33 bits, highest power in bit 0 */
#define BARRETT		{ 0x1f7011641, 0x1db710641 }

/* By registers of 16 bytes, and of 32: four, one, half of one; then to the end */
static const struct factors factors_x[] = {
	FOLD_64, FOLD_16, FOLD_16, FOLD_REST, BARRETT,
};

static const struct factors factors_y[] = {
	FOLD_128, FOLD_32, FOLD_16, FOLD_REST, BARRETT,
};

/*
 * The parts of the loops. "r" is x or y, the kind of register; "w" its width in bytes. Number 4
 * has the next bytes, 6 the factors. xmm and ymm need not be declared: the compiler does not
 * use them in the kernel, nor, from GCC 11 on, in User-Mode Linux. A copy may fail at each
 * load; then it continues at label 9.
 */
#define REG(r, n)		"%%" r "mm" __stringify(n)
#define AT(n, w)		__stringify(n) "*" __stringify(w)
#define LOAD(r, n, at)		"1: vmovdqu " at "(%[from],%[at]), " REG(r, n) "\n"
#define STORE(r, n, at)		MAY_FAIL "vmovdqu " REG(r, n) ", " at "(%[to],%[at])\n"
#define NO_STORE(r, n, at)
#define FACTORS_X(i)		"vmovdqu " AT(i, 16) "(%[factors]), %%xmm6\n"
#define FACTORS_Y(i)		"vbroadcasti128 " AT(i, 16) "(%[factors]), %%ymm6\n"

/* Register "to" += register "from", folded */
#define FOLD(r, from, to)						\
	"vpclmulqdq $0x00, " REG(r, 6) ", " REG(r, from) ", " REG(r, 5) "\n" \
	"vpclmulqdq $0x11, " REG(r, 6) ", " REG(r, from) ", " REG(r, from) "\n" \
	"vpxor " REG(r, 5) ", " REG(r, to) ", " REG(r, to) "\n"		\
	"vpxor " REG(r, from) ", " REG(r, to) ", " REG(r, to) "\n"

/* Register n = the next bytes + itself, folded */
#define STEP(r, n, at, store)						\
	LOAD(r, 4, at)							\
	store(r, 4, at)							\
	"vpclmulqdq $0x00, " REG(r, 6) ", " REG(r, n) ", " REG(r, 5) "\n" \
	"vpclmulqdq $0x11, " REG(r, 6) ", " REG(r, n) ", " REG(r, n) "\n" \
	"vpxor " REG(r, 4) ", " REG(r, 5) ", " REG(r, 5) "\n"		\
	"vpxor " REG(r, 5) ", " REG(r, n) ", " REG(r, n) "\n"

/*
 * "from" and "to" are the ends, and "at" counts up from minus the length to 0: a loop needs no
 * other counter. In a loop over n registers "at" is n registers ahead.
 */
#define LOOP(label, end, n, w)						\
	"add $" AT(n, w) ", %[at]\n"					\
	"jg " end "f\n"							\
	label ":\n"
#define LOOP_END(label, end, n, w)					\
	"add $" AT(n, w) ", %[at]\n"					\
	"jle " label "b\n"						\
	end ": sub $" AT(n, w) ", %[at]\n"
#define IN_LOOP(i, n, w)	AT(i, w) "-" AT(n, w)

/* A step of all four registers, for number i and those after it in a loop over n */
#define STEP_4(r, i, n, w, store)					\
	STEP(r, 0, IN_LOOP(i, n, w), store)				\
	STEP(r, 1, AT(1, w) "+" IN_LOOP(i, n, w), store)		\
	STEP(r, 2, AT(2, w) "+" IN_LOOP(i, n, w), store)		\
	STEP(r, 3, AT(3, w) "+" IN_LOOP(i, n, w), store)

/* All folding in registers of one width; the result is in number 3 */
#define FOLD_ALL(r, w, FACTORS, store)					\
	"vmovd %[crc], %%xmm5\n"					\
	LOAD(r, 0, AT(0, w)) store(r, 0, AT(0, w))			\
	LOAD(r, 1, AT(1, w)) store(r, 1, AT(1, w))			\
	LOAD(r, 2, AT(2, w)) store(r, 2, AT(2, w))			\
	LOAD(r, 3, AT(3, w)) store(r, 3, AT(3, w))			\
	"vpxor " REG(r, 5) ", " REG(r, 0) ", " REG(r, 0) "\n"		\
	FACTORS(0)							\
	"add $" AT(4, w) ", %[at]\n"					\
	LOOP("2", "3", 8, w)						\
	STEP_4(r, 0, 8, w, store)					\
	STEP_4(r, 4, 8, w, store)					\
	LOOP_END("2", "3", 8, w)					\
	LOOP("4", "5", 4, w)						\
	STEP_4(r, 0, 4, w, store)					\
	LOOP_END("4", "5", 4, w)					\
	FACTORS(1)							\
	FOLD(r, 0, 1)							\
	FOLD(r, 1, 2)							\
	FOLD(r, 2, 3)							\
	LOOP("6", "7", 1, w)						\
	STEP(r, 3, IN_LOOP(0, 1, w), store)				\
	LOOP_END("6", "7", 1, w)

/* After folding by 32 bytes: fold the halves of the result, and 16 more bytes if there are any */
#define FOLD_HALVES(store)						\
	FACTORS_X(2)							\
	"vextracti128 $1, %%ymm3, %%xmm2\n"				\
	FOLD("x", 3, 2)							\
	"vmovdqa %%xmm2, %%xmm3\n"					\
	"test %[at], %[at]\n"						\
	"jz 8f\n"							\
	STEP("x", 3, AT(0, 16), store)					\
	"8:\n"

/*
 * The remainder of number 3. Its upper half is folded onto its lower one, which 32 zero bits
 * follow, and the upper 32 bits of the result onto the rest: 64 bits. Two products give the
 * quotient of these by P, and the remainder.
 */
#define REDUCE								\
	FACTORS_X(3)							\
	"vpclmulqdq $0x00, %%xmm6, %%xmm3, %%xmm5\n"			\
	"vpsrldq $8, %%xmm3, %%xmm3\n"					\
	"vpslldq $4, %%xmm3, %%xmm3\n"					\
	"vpxor %%xmm5, %%xmm3, %%xmm3\n"				\
	"vpclmulqdq $0x10, %%xmm6, %%xmm3, %%xmm5\n"			\
	"vpxor %%xmm5, %%xmm3, %%xmm3\n"				\
	"vpsrldq $8, %%xmm3, %%xmm3\n"					\
	FACTORS_X(4)							\
	"vpmovzxdq %%xmm3, %%xmm5\n"					\
	"vpclmulqdq $0x00, %%xmm6, %%xmm5, %%xmm5\n"			\
	"vpmovzxdq %%xmm5, %%xmm5\n"					\
	"vpclmulqdq $0x10, %%xmm6, %%xmm5, %%xmm5\n"			\
	"vpxor %%xmm5, %%xmm3, %%xmm3\n"				\
	"vpextrd $1, %%xmm3, %[crc]\n"

#define END_STORE							\
	"xor %k[err], %k[err]\n"					\
	"jmp 10f\n"							\
	"9: mov %[fault], %k[err]\n"					\
	"10: vzeroupper\n"
#define END_NO_STORE							\
	"xor %k[err], %k[err]\n"					\
	"vzeroupper\n"

#define RUN(code, end, table)						\
	asm volatile(code REDUCE end					\
		     : [crc] "+r" (*crc), [at] "+&r" (at), [err] "=&r" (err) \
		     : [from] "r" (from + len), [to] "r" (to + len),	\
		       [factors] "r" (table), [fault] "i" (-EFAULT)	\
		     : "memory", "cc")

static int fold_x(u32 *crc, void *to, const void *from, size_t len)
{
	long at = -len;
	int err;

	if (to)
		RUN(FOLD_ALL("x", 16, FACTORS_X, STORE), END_STORE, factors_x);
	else
		RUN(FOLD_ALL("x", 16, FACTORS_X, NO_STORE), END_NO_STORE,
		    factors_x);
	return err;
}

static int fold_y(u32 *crc, void *to, const void *from, size_t len)
{
	long at = -len;
	int err;

	if (to)
		RUN(FOLD_ALL("y", 32, FACTORS_Y, STORE) FOLD_HALVES(STORE),
		    END_STORE, factors_y);
	else
		RUN(FOLD_ALL("y", 32, FACTORS_Y, NO_STORE)
		    FOLD_HALVES(NO_STORE), END_NO_STORE, factors_y);
	return err;
}

/* VPCLMULQDQ: the CPU multiplies in registers of 32 bytes. */
static bool wide __ro_after_init;

/* Does the kernel save and restore registers of this width? */
static bool kept(void)
{
#ifdef CONFIG_UML
	return true;	/* its host does */
#else
	return cpu_has_xfeatures(XFEATURE_MASK_SSE | XFEATURE_MASK_YMM, NULL);
#endif
}

/*
 * Detect the instructions of the CPU. Context: process, when the module is loaded. Returns true if
 * smr_crc_fold() can be used.
 */
bool __init smr_crc_fold_open(void)
{
	if (!boot_cpu_has(X86_FEATURE_PCLMULQDQ) ||
	    !boot_cpu_has(X86_FEATURE_AVX) || !kept())
		return false;
	wide = boot_cpu_has(X86_FEATURE_VPCLMULQDQ) &&
	       boot_cpu_has(X86_FEATURE_AVX2);
	return true;
}

/*
 * Begin to use the registers. @section: its @left is 0. Context: any, after smr_crc_fold_open() has
 * returned true. Returns false: they cannot be used here, in an interrupt while they were in use.
 */
bool smr_crc_section_begin(struct smr_crc_section *section)
{
	if (!irq_fpu_usable())
		return false;
	kernel_fpu_begin();
	section->left = SMR_CRC_SECTION_MAX;
	return true;
}

/* End the use of the registers. @section: may be used again. */
void smr_crc_section_end(struct smr_crc_section *section)
{
	if (!section->left)
		return;
	kernel_fpu_end();
	section->left = 0;
}

/**
 * smr_crc_fold() - continue a CRC-32 over bytes, and copy them
 * @crc: the CRC so far, as for crc32_le(); undefined after an error
 * @to: destination; NULL: do not copy
 * @from: the bytes
 * @len: number of bytes, a multiple of SMR_CRC_FOLD_UNIT and at least SMR_CRC_FOLD_LEAST
 *
 * Context: in a section.
 * Return: 0. -EFAULT, with a copy only: there is an uncorrectable memory error in @from.
 */
int smr_crc_fold(u32 *crc, void *to, const void *from, size_t len)
{
	/* The compiler does not see the accesses of the assembly code. */
	instrument_read(from, len);
	if (to) {
		instrument_write(to, len);
		kmsan_unpoison_memory(to, len);
	}
	return wide && len >= 2 * SMR_CRC_FOLD_LEAST ? fold_y(crc, to, from, len) :
						       fold_x(crc, to, from, len);
}
#endif /* CONFIG_X86_64 */
