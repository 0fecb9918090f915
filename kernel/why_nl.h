/* SPDX-License-Identifier: GPL-2.0 */
/* The last refusals of a namespace, by generic netlink. */
#ifndef SMR_WHY_NL_H
#define SMR_WHY_NL_H

int smr_why_nl_register(void);
void smr_why_nl_unregister(void);

#endif /* SMR_WHY_NL_H */
