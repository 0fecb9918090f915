/* SPDX-License-Identifier: GPL-2.0 */
/* Random numbers from a seed, and values that are likely to break checks. */
#ifndef VT_RANDOM_H
#define VT_RANDOM_H

#include <stdint.h>

/**
 * vt_random() - the next number
 * @state: begins as any number but 0
 */
static inline uint64_t vt_random(uint64_t *state)
{
	uint64_t x = *state;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	*state = x;
	return x * 0x2545f4914f6cdd1dull;
}

/**
 * vt_random_begin() - the state for one of many sequences
 * @seed: of all
 * @n: which one
 */
static inline uint64_t vt_random_begin(uint64_t seed, uint64_t n)
{
	uint64_t x = seed * 0x9e3779b97f4a7c15ull + n * 0xd1342543de82ef95ull + 1;

	x ^= x >> 29;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 32;
	return x ? x : 1;
}

/* A number below @n, which is not 0 */
static inline uint32_t vt_random_below(uint64_t *state, uint32_t n)
{
	return (vt_random(state) >> 32) % n;
}

/**
 * vt_nasty() - a value near the limit of some check, which finds the most errors
 */
static inline uint64_t vt_nasty(uint64_t *state)
{
	static const uint64_t limits[] = {
		0, 1, 2, 7, 31, 32, 33, 63, 64, 65, 127, 128, 255, 256, 511,
		512, 513, 4095, 4096, 65535, 65536, 0x7fffffff, 0x80000000,
		0x80000001, 0xffffffff, 0x100000000, 0x7fffffffffffffff,
		0x8000000000000000, 0xfffffffffffff000, 0xffffffffffffffff,
	};
	uint64_t r = vt_random(state);

	return r % 3 ? limits[(r >> 8) % (sizeof(limits) / sizeof(limits[0]))] : r >> 8;
}

#endif /* VT_RANDOM_H */
