/* SPDX-License-Identifier: GPL-2.0 */
/* A memory that goes on to another one, and has users of its own. */
#ifndef SMR_RELAY_H
#define SMR_RELAY_H

#include "mem.h"

/**
 * struct smr_relay - a memory that goes on to another one
 * @mem: the common part
 * @target: where it goes on; constant while @mem has users, whose owner sees to
 *	it that @target stays as long
 */
struct smr_relay {
	struct smr_mem mem;
	struct smr_mem *target;
};

void smr_relay_aim(struct smr_relay *relay, struct smr_mem *target);

#endif /* SMR_RELAY_H */
