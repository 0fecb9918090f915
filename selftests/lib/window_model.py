#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""A model of the two ends of a reliable connection, and what it says of a trace of softmr's.

    window_model.py check MTU [TRACE]   the steps in a trace (ftrace's text; standard input) that are none of the model
    window_model.py run FIRST COUNT     the model itself with so many seeds, on a network that loses, doubles, reorders
    window_model.py trace SEED          the steps of one run of the model, as a trace
    window_model.py broken NAME         the same, with one rule of the model broken; "broken" without a name lists them

"check" reads the events softmr/smr_send_start, smr_send_done, smr_recv_done, smr_request, smr_aeth and smr_retry. It ends
with a line that says what was compared. The status is 1 if a step does not fit, or if there was nothing to compare.

The rules, for a requester: PSNs are given out without a gap. An answer counts if its PSN is outstanding; it acknowledges
what is before it, but no READ or atomic whose data has not come. An answer behind a missing READ response, a NAK for a gap
and a timeout send all again from the oldest PSN; of answers behind the same missing response the first one, and the first to
what was sent after that. Each of these uses up a retry; once until there is progress the requester asks again before the timeout,
which uses up none. No PSN is WINDOW ahead of the oldest. Work requests complete once, in order, when all their PSNs are
acknowledged. For a responder: it executes the PSNs one after the
other. What is behind is a duplicate, what is ahead a gap, and is not executed. And between the two: what is acknowledged
was executed before, and so was what completes.
"""
import random
import re
import sys

MASK = 0xffffff
WINDOW = 1024
# READs are asked for in parts that end at multiples of this many PSNs (qp/rd_req.c)
PART, PART_MAX = 16, 256
WR = {0: "write", 1: "write_imm", 2: "send", 3: "send_imm", 4: "read", 5: "atomic", 6: "atomic"}
READ_REQUEST, ACK, ATOMIC_ACK = 0x0c, 0x11, 0x12
RESPONSES = {0x0d: "first", 0x0e: "middle", 0x0f: "last", 0x10: "only", ATOMIC_ACK: "atomic"}
NAK_PSN = 0x60
OK, DUPLICATE, GAP = 0, 2, 3


def diff(a, b):
    """How far PSN a is ahead of b, negative if it is behind"""
    return ((a - b + 0x800000) & MASK) - 0x800000


def add(psn, n):
    return (psn + n) & MASK


def holder(wqes, psn):
    """The work request that a PSN belongs to"""
    return next((w for w in wqes if 0 <= diff(psn, w.psn) < w.npsn), None)


class Wqe:
    def __init__(self, wr_id, kind, psn, npsn):
        self.wr_id, self.kind, self.psn, self.npsn = wr_id, kind, psn, npsn
        self.end = add(psn, npsn)
        self.fetches = kind in ("read", "atomic")


class Qp:
    """What the trace has shown of both sides of a QP"""

    def __init__(self, qpn):
        self.qpn, self.peer = qpn, None
        # the requester
        self.wqes, self.una, self.end = [], None, None
        self.retries = self.retry_max = None
        self.progress = self.failed = self.early = False
        self.must_retry, self.may_retry = None, False
        # the responder: the expected PSN lies between these; the READ that it is in
        self.low = self.high = None
        self.read = None
        self.received = self.sends_begun = self.sends_done = 0

    def head(self):
        return self.wqes[0] if self.wqes else None


class Checker:
    def __init__(self, mtu, window=WINDOW):
        self.mtu, self.window, self.qps, self.bad = mtu, window, {}, []
        self.counts = dict.fromkeys(("started", "completed", "requests", "duplicates", "gaps", "answers", "naks",
                                     "retries", "timeouts", "paired", "missing"), 0)
        self.now = ""

    def qp(self, qpn):
        return self.qps.setdefault(qpn, Qp(qpn))

    def wrong(self, qp, what):
        self.bad.append(f"qp {qp.qpn:#x}: {what}{self.now}")

    def event(self, name, f, text=""):
        self.now = f": {text}" if text else f": {name} {f}"
        qp = self.qp(f["qpn"])
        if qp.must_retry and name in ("smr_aeth", "smr_send_start"):
            self.wrong(qp, f"no retry follows {qp.must_retry}")
            qp.must_retry = None
        getattr(self, name[len("smr_"):], lambda *_: None)(qp, f)

    # -- the requester

    def send_start(self, qp, f):
        kind = WR.get(f["opcode"])
        if not kind:
            return
        npsn = 1 if kind == "atomic" else max(1, -(-f["len"] // self.mtu))
        if f["npsn"] != npsn:
            self.wrong(qp, f"the message takes {npsn} PSNs")
        if qp.end is not None and f["psn"] != qp.end:
            self.wrong(qp, f"PSNs begin at {qp.end:#x}")
        if qp.una is None:
            qp.una = f["psn"]
        qp.wqes.append(Wqe(f["wr_id"], kind, f["psn"], f["npsn"]))
        qp.end = qp.wqes[-1].end
        qp.sends_begun += kind in ("send", "send_imm", "write_imm")
        self.counts["started"] += 1

    def seen_una(self, qp, una):
        """The driver's oldest PSN. READ responses in the middle have no AETH, and so no event"""
        if una == qp.una:
            return
        head = qp.head()
        if qp.una is None or not head or head.kind != "read" or not 0 < diff(una, qp.una) < diff(head.end, qp.una):
            self.wrong(qp, f"the oldest PSN is {qp.una if qp.una is None else hex(qp.una)}")
        else:
            qp.progress = True
            qp.may_retry = False
        qp.una = una

    def acked_before(self, qp, psn):
        """All PSNs before psn are acknowledged; False: a READ among them waits for its data"""
        for wqe in qp.wqes:
            if diff(psn, qp.una) <= 0:
                break
            if diff(wqe.end, qp.una) <= 0:
                continue
            if wqe.fetches:
                return False
            qp.una = psn if diff(psn, wqe.end) < 0 else wqe.end
            qp.progress = True
        return True

    def aeth(self, qp, f):
        psn, opcode, syndrome = f["psn"], f["opcode"] & 0x1f, f["syndrome"]
        self.counts["answers"] += 1
        self.retired(qp)
        self.seen_una(qp, f["una"])
        self.answered(qp, psn, opcode, syndrome)
        if qp.una is None or diff(psn, qp.una) < 0 or diff(psn, qp.end) >= 0:
            return
        if opcode in RESPONSES:
            self.response(qp, psn, RESPONSES[opcode])
        elif syndrome >> 5 == 0:
            self.before(qp, add(psn, 1))
        else:
            gap = not self.acked_before(qp, psn)
            qp.may_retry |= gap
            if syndrome == NAK_PSN:
                self.counts["naks"] += 1
                if not gap:
                    qp.must_retry = "a NAK"

    def before(self, qp, psn):
        """All before psn is executed, and acknowledged unless this returns False: a response is missing"""
        acked = self.acked_before(qp, psn)
        if not acked:
            qp.may_retry = True
            self.counts["missing"] += 1
        return acked

    def response(self, qp, psn, kind):
        if not self.before(qp, psn):
            return
        wqe = next((w for w in qp.wqes if diff(w.end, qp.una) > 0), None)
        if not wqe or not wqe.fetches or psn != qp.una:
            self.wrong(qp, f"a response that answers nothing, the oldest PSN being {qp.una:#x}")
            return
        if kind in ("first", "middle") and add(psn, 1) == wqe.end:
            self.wrong(qp, "a response that is not the last of the READ at its end")
        qp.una, qp.progress, qp.may_retry = add(psn, 1), True, False

    def retry(self, qp, f):
        self.counts["retries"] += 1
        self.seen_una(qp, f["una"])
        if qp.una is not None and not 0 <= diff(f["psn"], f["una"]) <= min(diff(qp.end, f["una"]), self.window):
            self.wrong(qp, "the next PSN is outside the window")
        if not (qp.may_retry or qp.must_retry):
            self.counts["timeouts"] += 1
        qp.early &= not qp.progress
        if qp.retries is not None and not qp.progress and f["retries_left"] != qp.retries - 1:
            # Once it asks before the timeout, which uses up no retry (qp/rto.c)
            if f["retries_left"] != qp.retries or qp.early:
                self.wrong(qp, f"without progress, {qp.retries - 1} retries are left")
            qp.early = True
        if qp.retry_max is None:
            qp.retry_max = f["retries_left"]
        elif qp.progress and f["retries_left"] != qp.retry_max:
            self.wrong(qp, f"after progress, {qp.retry_max} retries are left")
        qp.retries, qp.progress, qp.may_retry, qp.must_retry = f["retries_left"], False, False, None

    def send_done(self, qp, f):
        if f["status"] or qp.failed:
            qp.failed = True
            return
        wqe = qp.head()
        self.counts["completed"] += 1
        if not wqe or wqe.wr_id != f["wr_id"]:
            self.wrong(qp, "this is not the oldest work request")
            return
        if diff(wqe.end, qp.una) > 0 and not wqe.fetches and any(w.kind == "read" for w in qp.wqes[1:]):
            # A response in the middle of a READ behind it acknowledges it, and has no event; the READ's first is missing
            qp.una, qp.progress, qp.may_retry = wqe.end, True, True
        elif diff(wqe.end, qp.una) > 0:
            self.wrong(qp, f"not acknowledged: it ends at {wqe.end:#x}, the oldest PSN is {qp.una:#x}")
            qp.una = wqe.end
        if qp.peer and qp.peer.high is not None and diff(wqe.end, qp.peer.high) > 0:
            self.wrong(qp, f"the peer has not executed it: it expects {qp.peer.high:#x}")
        qp.sends_done += wqe.kind in ("send", "send_imm", "write_imm")
        qp.wqes.pop(0)

    def retired(self, qp):
        """An answer before this one has acknowledged it, so it must be complete"""
        if qp.wqes and not qp.failed and diff(qp.wqes[0].end, qp.una) <= 0:
            self.wrong(qp, f"wr_id {qp.wqes[0].wr_id:#x} is acknowledged, and has not completed")
            qp.wqes.pop(0)

    def answered(self, qp, psn, opcode, syndrome):
        """The peer must have executed what it acknowledges"""
        peer = qp.peer
        if not peer or peer.high is None:
            return
        last = psn if opcode in RESPONSES or syndrome >> 5 == 0 else add(psn, -1)
        if diff(last, peer.high) >= 0:
            self.wrong(qp, f"an answer to what the peer has not executed: it expects {peer.high:#x}")

    # -- the responder

    def pair(self, qp):
        """The peer is the only other QP that has something outstanding"""
        if qp.peer:
            return
        others = [q for q in self.qps.values() if q is not qp and q.wqes and not q.peer]
        if len(others) == 1:
            qp.peer, others[0].peer = others[0], qp
            self.counts["paired"] += 1

    def request(self, qp, f):
        # a step other than 0: it is tried again
        if f["local"] or f["step"]:
            return
        psn, verdict, opcode = f["psn"], f["verdict"], f["opcode"] & 0x1f
        self.counts["requests"] += 1
        self.pair(qp)
        if qp.peer:
            self.sent_by(qp, qp.peer, psn)
        if qp.low is None and verdict == OK:
            qp.low = qp.high = psn
        if qp.low is None:
            return
        if verdict == OK:
            self.executed(qp, psn, opcode, f["len"])
        elif verdict == DUPLICATE:
            self.counts["duplicates"] += 1
            if diff(psn, qp.high) >= 0:
                self.wrong(qp, f"no duplicate: {qp.high:#x} is expected")
        elif verdict == GAP:
            self.counts["gaps"] += 1
            if diff(psn, qp.low) <= 0:
                self.wrong(qp, f"no gap: {qp.low:#x} is expected")

    def sent_by(self, qp, peer, psn):
        # Within a READ, the oldest PSN moves on without an event as far as the end of the part
        if peer.end is None or diff(psn, peer.end) >= 0:
            self.wrong(qp, "the peer has no such PSN" + (f": its PSNs end at {peer.end:#x}" if peer.end else ""))
        elif diff(psn, peer.una) >= self.window + (PART_MAX if peer.head() and peer.head().kind == "read" else 0):
            self.wrong(qp, f"outside the window: the peer's oldest PSN is {peer.una:#x}")

    def executed(self, qp, psn, opcode, length):
        if not diff(qp.low, psn) <= 0 <= diff(qp.high, psn):
            self.wrong(qp, f"executed out of order: {qp.low:#x} is expected, or up to {qp.high:#x}")
        if qp.read and psn != qp.read.end and diff(psn, qp.read.end) < 0:
            if opcode != READ_REQUEST or diff(psn, qp.read.psn) % PART:
                self.wrong(qp, "not the next part of the READ")
        qp.read, npsn = None, max(1, -(-length // self.mtu))
        qp.low = qp.high = add(psn, npsn)
        if opcode != READ_REQUEST:
            return
        # how many PSNs were asked for has no event
        qp.read = qp.peer and next((w for w in qp.peer.wqes if w.kind == "read" and
                                    0 <= diff(psn, w.psn) < w.npsn), None)
        if qp.peer and not qp.read:
            self.wrong(qp, "the peer has no READ here")
        qp.high = qp.read.end if qp.read else add(psn, 0x7fffff)

    def recv_done(self, qp, f):
        qp.received += not f["status"]

    # -- the end

    def finish(self):
        self.now = ""
        for qp in self.qps.values():
            peer = qp.peer
            if peer and not qp.failed and not peer.sends_done <= qp.received <= peer.sends_begun:
                self.wrong(qp, f"{qp.received} receives for {peer.sends_done} sends")


# -- the model

BREAKS = ("execute_duplicates", "execute_ahead", "execute_atomic_again", "ack_over_read", "ack_ahead", "response_any",
          "nak_ignored", "timeout_ignored", "window_ignored", "complete_early", "complete_never")
# So many seeds are tried
SEEDS = 50


# READs and atomics that are outstanding at most: max_rd_atomic, max_dest_rd_atomic
READS = 4


class Requester:
    def __init__(self, sim, messages):
        self.sim, self.messages, self.window = sim, messages, sim.random.choice((16, 24, 64))
        self.una = self.psn = self.top = self.begin = 0xfffff0 & MASK
        self.wqes, self.started, self.gap, self.retries = [], 0, False, 7
        self.data, self.done, self.fetching = {}, [], []
        # What was sent when an answer last showed a missing response ends here
        self.gap_end = self.una

    def emit(self, name, **fields):
        self.sim.emit(name, qpn=1, **fields)

    def idle(self):
        return len(self.done) == len(self.messages)

    def head(self):
        return self.wqes[0] if self.wqes else None

    # What is sent next, a packet at a time. A READ is asked for in parts
    def send(self):
        wqe = holder(self.wqes, self.psn)
        if not wqe:
            if self.started == len(self.messages) or diff(self.psn, self.una) >= self.window:
                return False
            kind, npsn = self.messages[self.started]
            wqe = Wqe(self.started, kind, self.psn, npsn)
            self.emit("smr_send_start", wr_id=wqe.wr_id, len=npsn, psn=wqe.psn, npsn=npsn,
                      opcode={"write": 0, "send": 2, "read": 4, "atomic": 5}[kind])
            self.started += 1
            self.wqes.append(wqe)
        n = 1
        if wqe.kind == "read":
            first = diff(self.psn, wqe.psn)
            part = self.sim.random.choice((PART, 2 * PART)) if self.psn == self.top else PART
            n = min(wqe.npsn, (first | (part - 1)) + 1) - first
        self.fetching = [end for end in self.fetching if diff(end, self.una) > 0]
        if wqe.fetches and len(self.fetching) >= READS:
            return False
        room = self.window - diff(self.psn, self.una)
        if (room <= 0 or n > room and self.psn != self.una) and not self.sim.broken("window_ignored"):
            return False
        self.sim.to_peer((wqe.kind, self.psn, n, wqe.wr_id))
        self.psn = add(self.psn, n)
        if wqe.fetches:
            self.fetching.append(self.psn)
        if diff(self.psn, self.top) > 0:
            self.top = self.psn
        return True

    def complete(self, wqe):
        self.wqes.pop(0)
        if self.sim.broken("complete_never") and wqe.wr_id == 3:
            return
        self.done.append(wqe.wr_id)
        self.emit("smr_send_done", wr_id=wqe.wr_id, status=0)

    def advance(self, psn):
        self.una, self.retries = psn, 7
        if diff(psn, self.psn) > 0:
            self.psn = psn

    def acked_before(self, psn):
        while diff(psn, self.una) > 0:
            wqe = self.head()
            if not wqe:
                return True
            if wqe.fetches and not self.sim.broken("ack_over_read"):
                return False
            if diff(psn, wqe.end) < 0:
                self.advance(psn)
                if self.sim.broken("complete_early"):
                    self.complete(wqe)
                return True
            self.complete(wqe)
            self.advance(wqe.end)
        return True

    def retry(self):
        self.emit("smr_retry", una=self.una, psn=self.psn, retries_left=self.retries)
        # The network of the model always gives in at last
        self.retries = max(self.retries - 1, 1)
        self.psn, self.fetching = self.una, []

    # A response is missing, as the answer at psn shows
    def missing(self, psn):
        if not self.gap or diff(psn, self.gap_end) >= 0:
            self.gap, self.gap_end = True, self.top
            self.retry()

    def take(self, packet):
        what, psn, syndrome, part = packet
        opcode = {"ack": ACK, "first": 0x0d, "middle": 0x0e, "last": 0x0f, "only": 0x10, "atomic": ATOMIC_ACK}[what]
        if what != "middle":
            self.emit("smr_aeth", opcode=opcode, syndrome=syndrome, psn=psn, una=self.una)
        if diff(psn, self.una) < 0 or diff(psn, self.top) >= 0:
            return
        if what == "ack":
            nak = syndrome == NAK_PSN
            acked = self.acked_before(psn if nak else add(psn, 1))
            if not acked:
                self.missing(psn)
            elif nak and self.head() and not self.sim.broken("nak_ignored"):
                self.retry()
            return
        if not self.acked_before(psn) and not self.sim.broken("response_any"):
            self.missing(psn)
            return
        wqe = self.head()
        if not wqe or not wqe.fetches or psn != self.una and not self.sim.broken("response_any"):
            return
        self.data[psn] = part
        self.gap = False
        if add(psn, 1) == wqe.end:
            self.complete(wqe)
        self.advance(add(psn, 1))

    def timeout(self):
        if self.una == self.top or self.sim.broken("timeout_ignored"):
            return
        self.gap = False
        self.retry()


class Responder:
    def __init__(self, sim, psn):
        self.sim, self.epsn, self.first = sim, psn, psn
        self.executed, self.reads, self.atomics, self.nak_sent, self.acks = [], [], {}, False, 0

    def emit(self, psn, kind, verdict):
        self.sim.emit("smr_request", qpn=2, psn=psn, len=0 if kind in ("read", "atomic") else 1, local=0, step=0, verdict=verdict,
                      opcode={"write": 0x06, "send": 0x00, "read": READ_REQUEST, "atomic": 0x14}[kind])

    def take(self, packet):
        kind, psn, n, wr_id = packet
        ahead = diff(psn, self.epsn)
        if ahead > 0 and not self.sim.broken("execute_ahead"):
            self.emit(psn, kind, GAP)
            if self.sim.broken("ack_ahead"):
                self.sim.back(("ack", psn, 0, None))
            elif not self.nak_sent:
                self.nak_sent, self.acks = True, 0
                self.sim.back(("ack", self.epsn, NAK_PSN, None))
        elif ahead < 0 and not self.sim.broken("execute_duplicates"):
            self.emit(psn, kind, DUPLICATE)
            self.duplicate(kind, psn, n)
        else:
            self.emit(psn, kind, OK)
            self.execute(kind, psn, n, wr_id)

    def execute(self, kind, psn, n, wr_id):
        self.executed += [add(psn, i) for i in range(n)]
        self.epsn, self.nak_sent = add(psn, n), False
        if kind == "read":
            self.acks = 0
            self.reads = (self.reads + [(psn, n)])[-READS:]
            self.answer(psn, n)
        elif kind == "atomic":
            self.acks = 0
            self.atomics[psn] = self.atomics.get(psn, 0) + 1
            self.sim.back(("atomic", psn, 0, psn))
        else:
            if psn in self.sim.ends:
                self.sim.emit("smr_recv_done", qpn=2, wr_id=0, status=0, len=0)
            self.acks += 1
            if self.sim.random.random() < 0.3:
                self.flush()

    def duplicate(self, kind, psn, n):
        if kind == "read":
            if any(diff(psn, at) >= 0 and diff(psn, at) + n <= size for at, size in self.reads):
                self.answer(psn, n)
        elif kind == "atomic":
            if self.sim.broken("execute_atomic_again"):
                self.atomics[psn] = self.atomics.get(psn, 0) + 1
            if psn in self.atomics:
                self.sim.back(("atomic", psn, 0, psn))
        else:
            self.acks += 1

    def answer(self, psn, n):
        for i in range(n):
            what = "only" if n == 1 else "first" if not i else "last" if i == n - 1 else "middle"
            self.sim.back((what, add(psn, i), 0, add(psn, i)))

    def flush(self):
        if self.acks:
            self.acks = 0
            self.sim.back(("ack", add(self.epsn, -1), 0, None))


class Sim:
    """Two ends, and a network that loses, doubles and reorders. All that is random comes from the seed"""

    STEPS = 20000

    def __init__(self, seed, broken=None):
        self.random, self.rule = random.Random(seed), broken
        kinds = [(self.random.choice(("send", "write", "read", "atomic")), self.random.randint(1, 50)) for _ in range(12)]
        messages = [(kind, 1 if kind == "atomic" else npsn) for kind, npsn in kinds]
        self.loss, self.double = self.random.choice((0, 0.02, 0.1)), self.random.choice((0, 0.05))
        self.reorder = self.random.choice((0, 0.05))
        self.there, self.here = [], []
        self.requester = Requester(self, messages)
        self.responder = Responder(self, self.requester.una)
        # The last PSNs of SENDs
        self.ends, at = set(), self.requester.una
        for kind, npsn in messages:
            at = add(at, npsn)
            if kind == "send":
                self.ends.add(add(at, -1))
        self.checker = Checker(1, self.requester.window + 2 * PART)
        for qpn in 1, 2:
            self.checker.qp(qpn)
        self.checker.qp(1).peer, self.checker.qp(2).peer = self.checker.qp(2), self.checker.qp(1)
        # A QP that is connected expects the first PSN of its peer
        self.checker.qp(2).low = self.checker.qp(2).high = self.requester.una

    def broken(self, rule):
        return self.rule == rule

    def emit(self, name, **fields):
        self.checker.event(name, fields)

    def put(self, queue, packet):
        if self.random.random() < self.loss:
            return
        for _ in range(2 if self.random.random() < self.double else 1):
            at = len(queue)
            if queue and self.random.random() < self.reorder:
                at = self.random.randrange(len(queue))
            queue.insert(at, packet)

    def to_peer(self, packet):
        self.put(self.there, packet)

    def back(self, packet):
        self.put(self.here, packet)

    def run(self):
        """What went wrong, a list"""
        for _ in range(self.STEPS):
            if self.requester.idle():
                break
            can = [what for what, has in (("there", self.there), ("here", self.here), ("send", True)) if has]
            what = self.random.choice(can)
            if what == "there":
                self.responder.take(self.there.pop(0))
            elif what == "here":
                self.requester.take(self.here.pop(0))
            elif not self.requester.send() and not self.there:
                self.responder.flush()
                if not self.here:
                    self.requester.timeout()
        return self.judge() + self.checker.bad

    def judge(self):
        requester, responder = self.requester, self.responder
        if not requester.idle():
            return [f"no end: {len(requester.done)} of {len(requester.messages)} complete"]
        bad = []
        if requester.done != list(range(len(requester.messages))):
            bad.append("work requests did not complete once, in order")
        want = [add(requester.begin, i) for i in range(sum(npsn for _, npsn in requester.messages))]
        if responder.executed != want:
            bad.append("PSNs were not executed once, in order")
        if any(n != 1 for n in responder.atomics.values()):
            bad.append("an atomic was executed twice")
        at = requester.begin
        for wr_id, (kind, npsn) in enumerate(requester.messages):
            if kind in ("read", "atomic") and any(requester.data.get(add(at, i)) != add(at, i) for i in range(npsn)):
                bad.append(f"the data of {kind} {wr_id} is not complete, or not in its place")
            at = add(at, npsn)
        return bad


def run(first, count):
    """The number of seeds that went wrong"""
    wrong = 0
    for seed in range(first, first + count):
        bad = Sim(seed).run()
        if bad:
            wrong += 1
            print(f"seed {seed}: {len(bad)} wrong: {bad[0]}")
    return wrong


def trace(seed):
    sim, told = Sim(seed), []
    emit = sim.emit

    def tell(name, **fields):
        told.append(f"{name}: " + " ".join(f"{key}={value}" for key, value in fields.items()))
        emit(name, **fields)

    sim.emit = tell
    sim.run()
    print("\n".join(told))


LINE = re.compile(r"(smr_\w+): (.*)")
# names are left out
FIELD = re.compile(r"(\w+)=(0x[0-9a-f]+|\d+)(?!\S)")


def check(mtu, lines):
    checker = Checker(mtu)
    for line in lines:
        found = LINE.search(line)
        if "LOST" in line and "EVENTS" in line:
            checker.bad.append("the trace has lost events")
        if found:
            fields = {key: int(value, 0) for key, value in FIELD.findall(found[2])}
            checker.event(found[1], fields, line.strip())
    checker.finish()
    for bad in checker.bad[:20]:
        print(bad)
    counts = checker.counts
    print(f"{len(checker.bad)} steps do not fit:", ", ".join(f"{n} {what}" for what, n in counts.items()))
    return bool(checker.bad) or not counts["paired"] or not counts["completed"]


def main(args):
    if args[:1] == ["check"] and len(args) in (2, 3):
        if len(args) == 2:
            return check(int(args[1]), sys.stdin)
        with open(args[2], encoding="utf-8", errors="replace") as f:
            return check(int(args[1]), f)
    if args[:1] == ["run"] and len(args) == 3:
        wrong = run(int(args[1]), int(args[2]))
        print(f"{args[2]} seeds, {wrong} wrong")
        return bool(wrong)
    if args[:1] == ["trace"] and len(args) == 2:
        return trace(int(args[1]))
    if args == ["broken"]:
        print("\n".join(BREAKS))
        return 0
    if args[:1] == ["broken"] and len(args) == 2 and args[1] in BREAKS:
        wrong = next((seed for seed in range(1, 1 + SEEDS) if Sim(seed, args[1]).run()), None)
        print(f"{args[1]}: seed {wrong} goes wrong" if wrong else f"{args[1]}: {SEEDS} seeds, none wrong")
        return bool(wrong)
    sys.exit(__doc__)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
