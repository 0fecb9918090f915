/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Links that are to be there whenever their netdev is: a file for each in
 * /etc/softmr/links.d, which has the netdev's name. So udev sees whether a
 * netdev is to get a link without running a program, and no netdev can be given
 * two links. The directory exists only while it has files.
 *
 * Functions that return int return 0 or a negative errno.
 */
#ifndef SOFTMR_CONF_H
#define SOFTMR_CONF_H

#include <stdbool.h>
#include <stddef.h>

#define CONF_DIR	"/etc/softmr/links.d"

/**
 * struct conf - a persistent link
 * @netdev: the netdev's name
 * @name: the link's name; NULL: the file does not say
 */
struct conf {
	char *netdev;
	char *name;
};

/* Whether a file of this name is that of a netdev */
bool conf_is_netdev(const char *file);
/* All there are, by netdev; *confs is to be freed with conf_free(). */
int conf_list(struct conf **confs, size_t *n);
void conf_free(struct conf *confs, size_t n);
/* -ENOENT: there is none for the netdev; -EINVAL: its file has no name. */
int conf_read(const char *netdev, char **name);
int conf_write(const char *netdev, const char *name);
int conf_remove(const char *netdev);

#endif /* SOFTMR_CONF_H */
