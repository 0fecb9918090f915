// SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB
#include "tap.h"

#include <stdio.h>

static bool test_ok;

void tap_want(bool ok, const char *file, int line, const char *what)
{
	if (ok)
		return;
	test_ok = false;
	printf("# %s:%d: not so: %s\n", file, line, what);
}

int main(void)
{
	const struct tap_test *const suites[] = {
		context_tests, layout_tests, rings_tests, wr_tests, memory_tests, dv_tests,
	};
	unsigned int i, n = 0, failed = 0;

	printf("TAP version 13\n");
	for (i = 0; i < sizeof(suites) / sizeof(*suites); i++) {
		const struct tap_test *test;

		for (test = suites[i]; test->name; test++) {
			test_ok = true;
			test->run();
			failed += !test_ok;
			printf("%sok %u %s\n", test_ok ? "" : "not ", ++n,
			       test->name);
		}
	}
	printf("1..%u\n", n);
	return failed ? 1 : 0;
}
