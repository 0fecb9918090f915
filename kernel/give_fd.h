/* SPDX-License-Identifier: GPL-2.0 */
/* A file that a verb opens for its process. */
#ifndef SMR_GIVE_FD_H
#define SMR_GIVE_FD_H

#include <linux/types.h>

struct file;
struct uverbs_attr_bundle;

int smr_give_fd(struct uverbs_attr_bundle *attrs, u16 id, struct file *file);

#endif /* SMR_GIVE_FD_H */
