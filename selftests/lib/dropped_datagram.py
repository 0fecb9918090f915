#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""dropped_datagram.py DEVICE GID_INDEX: a datagram between two QPs of DEVICE, with a Q_Key that the receiver does not have;
prints the status of its completion."""
import sys
import time

from pyverbs.addr import AH, AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
try:
    import pyverbs.libibverbs_enums as e
except ImportError:
    import pyverbs.enums as e

device, index = sys.argv[1], int(sys.argv[2])
context = Context(name=device)
pd, cq = PD(context), CQ(context, 16)
cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
sender, receiver = (QP(pd, QPInitAttr(qp_type=e.IBV_QPT_UD, scq=cq, rcq=cq, cap=cap)) for _ in range(2))
for qp in sender, receiver:
    attr = QPAttr(port_num=1)
    attr.qkey = 0x1111
    qp.to_rts(attr)
ah = AH(pd, attr=AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, index), sgid_index=index), is_global=1, port_num=1))
mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
wr = SendWR(wr_id=7, opcode=e.IBV_WR_SEND, send_flags=e.IBV_SEND_SIGNALED, num_sge=1, sg=[SGE(mr.buf, 100, mr.lkey)])
wr.set_wr_ud(ah, receiver.qp_num, 0x2222)
sender.post_send(wr)
wcs = []
while not wcs:
    wcs = cq.poll(1)[1]
    time.sleep(0.01)
print(wcs[0].status)
