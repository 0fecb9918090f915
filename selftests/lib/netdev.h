/* SPDX-License-Identifier: GPL-2.0 */
/* A link that belongs to one test, which may change its netdev in any way. */
#ifndef VT_NETDEV_H
#define VT_NETDEV_H

#define VT_OWN_NETDEV	"smrown"
#define VT_OWN_LINK	"smrown0"

int vt_own_link_add(void);
int vt_own_link_del(void);

#endif /* VT_NETDEV_H */
