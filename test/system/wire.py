# SPDX-License-Identifier: BSD-3-Clause
"""Judges captured frames: a pcap reader, the RoCEv2 rules a frame on the wire must keep, and tshark's opinion.

Used by cases.py. tshark shows the invariant CRC but does not check it, and a Linux peer drops a wrong one in silence,
so that the CRC is computed here; this file knows nothing of the code under test.
"""
import re
import shutil
import struct
import subprocess
import zlib
from collections import namedtuple

ROCE_PORT = 4791
OP_UD_SEND_ONLY = 0x64
GSI_QPN = 1
GSI_QKEY = 0x80010000
MAD_BYTES = 256
CM_NAMES = {0x10: 'REQ', 0x11: 'MRA', 0x12: 'REJ', 0x13: 'REP', 0x14: 'RTU', 0x15: 'DREQ', 0x16: 'DREP',
            0x17: 'SIDR_REQ', 0x18: 'SIDR_REP'}
# What tshark 4.0 calls them.
CM_TSHARK = {'REQ': 'ConnectRequest', 'REP': 'ConnectReply', 'RTU': 'ReadyToUse', 'REJ': 'ConnectReject',
             'DREQ': 'DisconnectRequest', 'DREP': 'DisconnectReply', 'MRA': 'MsgRcptAck'}

# One RoCE frame. `number` counts from 1 as tshark does; `cm` is the CM message's name or None; `reason` is a REJ's.
Roce = namedtuple('Roce', 'number src_mac src dst opcode psn qpn payload cm reason wrong')


def records(data):
    """Yield (number, frame bytes) of a little-endian pcap; a record still being written ends the iteration."""
    at, number = 24, 0
    while at + 16 <= len(data):
        size = struct.unpack_from('<I', data, at + 8)[0]
        if at + 16 + size > len(data):
            return
        number += 1
        yield number, data[at + 16:at + 16 + size]
        at += 16 + size


def extension_bytes(opcode):
    """Bytes of extension headers between BTH and payload, from the opcode's class and operation."""
    kind, op = opcode >> 5, opcode & 0x1f
    size = 8 if kind == 3 else 0                                # DETH
    if op in (0x06, 0x0a, 0x0b, 0x0c):
        size += 16                                              # RETH
    if op in (0x03, 0x05, 0x09, 0x0b):
        size += 4                                               # ImmDt
    if op in (0x0d, 0x0f, 0x10, 0x11, 0x12):
        size += 4                                               # AETH
    if op == 0x12:
        size += 8                                               # AtomicAckETH
    if op in (0x13, 0x14):
        size += 28                                              # AtomicETH
    if op in (0x16, 0x17):
        size += 4                                               # IETH
    return size


def icrc(ip, udp):
    """The invariant CRC of a datagram, RoCEv2 annex: the fields that routers may change count as ones."""
    ip, udp = bytearray(ip), bytearray(udp)
    if ip[0] >> 4 == 4:
        ip[1] = ip[8] = ip[10] = ip[11] = 0xff
    else:
        ip[0] |= 0x0f
        ip[1] = ip[2] = ip[3] = ip[7] = 0xff
    udp[6] = udp[7] = 0xff
    udp[12] = 0xff
    return zlib.crc32(udp[:-4], zlib.crc32(ip, zlib.crc32(b'\xff' * 8)))


def network_part(frame):
    """(IP header, what follows it as far as the header tells, problems), or None for anything but UDP over IP."""
    at, kind = 14, struct.unpack_from('>H', frame, 12)[0]
    if kind == 0x8100:
        at, kind = 18, struct.unpack_from('>H', frame, 16)[0]
    wrong = []
    if kind == 0x0800 and len(frame) >= at + 28 and frame[at + 9] == 17:
        ip = frame[at:at + 20]
        total, _, fragment = struct.unpack_from('>HHH', ip, 2)
        if ip[0] != 0x45:
            wrong.append('IPv4 options')
        if fragment != 0x4000:
            wrong.append('flags and fragment offset %#x' % fragment)
        words = sum(struct.unpack('>10H', ip))
        if (words & 0xffff) + (words >> 16) not in (0xffff, 0x1fffe):
            wrong.append('IPv4 checksum')
        return ip, frame[at + 20:at + total], wrong
    if kind == 0x86dd and len(frame) >= at + 48 and frame[at + 6] == 17:
        ip = frame[at:at + 40]
        return ip, frame[at + 40:at + 40 + struct.unpack_from('>H', ip, 4)[0]], wrong
    return None


