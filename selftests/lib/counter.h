/* SPDX-License-Identifier: GPL-2.0 */
/* The counters of a device's port. */
#ifndef VT_COUNTER_H
#define VT_COUNTER_H

#include <stdbool.h>
#include <stdint.h>

#include <infiniband/verbs.h>

int64_t vt_counter(struct ibv_context *ctx, const char *name);
int64_t vt_counter_now(struct ibv_context *ctx, const char *name);
bool vt_counter_wait(struct ibv_context *ctx, const char *name, int64_t want);

#endif /* VT_COUNTER_H */
