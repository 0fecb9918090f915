#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""refused_write.py DEVICE GID_INDEX [SECONDS]: a WRITE between two QPs of DEVICE with an rkey that no region has; prints the
status of its completion, and the two numbers of the QPs; and keeps them for so long."""
import sys
import time

from pyverbs.addr import AHAttr, GlobalRoute
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
qps = [QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RC, scq=cq, rcq=cq, cap=cap)) for _ in range(2)]
for qp, peer in (qps, qps[::-1]):
    attr = QPAttr(port_num=1)
    attr.qp_access_flags = e.IBV_ACCESS_REMOTE_WRITE
    attr.path_mtu = e.IBV_MTU_1024
    attr.dest_qp_num = peer.qp_num
    attr.max_rd_atomic = attr.max_dest_rd_atomic = 1
    attr.min_rnr_timer, attr.timeout, attr.retry_cnt, attr.rnr_retry = 12, 14, 7, 7
    attr.ah_attr = AHAttr(gr=GlobalRoute(dgid=context.query_gid(1, index), sgid_index=index), is_global=1, port_num=1)
    qp.to_rts(attr)
mr = MR(pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)
wr = SendWR(wr_id=7, opcode=e.IBV_WR_RDMA_WRITE, send_flags=e.IBV_SEND_SIGNALED, num_sge=1,
            sg=[SGE(mr.buf, 100, mr.lkey)])
wr.set_wr_rdma(0xdead00, 0x1000)
qps[0].post_send(wr)
wcs = []
while not wcs:
    wcs = cq.poll(1)[1]
    time.sleep(0.01)
print(wcs[0].status, *(hex(qp.qp_num) for qp in qps), flush=True)
time.sleep(float(sys.argv[3]) if sys.argv[3:] else 0)
