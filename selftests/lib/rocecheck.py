#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the RoCEv2 packets of a capture: rocecheck.py [--decoded FILE] PCAP MTU OPCODE...

Every packet must fit the MTU and have right lengths, right checksums, a right ICRC (IBTA annex A17, by
zlib's CRC32), and each field of its headers as IBTA chapter 9 defines it: flags and reserved bits, a PSN that
continues its flow, the packets and the length of a message, and answers that fit the requests before them. Each
OPCODE must occur. Prints what is wrong; exits 1 if something is.

FILE is what tshark says of the capture, a line a packet, with these fields, comma-separated where there are several:
    frame.protocols infiniband.bth.opcode infiniband.invariant.crc _ws.malformed _ws.expert.severity
    _ws.expert.message
It must find nothing amiss, and see the same opcode and the ICRC at the same place.
"""
import argparse
import bisect
import collections
import struct
import sys
import zlib

BTH, UDP, ICRC = 12, 8, 4
ROCE_PORT = 4791

# what follows the transport's bits of the opcode: name, bytes of extended headers, carries payload
OPERATIONS = {
    0x00: ("SEND_FIRST", 0, True), 0x01: ("SEND_MIDDLE", 0, True), 0x02: ("SEND_LAST", 0, True),
    0x03: ("SEND_LAST_IMM", 4, True), 0x04: ("SEND_ONLY", 0, True), 0x05: ("SEND_ONLY_IMM", 4, True),
    0x06: ("WRITE_FIRST", 16, True), 0x07: ("WRITE_MIDDLE", 0, True), 0x08: ("WRITE_LAST", 0, True),
    0x09: ("WRITE_LAST_IMM", 4, True), 0x0a: ("WRITE_ONLY", 16, True), 0x0b: ("WRITE_ONLY_IMM", 20, True),
    0x0c: ("READ_REQUEST", 16, False), 0x0d: ("READ_RESP_FIRST", 4, True), 0x0e: ("READ_RESP_MIDDLE", 0, True),
    0x0f: ("READ_RESP_LAST", 4, True), 0x10: ("READ_RESP_ONLY", 4, True), 0x11: ("ACK", 4, False),
    0x12: ("ATOMIC_ACK", 12, False), 0x13: ("CMP_SWAP", 28, False), 0x14: ("FETCH_ADD", 28, False),
    0x16: ("SEND_LAST_INV", 4, True), 0x17: ("SEND_ONLY_INV", 4, True), 0x1c: ("FLUSH", 20, False),
    0x1d: ("ATOMIC_WRITE", 16, True),
}
XRC = 0xa0
# prefix of the names, bytes of a header that requests have besides, operations
TRANSPORTS = {
    0x00: ("", 0, OPERATIONS), 0x20: ("UC_", 0, range(0x0c)), 0x60: ("UD_", 8, (0x04, 0x05)),
    XRC: ("XRC_", 4, range(0x18)),
}
RESPONSES = ("READ_RESP", "ACK", "ATOMIC_ACK")
# Their answer has data, or is a READ response without
ANSWERED = ("READ_REQUEST", "CMP_SWAP", "FETCH_ADD", "ATOMIC_WRITE", "FLUSH")
RETH = ("WRITE_FIRST", "WRITE_ONLY", "READ_REQUEST", "ATOMIC_WRITE", "FLUSH")
MTUS = (256, 512, 1024, 2048, 4096)
# They may ask for an event at the receiver
SOLICITED = ("SEND_LAST", "SEND_ONLY", "WRITE_LAST_IMM", "WRITE_ONLY_IMM")
# BTH: SE, MigReq; A is in the word of the PSN. Types of an AETH
SE, MIGREQ, ACK_REQ = 0x80, 0x40, 1 << 31
ACKED, RNR, NAK = 0x00, 0x20, 0x60
NAK_CODES = 5
PSNS, HALF = 1 << 24, 1 << 23
SEVERITY_WARN = 0x600000

Packet = collections.namedtuple("Packet", "opcode transport name ends qpn psn length dma_len syndrome msn")


class Bad(Exception):
    pass


def need(condition, what):
    if not condition:
        raise Bad(what)


def packets(path):
    with open(path, "rb") as f:
        data = f.read()
    order = {0xa1b2c3d4: "<", 0xd4c3b2a1: ">"}[struct.unpack_from("<I", data)[0]]
    pos = 24
    while pos < len(data):
        caplen, origlen = struct.unpack_from(order + "8xII", data, pos)
        yield data[pos + 16:pos + 16 + caplen], origlen
        pos += 16 + caplen


def ones_sum(data):
    total = sum(struct.unpack(f">{(len(data) + 1) // 2}H", data + b"\0" * (len(data) % 2)))
    while total >> 16:
        total = (total & 0xffff) + (total >> 16)
    return total


def masked_ip4(ip):
    """What the ICRC covers of the IP header; mutable fields count as ones."""
    need(ip[0] == 0x45, "IPv4 header with options")
    need(struct.unpack_from(">H", ip, 2)[0] == len(ip), "IPv4 total length")
    need(ones_sum(ip[:20]) == 0xffff, "IPv4 header checksum")
    need(struct.unpack_from(">H", ip, 6)[0] & 0x3fff == 0, "IPv4 fragment")
    header = bytearray(ip[:20])
    header[1] = header[8] = header[10] = header[11] = 0xff
    return bytes(header), ip[12:20], ip[9]


def masked_ip6(ip):
    need(struct.unpack_from(">H", ip, 4)[0] == len(ip) - 40, "IPv6 payload length")
    header = bytearray(ip[:40])
    header[0] |= 0x0f
    header[1] = header[2] = header[3] = header[7] = 0xff
    return bytes(header), ip[8:40], ip[6]


def check_udp(udp, addresses, protocol):
    need(protocol == 17, "not UDP")
    dport, length, checksum = struct.unpack_from(">2xHHH", udp)
    need(dport == ROCE_PORT, "UDP port")
    need(length == len(udp), "UDP length")
    pseudo = addresses + struct.pack(">II", length, 17)
    need(not checksum or ones_sum(pseudo + udp) == 0xffff, "UDP checksum")


def check_icrc(header, udp):
    masked = bytearray(udp[:-ICRC])
    masked[6] = masked[7] = 0xff
    masked[UDP + 4] = 0xff
    crc = zlib.crc32(b"\xff" * 8 + header + bytes(masked))
    need(crc == struct.unpack("<I", udp[-ICRC:])[0], "ICRC")


def check_extended(transport, name, body, length):
    """The headers after the BTH. Returns the length in the RETH, and of the AETH its syndrome and the MSN."""
    at, dma_len, syndrome, msn = 0, 0, None, None
    if name.startswith(RESPONSES):
        if "MIDDLE" not in name:
            syndrome, msn = body[0], int.from_bytes(body[1:4], "big")
            kind, value = syndrome & 0xe0, syndrome & 0x1f
            need(kind == ACKED or name == "ACK" and (kind == RNR or kind == NAK and value < NAK_CODES),
                 f"AETH syndrome {syndrome:#x}")
        return dma_len, syndrome, msn
    if transport == "UD_":
        need(body[4] == 0 and any(body[5:8]), "DETH")
        at = 8
    elif transport == "XRC_":
        need(body[0] == 0, "XRCETH")
        at = 4
    if name == "FLUSH":
        feth = int.from_bytes(body[at:at + 4], "big")
        need(not feth >> 6 and feth & 0xf in (1, 2, 3) and feth >> 4 in (0, 1), f"FETH {feth:#x}")
        at += 4
    if name.startswith(RETH):
        dma_len = int.from_bytes(body[at + 12:at + 16], "big")
        need(dma_len <= 1 << 31 and (not length or dma_len >= length), f"RETH length {dma_len}")
        need("ONLY" not in name or dma_len == length, f"RETH length {dma_len} of {length} bytes")
    if name in ("CMP_SWAP", "FETCH_ADD", "ATOMIC_WRITE"):
        need(not body[at + 7] % 8, "address of an atomic")
        need(name != "ATOMIC_WRITE" or (length, dma_len) == (8, 8), "length of an atomic")
    return dma_len, syndrome, msn


def check_bth(bth, body):
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", bth)
    transport, besides, operations = TRANSPORTS.get(opcode & 0xe0, ("", 0, ()))
    need(opcode & 0x1f in operations and opcode & 0x1f in OPERATIONS, f"opcode {opcode:#x}")
    name, extended, payload = OPERATIONS[opcode & 0x1f]
    if not name.startswith(RESPONSES):
        extended += besides
    need(not flags & 0x0f, "header version")
    need(pkey & 0x7fff == 0x7fff, "P_Key")
    need(flags & MIGREQ, "MigReq is 0")
    need(not flags & SE or name.startswith(SOLICITED), "SE")
    # a CNP would have BECN; there is none in these captures
    need(not qpn >> 24, "FECN, BECN or reserved bits beside the QP number")
    need(not psn >> 24 & 0x7f, "reserved bits beside the PSN")
    need(not psn & ACK_REQ or transport in ("", "XRC_") and not name.startswith(RESPONSES), "A")
    pad = flags >> 4 & 3
    length = len(body) - extended - pad
    need(len(body) % 4 == 0, "not padded to 4 bytes")
    need(length >= 0, "too short for its opcode")
    need(payload or length == 0, "payload where there is none")
    need(not pad or not body[-pad:].strip(b"\0"), "padding is not zero")
    ends = not name.endswith(("FIRST", "MIDDLE"))
    return Packet(opcode, transport, name, ends, qpn, psn % PSNS, length,
                  *check_extended(transport, name, body, length))


def check_packet(frame, origlen, mtu):
    need(len(frame) == origlen, "cut off in the capture")
    need(len(frame) - 14 <= mtu, f"{len(frame) - 14} bytes are more than the MTU")
    ethertype = struct.unpack_from(">H", frame, 12)[0]
    ip = frame[14:]
    if ethertype == 0x0800:
        header, addresses, protocol = masked_ip4(ip)
    else:
        need(ethertype == 0x86dd, "neither IPv4 nor IPv6")
        header, addresses, protocol = masked_ip6(ip)
    udp = ip[len(header):]
    need(len(udp) >= UDP + BTH + ICRC, "too short")
    check_udp(udp, addresses, protocol)
    check_icrc(header, udp)
    half = len(addresses) // 2
    return addresses[:half], addresses[half:], check_bth(udp[UDP:UDP + BTH], udp[UDP + BTH:-ICRC])


def parts(length, mtu):
    return max(1, -(-length // mtu))


class Flow:
    """The requests of one QP. A packet may be lost on the way, or come late: then it comes again."""

    def __init__(self, source, psn):
        self.source = source
        self.first = self.expected = psn
        self.missing = set()
        self.whole = True       # none has been missing so far
        self.mtu = None         # unknown until a message has several packets
        self.unsure = 0         # the length of the last READ, if its PSNs depend on the MTU
        self.message, self.left = None, 0
        self.ended = []         # for each message the distance of its PSN from the first; a READ's first PSN
        self.asked = {}         # PSN and length of READs and the like
        self.unanswered = set()
        self.answered = False

    def learn(self, mtu):
        self.mtu = self.mtu or mtu
        need(mtu == self.mtu and mtu in MTUS, f"{mtu} bytes, and the path MTU is {self.mtu}")

    def take(self, packet):
        distance = (packet.psn - self.expected) % PSNS
        if self.unsure and distance < HALF:
            mtus = [m for m in ([self.mtu] if self.mtu else MTUS) if parts(self.unsure, m) == distance + 1]
            need(mtus, f"PSN {packet.psn:#x} after a READ of {self.unsure} bytes")
            self.mtu = mtus[0] if len(mtus) == 1 else None
            distance = 0
        if packet.name.startswith(ANSWERED):
            self.asked[packet.psn] = packet.dma_len if packet.name == "READ_REQUEST" else 0
            self.unanswered.add(packet.psn)
            if len(self.asked) > 256:
                del self.asked[next(iter(self.asked))]
        if distance >= HALF:
            self.missing.discard(packet.psn)
            return
        self.missing.update((packet.psn - i) % PSNS for i in range(1, distance + 1))
        self.whole &= not distance
        span, self.unsure = 1, 0
        if packet.name == "READ_REQUEST" and self.mtu:
            span = parts(packet.dma_len, self.mtu)
        elif packet.name == "READ_REQUEST" and packet.dma_len > MTUS[0]:
            self.unsure = packet.dma_len
        self.expected = (packet.psn + span) % PSNS
        if self.whole:
            self.take_part(packet)

    def take_part(self, packet):
        """A packet that follows the last one: the messages have the right packets."""
        kind, _, place = packet.name.partition("_")
        if place.startswith(("FIRST", "MIDDLE")):
            self.learn(packet.length)
        if place.startswith(("MIDDLE", "LAST")):
            need(self.message == kind, f"{packet.name} in a message of {self.message}")
            self.left -= packet.length
            need(kind != "WRITE" or self.left >= 0 and packet.ends == (self.left == 0), "not the RETH's length")
            need(packet.length, "an empty packet at the end")
        else:
            need(not self.message, f"{packet.name} in a message of {self.message}")
            self.left = packet.dma_len - packet.length
            need(packet.ends or kind != "WRITE" or self.left > 0, "not the RETH's length")
        need(packet.length <= (self.mtu or MTUS[-1]), "more than the path MTU")
        self.message = None if packet.ends else kind
        if packet.ends:
            self.ended.append((packet.psn - self.first) % PSNS)

    def has(self, psn):
        """Whether a request with this PSN was sent."""
        last = self.expected + (parts(self.unsure, MTUS[0]) - 1 if self.unsure else 0) - 1
        return (last - psn) % PSNS < HALF and (psn - self.first) % PSNS < HALF

    def fits(self, packet, start, length):
        """Whether a READ response is the one for its PSN of the READ of that length."""
        mtu = self.mtu or MTUS[-1]
        i, n = (packet.psn - start) % PSNS, parts(length, mtu)
        if i >= n:
            return False
        place = "ONLY" if n == 1 else "FIRST" if i == 0 else "LAST" if i == n - 1 else "MIDDLE"
        return packet.name.endswith(place) and packet.length == min(mtu, length - i * mtu)

    def answer(self, packet):
        """An answer: to a request that was sent, and with as many messages as were executed then."""
        if packet.name.startswith("READ_RESP"):
            if not packet.ends:
                self.learn(packet.length)
            fitting = [start for start, length in self.asked.items() if self.fits(packet, start, length)]
            need(fitting, f"{packet.name} of {packet.length} bytes for PSN {packet.psn:#x}")
            if packet.ends:
                self.unanswered.difference_update(fitting)
        elif packet.name == "ATOMIC_ACK":
            need(packet.psn in self.asked, "no atomic has this PSN")
            self.unanswered.discard(packet.psn)
        refused = packet.syndrome is not None and packet.syndrome & 0xe0
        self.answered |= not refused
        if packet.syndrome is not None and packet.syndrome > NAK:
            self.unanswered.clear()
        if packet.msn is None or not self.whole:
            return
        distance = (packet.psn - self.first) % PSNS
        least = (bisect.bisect_left if refused else bisect.bisect_right)(self.ended, distance)
        need(least <= packet.msn <= len(self.ended), f"MSN {packet.msn}, not {least} to {len(self.ended)}")


class Flows:
    """Requests, by the address and the QP that they are for; and which of them a QP's answers are for."""

    def __init__(self):
        self.flows, self.of_answers = {}, {}

    def request(self, source, to, packet):
        flow = self.flows.get(to)
        # the first PSN once more, although it was acknowledged: another connection of the same QP
        if not flow or flow.first == packet.psn and (flow.answered or packet.transport == "UC_"):
            self.flows.pop(to, None)
            flow = self.flows[to] = Flow(source, packet.psn)
        flow.take(packet)

    def answer(self, source, to, packet):
        if to not in self.of_answers:
            found = [key for key, flow in self.flows.items()
                     if key != to and (key[0], flow.source) == (source, to[0]) and flow.has(packet.psn)]
            need(found, f"an {packet.name} of PSN {packet.psn:#x}, for which there is no request")
            self.of_answers[to] = found[-1]
        flow = self.flows[self.of_answers[to]]
        need(flow.has(packet.psn), f"an {packet.name} of PSN {packet.psn:#x}, which was not sent")
        flow.answer(packet)

    def check(self, source, to, packet):
        if packet.name.startswith(RESPONSES):
            self.answer(source, to, packet)
        elif packet.transport != "UD_":
            self.request(source, to, packet)

    def left(self):
        """What never came, in words"""
        for (_, qpn), flow in self.flows.items():
            if flow.missing:
                yield f"QP {qpn:#x}: PSNs that never came: {sorted(flow.missing)[:10]}"
            if flow.unanswered:
                yield f"QP {qpn:#x}: requests without an answer: {sorted(flow.unanswered)[:10]}"


def check_decoded(frame, opcode, line):
    """What tshark says of a packet. Of XRC it knows the opcodes, but not what follows the BTH."""
    protocols, its_opcode, icrc, malformed, severities, message = line.rstrip("\n").split("\t")
    need("infiniband" in protocols.split(":"), f"tshark sees {protocols}")
    need(not malformed, f"malformed, says tshark: {message}")
    need(all(int(s, 0) < SEVERITY_WARN for s in severities.split(",") if s), f"tshark says: {message}")
    need(int(its_opcode, 0) == opcode, f"to tshark the opcode is {its_opcode}")
    if opcode & 0xe0 == XRC and not icrc:
        return
    need(icrc and int(icrc, 0) == int.from_bytes(frame[-ICRC:], "big"), f"to tshark the ICRC is {icrc}")


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--decoded", type=argparse.FileType())
    parser.add_argument("pcap")
    parser.add_argument("mtu", type=int)
    parser.add_argument("wanted", nargs="*")
    return parser.parse_args()


def main():
    args = parse_args()
    seen, bad, flows = collections.Counter(), 0, Flows()
    for number, (frame, origlen) in enumerate(packets(args.pcap), 1):
        decoded = args.decoded and args.decoded.readline()
        try:
            source, target, packet = check_packet(frame, origlen, args.mtu)
            seen[packet.transport + packet.name] += 1
            flows.check(source, (target, packet.qpn), packet)
            if args.decoded:
                check_decoded(frame, packet.opcode, decoded)
        except Bad as why:
            bad += 1
            if bad <= 10:
                print(f"packet {number}: {why}: {frame.hex()[:200]}")
    print(", ".join(f"{count} {name}" for name, count in seen.items()), f"and {bad} bad ones")
    for left in flows.left():
        bad += 1
        print(left)
    missing = [name for name in args.wanted if not seen[name]]
    if missing:
        print("there is no", ", ".join(missing))
    sys.exit(bool(bad or missing))


main()
