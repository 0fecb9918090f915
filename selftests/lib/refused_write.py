#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""refused_write.py DEVICE GID_INDEX [SECONDS]: a WRITE between two QPs of DEVICE with an rkey that no region has; prints the
status of its completion, and the two numbers of the QPs; and keeps them for so long."""
import sys
import time

from pyverbs.qp import QPAttr

from two_qps import TwoQPs, e

two = TwoQPs(e.IBV_QPT_RC)
for qp, peer in (two.qps, two.qps[::-1]):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer.qp_num
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
    attr.ah_attr = two.to_itself
    qp.to_rts(attr)
wr = two.request(e.IBV_WR_RDMA_WRITE)
wr.set_wr_rdma(0xdead00, 0x1000)
print(two.status(wr), *(hex(qp.qp_num) for qp in two.qps), flush=True)
time.sleep(float(sys.argv[3]) if sys.argv[3:] else 0)
