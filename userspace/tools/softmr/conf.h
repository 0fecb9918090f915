/* SPDX-License-Identifier: GPL-2.0 */
/*
 * Persistent links, which are made whenever their netdev appears: a file for
 * each in /etc/softmr/links.d, which has the netdev's name. So udev sees
 * without running a program whether a netdev gets a link, and no netdev can
 * have two links. The directory exists only while it has files.
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
 * @name: the link's name; NULL: the file has none
 */
struct conf {
	char *netdev;
	char *name;
};

/* Whether this is the name of a netdev's file */
bool conf_is_netdev(const char *file);
/* All persistent links, by netdev; free *confs with conf_free(). */
int conf_list(struct conf **confs, size_t *n);
void conf_free(struct conf *confs, size_t n);
/* -ENOENT: the netdev has no file; -EINVAL: its file has no name. */
int conf_read(const char *netdev, char **name);
int conf_write(const char *netdev, const char *name);
int conf_remove(const char *netdev);

#endif /* SOFTMR_CONF_H */
