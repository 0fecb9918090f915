/* SPDX-License-Identifier: GPL-2.0 */
/* A link of a test's own, whose netdev it may do anything to. */
#ifndef VT_NETDEV_H
#define VT_NETDEV_H

#define VT_OWN_NETDEV	"smrown"
#define VT_OWN_LINK	"smrown0"

int vt_own_link_add(void);
int vt_own_link_del(void);

#endif /* VT_NETDEV_H */
