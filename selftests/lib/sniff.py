#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""sniff.py DEVICE PCAP: write what the RDMA device's sniffer sees to PCAP, until SIGTERM; prints "listening" first.

That is a RAW_PACKET QP with a flow of type IBV_FLOW_ATTR_SNIFFER, as libpcap's RDMA sniffer has.
"""
import signal
import struct
import sys
import time

from pyverbs.cq import CQ
from pyverbs.device import Context
from pyverbs.flow import Flow, FlowAttr
from pyverbs.mr import MR
from pyverbs.pd import PD
from pyverbs.qp import QP, QPAttr, QPCap, QPInitAttr
from pyverbs.wr import SGE, RecvWR
try:
    import pyverbs.libibverbs_enums as e
except ImportError:
    import pyverbs.enums as e

SLOTS, SLOT = 2048, 9216
running = True


def stop(*_):
    global running
    running = False


def main(device, path):
    signal.signal(signal.SIGTERM, stop)
    context = Context(name=device)
    pd = PD(context)
    cq = CQ(context, SLOTS)
    qp = QP(pd, QPInitAttr(qp_type=e.IBV_QPT_RAW_PACKET, scq=cq, rcq=cq,
                           cap=QPCap(max_send_wr=1, max_recv_wr=SLOTS, max_send_sge=1, max_recv_sge=1)), QPAttr(port_num=1))
    mr = MR(pd, SLOTS * SLOT, e.IBV_ACCESS_LOCAL_WRITE)

    def post(slot):
        qp.post_recv(RecvWR(wr_id=slot, num_sge=1, sg=[SGE(mr.buf + slot * SLOT, SLOT, mr.lkey)]))

    for slot in range(SLOTS):
        post(slot)
    flow = Flow(qp, FlowAttr(num_of_specs=0, flow_type=e.IBV_FLOW_ATTR_SNIFFER, port=1))
    with open(path, "wb") as out:
        # Ethernet
        out.write(struct.pack("<IHHiIII", 0xa1b2c3d4, 2, 4, 0, 0, 65535, 1))
        print("listening", flush=True)
        while running:
            for wc in cq.poll(64)[1]:
                data = mr.read(wc.byte_len, wc.wr_id * SLOT)
                now = time.time()
                out.write(struct.pack("<IIII", int(now), int(now * 1e6) % 1000000, len(data), len(data)) + data)
                post(wc.wr_id)
            out.flush()
    flow.close()


main(*sys.argv[1:])