def judge_mad(udp, wrong):
    """(CM message name, reject reason) of a QP1 datagram."""
    if struct.unpack_from('>I', udp, 20)[0] != GSI_QKEY:
        wrong.append('Q_Key')
    mad = udp[28:-4]
    if len(mad) != MAD_BYTES:
        wrong.append('MAD of %d bytes' % len(mad))
        return '?', None
    if mad[:4] != b'\x01\x07\x02\x03':
        wrong.append('MAD header')
    name = CM_NAMES.get(struct.unpack_from('>H', mad, 16)[0], '?')
    return name, struct.unpack_from('>H', mad, 34)[0] if name == 'REJ' else None


def roce(number, frame):
    """The frame as Roce with its list of broken rules, or None when it is not RoCE."""
    part = network_part(frame)
    if part is None:
        return None
    ip, udp, wrong = part
    if len(udp) < 8 or struct.unpack_from('>H', udp, 2)[0] != ROCE_PORT:
        return None
    src, dst = (ip[12:16], ip[16:20]) if len(ip) == 20 else (ip[8:24], ip[24:40])
    if len(udp) < 24 or struct.unpack_from('>H', udp, 4)[0] != len(udp):
        return Roce(number, frame[6:12], src, dst, 0, 0, 0, 0, None, None, wrong + ['UDP length'])
    opcode, flags = udp[8], udp[9]
    qpn = int.from_bytes(udp[13:16], 'big')
    pad = flags >> 4 & 3
    payload = len(udp) - 24 - extension_bytes(opcode) - pad
    if udp[6:8] != b'\0\0':
        wrong.append('UDP checksum')
    if flags & 0x0f:
        wrong.append('transport version')
    if udp[10:12] != b'\xff\xff':
        wrong.append('P_Key')
    if payload < 0 or len(udp) % 4:
        wrong.append('length')
    if pad and any(udp[-4 - pad:-4]):
        wrong.append('padding not zero')
    if struct.unpack('<I', udp[-4:])[0] != icrc(ip, udp):
        wrong.append('ICRC')
    cm = reason = None
    if opcode == OP_UD_SEND_ONLY and qpn == GSI_QPN:
        cm, reason = judge_mad(udp, wrong)
    return Roce(number, frame[6:12], src, dst, opcode, int.from_bytes(udp[17:20], 'big'), qpn, payload, cm, reason,
                wrong)


def roce_frames(data):
    """All RoCE frames of a capture."""
    return [found for found in (roce(number, frame) for number, frame in records(data)) if found]


class Tshark:
    """Runs tshark over a capture file."""

    def __init__(self):
        # Heuristic dissectors guess at payloads: RPC over RDMA, for one, takes a ping's data for its own and then calls
        # it malformed. What is asked about here is the RoCE packet, so that every guesser on top of it is switched off.
        listing = subprocess.run(['tshark', '-G', 'heuristic-decodes'], capture_output=True, text=True).stdout
        guessers = re.findall(r'^infiniband\.(?:payload|mad\.cm\.private)\t(\S+)', listing, re.M)
        self.quiet = [word for name in sorted(set(guessers) - {'ethertype'}) for word in ('--disable-protocol', name)]
        # The same for the one guesser that is also a protocol of ours: it takes a payload's first bytes for an EtherType.
        self.quiet += ['--disable-heuristic', 'eth_over_ib']

    @staticmethod
    def present():
        return shutil.which('tshark') is not None

    def lines(self, pcap, condition):
        """'NUMBER INFO' of every frame that meets the display filter."""
        done = subprocess.run(['tshark', '-n', '-r', pcap, '-o', 'ip.check_checksum:TRUE', *self.quiet, '-Y', condition,
                               '-T', 'fields', '-E', 'separator=/s', '-e', 'frame.number', '-e', '_ws.col.Info'],
                              capture_output=True, text=True)
        if done.returncode:
            raise RuntimeError('tshark: ' + done.stderr.strip().splitlines()[-1])
        return done.stdout.splitlines()
