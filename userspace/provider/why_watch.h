/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
#ifndef SMR_PROVIDER_WHY_WATCH_H
#define SMR_PROVIDER_WHY_WATCH_H

#include <infiniband/verbs.h>

struct smr_why_watch;

/* NULL: the environment does not ask for it, or nothing can be printed */
struct smr_why_watch *smr_why_watch_begin(struct ibv_context *context);
/* The context is closed. @watch may be NULL. */
void smr_why_watch_end(struct smr_why_watch *watch);

#endif /* SMR_PROVIDER_WHY_WATCH_H */
