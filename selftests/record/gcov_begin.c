// SPDX-License-Identifier: GPL-2.0
/* The begin of the section that gcov.c reads: it is linked before all other objects. */
#include <linux/compiler.h>

struct object;

extern const struct object *const smr_gcov_begin[];
const struct object *const smr_gcov_begin[1] __used __section(".gcov_info");
