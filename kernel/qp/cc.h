/* SPDX-License-Identifier: GPL-2.0 */
/* The congestion controls, by their names. */
#ifndef SMR_CC_H
#define SMR_CC_H

#include <linux/stringify.h>

#include "qp/cwnd.h"

/* All names, each after a space */
#define SMR_CC_NAME(name)	" " __stringify(name)
#define SMR_CC_NAMES		SMR_CC_ROWS(SMR_CC_NAME)

const struct smr_cc_ops *smr_cc_default(void);
const struct smr_cc_ops *smr_cc_find(const char *name);

#endif /* SMR_CC_H */
