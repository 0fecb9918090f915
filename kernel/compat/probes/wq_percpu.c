// SPDX-License-Identifier: GPL-2.0
#include <linux/workqueue.h>
unsigned int probe(void);
unsigned int probe(void)
{ return WQ_PERCPU; }
