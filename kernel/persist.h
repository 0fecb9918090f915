/* SPDX-License-Identifier: GPL-2.0 */
/* Memory whose contents survive a loss of power. */
#ifndef SMR_PERSIST_H
#define SMR_PERSIST_H

#include <linux/types.h>

struct smr_mem;
struct smr_span;

bool smr_persist_supported(void);
bool smr_mem_is_persistent(struct smr_mem *mem);
int smr_span_persist(const struct smr_span *span, u64 off, size_t len);

#endif /* SMR_PERSIST_H */
