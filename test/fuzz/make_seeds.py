#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""make_seeds.py CAPTURES OUT STAMP: turns the capture files of folder CAPTURES into seed folders below OUT, one per target.

  OUT/wire_packet_fuzz   whole frames, one per kind (address family, opcode, syndrome kind, length class)
  OUT/wire_mad_fuzz      whole QP1 frames, one per management attribute and address family
  OUT/cm_msg_fuzz        the same as bare 256-byte MADs
  OUT/cm_ip_hdr_fuzz     the IP-CM headers of REQ and SIDR_REQ
  OUT/cm_neigh_proto_fuzz, OUT/cm_icmp_fuzz   ARP and ICMP frames, one per kind

Files are named by a digest of their content, so a run gives the same folders. Writes STAMP last (for the build).
"""
import hashlib
import pathlib
import struct
import sys


def pcap_frames(data):
    pos = 24
    while pos + 16 <= len(data):
        length = struct.unpack_from("<I", data, pos + 8)[0]
        yield data[pos + 16:pos + 16 + length]
        pos += 16 + length


def pcapng_frames(data):
    pos = 0
    while pos + 12 <= len(data):
        kind, total = struct.unpack_from("<II", data, pos)
        if total < 12:
            return
        if kind == 6:  # enhanced packet
            length = struct.unpack_from("<I", data, pos + 20)[0]
            yield data[pos + 28:pos + 28 + length]
        pos += total


def frames(path):
    data = path.read_bytes()
    if data[:4] == b"\x0a\x0d\x0d\x0a":
        return pcapng_frames(data)
    if data[:4] in (b"\xd4\xc3\xb2\xa1", b"\x4d\x3c\xb2\xa1"):
        return pcap_frames(data)
    raise SystemExit("%s: no little-endian capture" % path)


def udp_payload(frame):
    """(family, bytes from the BTH on), or None if this is no RoCE frame."""
    kind = struct.unpack_from(">H", frame, 12)[0]
    if kind == 0x0800 and frame[23] == 17:
        off = 34
    elif kind == 0x86dd and frame[20] == 17:
        off = 54
    else:
        return None
    if struct.unpack_from(">H", frame, off + 2)[0] != 4791:
        return None
    length = struct.unpack_from(">H", frame, off + 4)[0]
    return kind, frame[off + 8:off + length]


def classify(frame):
    """What makes a frame worth a seed of its own, and its MAD if it has one."""
    found = udp_payload(frame)
    if found is None:
        type_off = {b"\x08\x00": 34, b"\x86\xdd": 54}.get(frame[12:14], 21)  # ICMP type, ARP operation
        return ("other", frame[12:14], frame[20:24], frame[type_off]), None
    family, roce = found
    opcode = roce[0]
    syndrome = roce[12] >> 5 if opcode in (0x0d, 0x0f, 0x10, 0x11, 0x12) else 0
    if opcode == 0x64 and roce[5:8] == b"\0\0\1" and len(roce) == 280:
        mad = roce[20:276]
        return ("mad", family, mad[16:18]), mad
    return ("roce", family, opcode, syndrome, roce[1] & 0xf0, len(roce) > 300), None


def main():
    captures, out, stamp = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
    seen = set()

    def put(target, data):
        folder = out / target
        folder.mkdir(parents=True, exist_ok=True)
        (folder / hashlib.sha256(data).hexdigest()[:16]).write_bytes(data)

    for path in sorted(captures.glob("*.pcap")):
        for frame in frames(path):
            kind, mad = classify(frame)
            if kind in seen:
                continue
            seen.add(kind)
            put("wire_packet_fuzz", frame)
            if mad is not None:
                put("wire_mad_fuzz", frame)
                put("cm_msg_fuzz", mad)
                private = {0x10: 164, 0x17: 40}.get(mad[17])
                if private is not None:
                    put("cm_ip_hdr_fuzz", mad[private:private + 36])
            if kind[0] == "other":
                put("cm_neigh_proto_fuzz", frame)
                put("cm_icmp_fuzz", frame)
    if not seen:
        raise SystemExit("no frame in %s" % captures)
    stamp.write_text("%d kinds of frames\n" % len(seen))


main()
