#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Check the RoCEv2 packets of a capture: rocecheck.py PCAP MTU OPCODE...

Every packet must fit the MTU and have right lengths, right checksums, a right ICRC (IBTA annex A17, by
zlib's CRC32), a BTH that makes sense, and a PSN that continues its flow. Each OPCODE must occur. Prints
what is wrong; exits 1 if something is.
"""
import collections
import struct
import sys
import zlib

BTH, UDP, ICRC = 12, 8, 4
ROCE_PORT = 4791

# opcode: name, bytes of extended headers, carries payload
OPCODES = {
    0x00: ("SEND_FIRST", 0, True), 0x01: ("SEND_MIDDLE", 0, True), 0x02: ("SEND_LAST", 0, True),
    0x03: ("SEND_LAST_IMM", 4, True), 0x04: ("SEND_ONLY", 0, True), 0x05: ("SEND_ONLY_IMM", 4, True),
    0x06: ("WRITE_FIRST", 16, True), 0x07: ("WRITE_MIDDLE", 0, True), 0x08: ("WRITE_LAST", 0, True),
    0x09: ("WRITE_LAST_IMM", 4, True), 0x0a: ("WRITE_ONLY", 16, True), 0x0b: ("WRITE_ONLY_IMM", 20, True),
    0x0c: ("READ_REQUEST", 16, False), 0x0d: ("READ_RESP_FIRST", 4, True), 0x0e: ("READ_RESP_MIDDLE", 0, True),
    0x0f: ("READ_RESP_LAST", 4, True), 0x10: ("READ_RESP_ONLY", 4, True), 0x11: ("ACK", 4, False),
    0x12: ("ATOMIC_ACK", 12, False), 0x13: ("CMP_SWAP", 28, False), 0x14: ("FETCH_ADD", 28, False),
}
MULTIPLE_OF_MTU = ("FIRST", "MIDDLE")


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
    """Returns the name of the opcode, the QP number, the PSN and the length of the payload."""
    opcode, flags, pkey, qpn, psn = struct.unpack_from(">BBHII", bth)
    need(opcode in OPCODES, f"opcode {opcode:#x}")
    name, extended, payload = OPCODES[opcode]
    need(not flags & 0x0f, "header version")
    need(pkey & 0x7fff == 0x7fff, "P_Key")
    need(not qpn >> 24 & 0x3f, "reserved bits")
    pad = flags >> 4 & 3
    length = len(body) - extended - pad
    need(len(body) % 4 == 0, "not padded to 4 bytes")
    need(length >= 0, "too short for its opcode")
    need(payload or length == 0, "payload where there is none")
    need(not pad or not body[-pad:].strip(b"\0"), "padding is not zero")
    return name, qpn & 0xffffff, psn & 0xffffff, length


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
    if name.startswith(("SEND", "WRITE")):
        flows.setdefault(qpn, Flow(psn)).take(psn)
    elif name in ("READ_REQUEST", "CMP_SWAP", "FETCH_ADD"):
        flows.pop(qpn, None)


def main():
    path, mtu, wanted = sys.argv[1], int(sys.argv[2]), sys.argv[3:]
    seen, bad, flows = collections.Counter(), 0, {}
    for number, (frame, origlen) in enumerate(packets(path), 1):
        try:
            found = check_packet(frame, origlen, mtu)
            seen[found[0]] += 1
            check_flow(flows, *found)
        except Bad as why:
            bad += 1
            if bad <= 10:
                print(f"packet {number}: {why}: {frame.hex()[:200]}")
    print(", ".join(f"{count} {name}" for name, count in seen.items()), f"and {bad} bad ones")
    for qpn, flow in flows.items():
        if flow.missing:
            bad += 1
            print(f"QP {qpn:#x}: PSNs that never came: {sorted(flow.missing)[:10]}")
    missing = [name for name in wanted if not seen[name]]
    if missing:
        print("there is no", ", ".join(missing))
    sys.exit(bool(bad or missing))


main()
