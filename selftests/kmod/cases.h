/* SPDX-License-Identifier: GPL-2.0 */
#ifndef KVERBS_CASES_H
#define KVERBS_CASES_H

struct target;

void run_cases(const struct target *t);
void run_mr_cases(const struct target *t);

#endif /* KVERBS_CASES_H */
