/* SPDX-License-Identifier: GPL-2.0 */
/* Probes: do packets to this host's own addresses get through? */
#ifndef SMR_QP_PROBE_H
#define SMR_QP_PROBE_H

#include <linux/types.h>

struct ib_device;
struct smr_env;

u32 smr_probe_link(const struct smr_env *env, struct ib_device *ibdev);
bool __cold smr_probe_arrived(const u8 *bth);

#endif /* SMR_QP_PROBE_H */
