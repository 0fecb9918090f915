#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the RoCEv2 packets of a capture: rocecheck.py [--decoded FILE] PCAP MTU OPCODE...

Every packet must fit the MTU and have right lengths, right checksums, a right ICRC (IBTA annex A17, by
zlib's CRC32), a BTH that makes sense, and a PSN that continues its flow. Each OPCODE must occur. Prints
what is wrong; exits 1 if something is.

FILE is what tshark says of the capture, a line a packet, with these fields, comma-separated where there are several:
    frame.protocols infiniband.bth.opcode infiniband.invariant.crc _ws.malformed _ws.expert.severity
    _ws.expert.message
It must find nothing amiss, and see the same opcode and the ICRC at the same place.
"""
import argparse
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
MULTIPLE_OF_MTU = ("FIRST", "MIDDLE")
# They use as many PSNs as the answer has packets
ANSWERED = ("READ_REQUEST", "CMP_SWAP", "FETCH_ADD", "ATOMIC_WRITE", "FLUSH")
SEVERITY_WARN = 0x600000


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


def check_bth(bth, body):
    """Returns the opcode, its name, the QP number, the PSN and the length of the payload."""
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", bth)
    transport, besides, operations = TRANSPORTS.get(opcode & 0xe0, ("", 0, ()))
    need(opcode & 0x1f in operations and opcode & 0x1f in OPERATIONS, f"opcode {opcode:#x}")
    name, extended, payload = OPERATIONS[opcode & 0x1f]
    if not name.startswith(RESPONSES):
        extended += besides
    need(not flags & 0x0f, "header version")
    need(pkey & 0x7fff == 0x7fff, "P_Key")
    need(not qpn >> 24 & 0x3f, "reserved bits")
    pad = flags >> 4 & 3
    length = len(body) - extended - pad
    need(len(body) % 4 == 0, "not padded to 4 bytes")
    need(length >= 0, "too short for its opcode")
    need(payload or length == 0, "payload where there is none")
    need(not pad or not body[-pad:].strip(b"\0"), "padding is not zero")
    return opcode, transport + name, qpn & 0xffffff, psn & 0xffffff, length


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
    return check_bth(udp[UDP:UDP + BTH], udp[UDP + BTH:-ICRC])


class Flow:
    """The requests of one QP. A packet may be lost on the way, or come late: then it comes again."""

    def __init__(self, psn):
        self.expected = psn
        self.missing = set()

    def take(self, psn):
        distance = (psn - self.expected) % (1 << 24)
        if distance < 1 << 23:
            self.missing.update((self.expected + i) % (1 << 24) for i in range(distance))
            self.expected = (psn + 1) % (1 << 24)
        self.missing.discard(psn)


def check_flow(flows, name, qpn, psn, length):
    """Requests follow each other; where READ requests come between, which take several PSNs, begin anew."""
    if name.endswith(MULTIPLE_OF_MTU):
        need(length in (256, 512, 1024, 2048, 4096), f"{name} of {length} bytes")
    if name.startswith("UD_"):
        return
    if "SEND_" in name or "WRITE_" in name:
        flows.setdefault(qpn, Flow(psn)).take(psn)
    elif name.endswith(ANSWERED):
        flows.pop(qpn, None)


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
    seen, bad, flows = collections.Counter(), 0, {}
    for number, (frame, origlen) in enumerate(packets(args.pcap), 1):
        decoded = args.decoded and args.decoded.readline()
        try:
            opcode, name, *rest = check_packet(frame, origlen, args.mtu)
            seen[name] += 1
            check_flow(flows, name, *rest)
            if args.decoded:
                check_decoded(frame, opcode, decoded)
        except Bad as why:
            bad += 1
            if bad <= 10:
                print(f"packet {number}: {why}: {frame.hex()[:200]}")
    print(", ".join(f"{count} {name}" for name, count in seen.items()), f"and {bad} bad ones")
    for qpn, flow in flows.items():
        if flow.missing:
            bad += 1
            print(f"QP {qpn:#x}: PSNs that never came: {sorted(flow.missing)[:10]}")
    missing = [name for name in args.wanted if not seen[name]]
    if missing:
        print("there is no", ", ".join(missing))
    sys.exit(bool(bad or missing))


main()
