/* SPDX-License-Identifier: GPL-2.0 */
/* What a device and its port say of themselves. */
#ifndef SMR_PORT_H
#define SMR_PORT_H

#include <rdma/ib_verbs.h>

extern const struct ib_device_ops smr_port_ops;

#endif /* SMR_PORT_H */
