/* SPDX-License-Identifier: GPL-2.0 */
/*
 * A stream of requests of all kinds from one endpoint to another, several of them outstanding,
 * with each byte checked: traffic for tests that disturb the data path.
 */
#ifndef VT_MIX_H
#define VT_MIX_H

#include <stdint.h>

#include "endpoint.h"

#define VT_MIX_DEPTH	12
#define VT_MIX_SLOT	32768
/* What conf.buf_len must be: a part for each direction, and a counter for each */
#define VT_MIX_BUF	(2 * VT_MIX_DEPTH * VT_MIX_SLOT + 4096)

/**
 * struct vt_mix - a stream
 * @from: the requester
 * @to: the responder
 * @way: 0 or 1; the two directions of a pair use different parts of its buffers
 * @random: state of the random numbers
 * @posted: requests so far
 * @done: of which complete
 * @sum: expected value of the responder's counter
 * @slot: the requests that are outstanding
 * @bytes: moved so far
 */
struct vt_mix {
	struct vt_ep *from;
	struct vt_ep *to;
	int way;
	uint64_t random;
	uint64_t posted;
	uint64_t done;
	uint64_t sum;
	struct {
		enum ibv_wr_opcode op;
		uint32_t len;
	} slot[VT_MIX_DEPTH];
	uint64_t bytes;
};

struct vt_mix vt_mix(struct vt_ep *from, struct vt_ep *to, int way, uint64_t random);
int vt_mix_run(struct vt_mix *mix, unsigned int n);
void vt_mix_restart(struct vt_mix *mix);

#endif /* VT_MIX_H */
