#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Steps in a trace of softmr's (ftrace's text; standard input) that a model of the two ends of a reliable connection does
not allow: window_model.py MTU [TRACE]

It reads the events softmr/smr_send_start, smr_send_done, smr_recv_done, smr_request, smr_aeth and smr_retry, and ends with
a line that says what was compared. The status is 1 if a step does not fit, or if there was nothing to compare.

The rules, for a requester: PSNs are given out without a gap. An answer counts if its PSN is outstanding; it acknowledges
what is before it, but no READ or atomic whose data has not come. An answer behind a missing READ response, a NAK for a gap
and a timeout send all again from the oldest PSN; of answers behind the same missing response the first one, and the first to
what was sent after that. Each of these uses up a retry; once until there is progress the requester asks again before the timeout,
which uses up none. No PSN is WINDOW ahead of the oldest. Work requests complete once, in order, when all their PSNs are
acknowledged. For a responder: it executes the PSNs one after the
other. What is behind is a duplicate, what is ahead a gap, and is not executed. And between the two: what is acknowledged
was executed before, and so was what completes.
"""
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
    if len(args) not in (1, 2):
        sys.exit(__doc__)
    if len(args) == 1:
        return check(int(args[0]), sys.stdin)
    with open(args[1], encoding="utf-8", errors="replace") as f:
        return check(int(args[0]), f)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
