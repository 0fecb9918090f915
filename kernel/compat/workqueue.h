/* SPDX-License-Identifier: GPL-2.0 */
/* Kernel differences in workqueues. */
#ifndef SMR_COMPAT_WORKQUEUE_H
#define SMR_COMPAT_WORKQUEUE_H

#include <linux/workqueue.h>

#include "generated.h"

/* In older kernels, all workqueues without WQ_UNBOUND are per CPU. */
#ifndef HAVE_WQ_PERCPU
#define WQ_PERCPU	0
#endif

#endif /* SMR_COMPAT_WORKQUEUE_H */
