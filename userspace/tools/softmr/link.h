/* SPDX-License-Identifier: GPL-2.0 */
/*
 * What softmr link does to links. Each function prints why it fails, and
 * returns an exit status.
 */
#ifndef SOFTMR_LINK_H
#define SOFTMR_LINK_H

#include <stdbool.h>

/* link_make.c */
int link_make(const char *name, const char *netdev);
/* @quiet: it is no error if there is no such link */
int link_remove(const char *name, bool quiet);

/*
 * link_auto.c. @netdev may be a path in sysfs, whose last part counts; NULL
 * means each netdev that is to have a link.
 */
int link_up_configured(const char *netdev);
int link_down_configured(const char *netdev);
/* Prints SOFTMR_DEV_INDEX=N, for udev, if the device is one of softmr's. */
int link_udev_id(const char *name);
/* Gives the device of that index this name again, should it have lost it. */
int link_udev_name(const char *index, const char *name);

#endif /* SOFTMR_LINK_H */
