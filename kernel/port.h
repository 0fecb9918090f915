/* SPDX-License-Identifier: GPL-2.0 */
/* Queries of a device and its port. */
#ifndef SMR_PORT_H
#define SMR_PORT_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops smr_port_ops;

#endif /* SMR_PORT_H */
