/* SPDX-License-Identifier: GPL-2.0 */
/* What differs between kernels about workqueues. */
#ifndef SMR_COMPAT_WORKQUEUE_H
#define SMR_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#include "generated.h"

/* Before, all were that did not say WQ_UNBOUND. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif /* SMR_COMPAT_WORKQUEUE_H */
