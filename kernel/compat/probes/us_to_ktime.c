// SPDX-License-Identifier: GPL-2.0
#include <linux/ktime.h>
ktime_t probe(u64 us);
ktime_t probe(u64 us)
{ return us_to_ktime(us); }
