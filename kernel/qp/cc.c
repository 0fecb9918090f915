// SPDX-License-Identifier: GPL-2.0
/* The table of the congestion controls. Its rows are in qp/cwnd.h. */
#include "qp/cc.h"

#include <linux/array_size.h>
#include <linux/string.h>

#define ROW(name)	&smr_cc_##name,

static const struct smr_cc_ops *const table[] = { SMR_CC_ROWS(ROW) };

/**
 * smr_cc_default() - get the congestion control of links whose administrator has chosen none
 *
 * Return: never NULL.
 */
const struct smr_cc_ops *smr_cc_default(void)
{
	return table[0];
}

/**
 * smr_cc_find() - find a congestion control
 * @name: its name; a newline may follow
 *
 * Return: NULL if there is none of that name.
 */
const struct smr_cc_ops *smr_cc_find(const char *name)
{
	int i;

	for (i = 0; i < ARRAY_SIZE(table); i++)
		if (sysfs_streq(name, table[i]->name))
			return table[i];
	return NULL;
}
