/* SPDX-License-Identifier: GPL-2.0 */
/* The argument of --netem: a network that loses, delays or corrupts packets. */
#ifndef SMR_RUN_NETEM_H
#define SMR_RUN_NETEM_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A probability, and its correlation with the previous packet: both relative to
 * 2^32 - 1.
 */
struct netem_chance {
	uint32_t chance, correlation;
};

/* Times are in ns. */
struct netem {
	struct netem_chance loss, duplicate, corrupt, reorder;
	uint32_t delay_correlation;
	uint32_t limit;		/* packets */
	uint32_t gap;
	bool ecn;		/* mark instead of dropping */
	int64_t delay, jitter;
	uint64_t rate;		/* bytes in a second; 0: no limit */
};

/*
 * Parse @spec, in the words of tc-netem(8): "loss 1% delay 1ms 100us 25%".
 * distribution, slot, seed, "loss state", "loss gemodel" and arguments after
 * the rate are not supported. Returns NULL, or a sentence that says what is
 * wrong, which is valid until the next call.
 */
const char *netem_parse(const char *spec, struct netem *n);

#endif
