/* SPDX-License-Identifier: GPL-2.0 */
/* The header before each message that a UD QP receives. */
#ifndef VT_GRH_H
#define VT_GRH_H

#include <stdbool.h>
#include <stddef.h>

#include "endpoint.h"

#define VT_GRH_LEN	40

void vt_sges_skip(struct ibv_sge *out, const struct ibv_sge *sge, int n,
		  size_t skip);
void vt_sges_read(void *to, const struct ibv_sge *sge, int n, size_t len);
bool vt_grh_ok(const struct vt_pair *pair, const struct ibv_sge *sge, int n,
	       size_t len, bool imm);

#endif /* VT_GRH_H */
