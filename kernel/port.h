/* SPDX-License-Identifier: GPL-2.0 */
/* Queries of a device and its port. */
#ifndef SMR_PORT_H
#define SMR_PORT_H

#include <rdma/ib_verbs.h>

struct net_device;

extern const struct ib_device_ops smr_port_ops;

bool smr_port_is_heard(const struct net_device *ndev);
enum ib_port_state smr_port_state(const struct net_device *ndev);

#endif /* SMR_PORT_H */
