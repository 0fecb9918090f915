/* SPDX-License-Identifier: GPL-2.0 OR Linux-OpenIB */
/*
 * The part of TAP that these tests need
 */
#ifndef SMR_TAP_H
#define SMR_TAP_H

#include <stdbool.h>
#include <stdint.h>

/* One test point */
struct tap_test {
	const char *name;	/* what it shows */
	void (*run)(void);	/* the test; calls want() for each condition that must hold */
};

void tap_want(bool ok, const char *file, int line, const char *what);

#define want(cond)	tap_want(cond, __FILE__, __LINE__, #cond)

extern const struct tap_test context_tests[];
extern const struct tap_test dv_tests[];
extern const struct tap_test layout_tests[];
extern const struct tap_test memory_tests[];
extern const struct tap_test rings_tests[];
extern const struct tap_test wr_tests[];

#endif /* SMR_TAP_H */
