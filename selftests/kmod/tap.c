// SPDX-License-Identifier: GPL-2.0
#include "tap.h"

static int nr_cases;

void report(const char *what, const char *which, int err)
{
	nr_cases++;
	pr_info("kverbs: %s %d %s%s%s\n", err ? "not ok" : "ok", nr_cases,
		what, which ? ": " : "", which ?: "");
	if (err)
		pr_info("kverbs: # error %d\n", err);
}

void report_end(void)
{
	pr_info("kverbs: 1..%d\n", nr_cases);
}
