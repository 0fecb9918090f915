/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Byte patterns, for messages and for the background of buffers. A pattern is named by a seed.
 * Each byte depends on seed and offset, so that lost, duplicated and shifted data and data of
 * another message are detected.
 */
#ifndef VT_PATTERN_H
#define VT_PATTERN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <infiniband/verbs.h>

uint32_t vt_seed(void);

void vt_fill(void *p, size_t len, uint32_t seed, size_t off);
size_t vt_match(const void *p, size_t len, uint32_t seed, size_t off);
bool vt_check(const char *what, const void *p, size_t len, uint32_t seed,
	      size_t off);

void vt_fill_sges(const struct ibv_sge *sge, int n, size_t len, uint32_t seed);
bool vt_check_sges(const struct ibv_sge *sge, int n, size_t len,
		   uint32_t seed);

#endif /* VT_PATTERN_H */
