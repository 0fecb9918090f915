/* SPDX-License-Identifier: GPL-2.0 */
/* Results in TAP, in the kernel's log. */
#ifndef KVERBS_TAP_H
#define KVERBS_TAP_H

#include <linux/errno.h>
#include <linux/printk.h>

/* One result; @which, if not NULL, is the variant of the case; @err 0: it passed */
void report(const char *what, const char *which, int err);
/* The last line of TAP: how many results there were */
void report_end(void);

#define EXPECT(cond) do {						\
	if (!(cond)) {							\
		pr_info("kverbs: # %s:%d: %s\n", __func__, __LINE__, #cond); \
		return -EINVAL;						\
	}								\
} while (0)

#endif /* KVERBS_TAP_H */
