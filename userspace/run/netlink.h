/* SPDX-License-Identifier: GPL-2.0 */
/* The few netlink requests of the guest's init. A minimal container has no ip(8) or rdma(8). */
#ifndef SMR_RUN_NETLINK_H
#define SMR_RUN_NETLINK_H

#include <stddef.h>
#include <stdint.h>

/* Each function returns 0 or a negative errno, and opens its own socket, in the
 * caller's network namespace.
 */
int net_add_bridge(const char *name);
/* A veth pair; @peer goes to the namespace of @netns_fd (-1: stays here) */
int net_add_veth(const char *name, const char *peer, int netns_fd);
int net_set_master(const char *name, const char *master);
int net_set_up(const char *name);
/* @family: AF_INET or AF_INET6; @address: in network byte order */
int net_add_address(const char *name, int family, const void *address, int prefix_len);

/* In exclusive mode a namespace sees only its own RDMA devices. */
int rdma_set_exclusive(void);
int rdma_add_link(const char *name, const char *netdev);

#endif
