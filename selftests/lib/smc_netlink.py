#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Ask the kernel's SMC by netlink. smc_netlink.py NAME gives it a user EID, as "smcr ueid add" does.

By version 2 of SMC-R two ends talk to each other only if they have an EID in common, and RoCEv2 needs version 2. An EID
that is there already is no error. Numbers and names are those of <linux/netlink.h>, <linux/genetlink.h>, <linux/smc.h>.
"""
import errno
import os
import socket
import struct
import sys

NETLINK_GENERIC = 16
NLM_F_REQUEST, NLM_F_ACK, NLM_F_DUMP = 1, 4, 0x300
NLMSG_ERROR, NLMSG_DONE = 2, 3
HEADERS = 20  # struct nlmsghdr, struct genlmsghdr
GENL_ID_CTRL = 16
CTRL_CMD_GETFAMILY = 3
CTRL_ATTR_FAMILY_ID, CTRL_ATTR_FAMILY_NAME = 1, 2
SMC_NETLINK_GET_FBACK_STATS, SMC_NETLINK_ADD_UEID = 8, 10
SMC_NLA_EID_TABLE_ENTRY = 1
SMC_GEN_FBACK_STATS, SMC_NLA_FBACK_STATS_RSN_CNT = 8, 5
SMC_MAX_EID_LEN = 32
NLA_TYPE_MASK = 0x3FFF


def attribute(number, text):
    data = text.encode() + b"\0"
    return struct.pack("HH", 4 + len(data), number) + data + b"\0" * (-len(data) % 4)


def attributes(data):
    """The attributes in data, by their numbers."""
    found = {}
    while len(data) >= 4:
        length, number = struct.unpack_from("HH", data)
        found[number & NLA_TYPE_MASK] = data[4:length]
        data = data[(length + 3) & ~3:]
    return found


def ask(sock, family, command, payload=b"", flags=NLM_F_ACK):
    """The attributes of each message of the answer."""
    message = struct.pack("BBH", command, 1, 0) + payload
    sock.send(struct.pack("IHHII", 16 + len(message), family, NLM_F_REQUEST | flags, 1, 0) + message)
    answer = []
    while True:
        data = sock.recv(65536)
        while data:
            length, kind = struct.unpack_from("IH", data)
            if kind == NLMSG_ERROR:
                error = -struct.unpack_from("i", data, 16)[0]
                if error:
                    raise OSError(error, os.strerror(error))
            if kind in (NLMSG_ERROR, NLMSG_DONE):
                return answer
            answer.append(attributes(data[HEADERS:length]))
            data = data[(length + 3) & ~3:]


def ask_smc(command, payload=b"", flags=NLM_F_ACK):
    with socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, NETLINK_GENERIC) as sock:
        family = ask(sock, GENL_ID_CTRL, CTRL_CMD_GETFAMILY, attribute(CTRL_ATTR_FAMILY_NAME, "SMC_GEN_NETLINK"))
        return ask(sock, struct.unpack("H", family[0][CTRL_ATTR_FAMILY_ID])[0], command, payload, flags)


def fallbacks():
    """How often sockets of this network namespace have fallen back to TCP."""
    reasons = ask_smc(SMC_NETLINK_GET_FBACK_STATS, flags=NLM_F_DUMP)
    counts = (attributes(reason[SMC_GEN_FBACK_STATS])[SMC_NLA_FBACK_STATS_RSN_CNT] for reason in reasons)
    return sum(struct.unpack("H", count)[0] for count in counts)


def add_eid(name):
    try:
        ask_smc(SMC_NETLINK_ADD_UEID, attribute(SMC_NLA_EID_TABLE_ENTRY, name.ljust(SMC_MAX_EID_LEN)))
    except OSError as error:
        if error.errno != errno.EEXIST:
            raise


if __name__ == "__main__":
    add_eid(sys.argv[1])
