# SPDX-License-Identifier: GPL-2.0
"""Two QPs of one device, for programs that begin with "DEVICE GID_INDEX" and send one request."""
import sys
import time

from pyverbs.addr import AHAttr, GlobalRoute
from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPCap, QPInitAttr
from pyverbs.wr import SGE, SendWR
try:
    import pyverbs.libibverbs_enums as e
except ImportError:
    import pyverbs.enums as e


class TwoQPs:
    def __init__(self, qp_type):
        device, index = sys.argv[1], int(sys.argv[2])
        self.context = Context(name=device)
        self.pd, self.cq = PD(self.context), CQ(self.context, 16)
        cap = QPCap(max_send_wr=4, max_recv_wr=4, max_send_sge=1, max_recv_sge=1)
        self.qps = [QP(self.pd, QPInitAttr(qp_type=qp_type, scq=self.cq, rcq=self.cq, cap=cap)) for _ in range(2)]
        self.to_itself = AHAttr(gr=GlobalRoute(dgid=self.context.query_gid(1, index), sgid_index=index), is_global=1, port_num=1)
        self.mr = MR(self.pd, 4096, e.IBV_ACCESS_LOCAL_WRITE)

    def request(self, opcode):
        """A request of 100 bytes"""
        return SendWR(wr_id=7, opcode=opcode, send_flags=e.IBV_SEND_SIGNALED, num_sge=1,
                      sg=[SGE(self.mr.buf, 100, self.mr.lkey)])

    def status(self, wr):
        """Post it to the first QP. Return: the status of its completion"""
        self.qps[0].post_send(wr)
        wcs = []
        while not wcs:
            wcs = self.cq.poll(1)[1]
            time.sleep(0.01)
        return wcs[0].status
