// SPDX-License-Identifier: GPL-2.0
#include "pattern.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* An odd step, far from a power of two: the top byte of k * STEP. */
#define STEP	2654435761u

static uint32_t start_of(uint32_t seed, size_t off)
{
	return seed * 40503u + 12345u + (uint32_t)off * STEP;
}

static size_t min_size(size_t a, size_t b)
{
	return a < b ? a : b;
}

static void *sge_ptr(const struct ibv_sge *sge)
{
	return (void *)(uintptr_t)sge->addr;
}

/**
 * vt_seed() - the seed of a test that draws random numbers
 *
 * Return: SMR_SEED of the environment, or else another number each time. The
 * seed is printed, so that a run can be repeated.
 */
uint32_t vt_seed(void)
{
	const char *given = getenv("SMR_SEED");
	struct timespec now;
	uint32_t seed;

	if (given) {
		seed = strtoul(given, NULL, 0);
	} else {
		clock_gettime(CLOCK_MONOTONIC, &now);
		seed = now.tv_nsec;
	}
	printf("# the seed is SMR_SEED=%u\n", seed);
	return seed;
}

/**
 * vt_fill() - write @len bytes of pattern @seed, beginning with its byte @off
 */
void vt_fill(void *p, size_t len, uint32_t seed, size_t off)
{
	uint32_t x = start_of(seed, off);
	uint8_t *b = p;
	size_t i;

	for (i = 0; i < len; i++, x += STEP)
		b[i] = x >> 24;
}

/**
 * vt_match() - how many bytes at @p equal pattern @seed from @off on
 *
 * Return: @len when all are equal
 */
size_t vt_match(const void *p, size_t len, uint32_t seed, size_t off)
{
	uint32_t x = start_of(seed, off);
	const uint8_t *b = p;
	size_t i;

	for (i = 0; i < len && b[i] == (uint8_t)(x >> 24); i++)
		x += STEP;
	return i;
}

/**
 * vt_check() - as vt_match(), and print where and how the bytes differ
 */
bool vt_check(const char *what, const void *p, size_t len, uint32_t seed,
	      size_t off)
{
	size_t good = vt_match(p, len, seed, off);
	uint8_t want;

	if (good == len)
		return true;
	vt_fill(&want, 1, seed, off + good);
	printf("# %s: byte %zu of %zu is 0x%02x, not 0x%02x\n", what, good, len,
	       ((const uint8_t *)p)[good], want);
	return false;
}

/**
 * vt_fill_sges() - lay the first @len bytes of pattern @seed over a list
 */
void vt_fill_sges(const struct ibv_sge *sge, int n, size_t len, uint32_t seed)
{
	size_t off = 0, part;

	for (; n-- && off < len; sge++, off += part) {
		part = min_size(sge->length, len - off);
		vt_fill(sge_ptr(sge), part, seed, off);
	}
}

/**
 * vt_check_sges() - whether a list holds the first @len bytes of @seed
 */
bool vt_check_sges(const struct ibv_sge *sge, int n, size_t len, uint32_t seed)
{
	size_t off = 0, part;

	for (; n-- && off < len; sge++, off += part) {
		part = min_size(sge->length, len - off);
		if (!vt_check("message", sge_ptr(sge), part, seed, off)) {
			printf("# ... that part starts at byte %zu of %zu\n",
			       off, len);
			return false;
		}
	}
	return true;
}
