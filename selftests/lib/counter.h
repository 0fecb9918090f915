/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of a device's port, and the numbers that the device shows of a QP. */
#ifndef VT_COUNTER_H
#define VT_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

int64_t vt_counter(struct ibv_context *ctx, const char *name);
int64_t vt_counter_now(struct ibv_context *ctx, const char *name);
bool vt_counter_wait(struct ibv_context *ctx, const char *name, int64_t want);

long vt_qp_shown(uint32_t qpn, const char *word);

#endif /* VT_COUNTER_H */
