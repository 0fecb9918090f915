#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""dropped_datagram.py DEVICE GID_INDEX: a datagram between two QPs of DEVICE, with a Q_Key that the receiver does not have;
prints the status of its completion."""
from pyverbs.addr import AH
from pyverbs.qp import QPAttr

from two_qps import TwoQPs, e

two = TwoQPs(e.IBV_QPT_UD)
for qp in two.qps:
    attr = QPAttr(port_num=1)
    attr.qkey = 0x1111
    qp.to_rts(attr)
ah = AH(two.pd, attr=two.to_itself)
wr = two.request(e.IBV_WR_SEND)
wr.set_wr_ud(ah, two.qps[1].qp_num, 0x2222)
print(two.status(wr))
