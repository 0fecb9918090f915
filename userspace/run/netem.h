/* SPDX-License-Identifier: GPL-2.0 */
/* The argument of --netem: a network that loses, delays or damages packets. */
#ifndef SMR_RUN_NETEM_H
#define SMR_RUN_NETEM_H

#include <stdint.h>

/* Chances are of 2^32 - 1, times are in ns. */
struct netem {
	uint32_t loss, duplicate, corrupt, reorder;
	uint32_t limit;
	int64_t delay, jitter;
	uint64_t rate;		/* bytes in a second; 0: no limit */
};

/*
 * Parse @spec, in the words of tc-netem(8): "loss 1% delay 1ms 100us". Returns
 * NULL, or a sentence that says what is wrong, which is valid until the next
 * call.
 */
const char *netem_parse(const char *spec, struct netem *n);

#endif
