/* SPDX-License-Identifier: GPL-2.0 */
/*
 * The operations of softmr link. Each function prints why it fails, and returns
 * an exit status.
 */
#ifndef SOFTMR_LINK_H
#define SOFTMR_LINK_H

/* link_make.c */
int link_make(const char *name, const char *netdev);
int link_remove(const char *name);

/* link_udev.c */
/* Prints SOFTMR_DEV_INDEX=N, for udev, if it is a device of softmr. */
int link_udev_id(const char *name);
/* Renames the device with that index back to @name, if it was renamed. */
int link_udev_name(const char *index, const char *name);

#endif /* SOFTMR_LINK_H */
