# SPDX-License-Identifier: BSD-3-Clause
"""The cases: what pmv-rping and a Linux host have to do together. run goes through TABLE in order, one boot per MTU.

A case is a function of the laboratory; it returns when all is well and raises Failed with the reason when not.
"""
import hashlib
import re
import signal
import time
import zlib
from collections import Counter, namedtuple

import wire
from lab import OUR_ADDRESS, OUR_MAC, PEER_ADDRESS, Failed, Unable

# `needs_wire`: judged from the capture of the whole boot, when its other cases are through.
Case = namedtuple('Case', 'name mtu body options needs_wire')

OURS = bytes.fromhex(OUR_MAC.replace(':', ''))
PAYLOAD_MAX = {1500: 1024, 4200: 4096}
ANY_ADDRESS = {'v4': '0.0.0.0', 'v6': '::0'}
LOSS = 0.05
REJ_INVALID_SERVICE_ID = 8
# Addresses nobody has, and one that the guest answers ARP for although no RDMA device of it has it.
ABSENT = {'v4': '10.9.0.77', 'v6': 'fd09::77'}
MUTE = '10.9.0.99'
LOST = r'connection.*lost'


# What a case is built from

def rounds(size, loss):
    """How many pings. Loss costs Linux a retransmission timeout of two seconds now and then, so that few must do."""
    if not loss:
        return 50 if size < 1000 else 20
    return 10 if size < 1000 else 4


def ping_text(number, size):
    """The text rping sends in round `number`; rping is an old program and this is its pattern."""
    text = 'rdma-ping-%d: ' % number
    first = ord('A') + number % 58
    text += ''.join(chr(ord('A') + (first - ord('A') + i) % 58) for i in range(size - len(text)))
    return text[:size - 1]


def ping_lines_digest(count, size):
    """MD5 of the lines that a server with -v prints for `count` rounds."""
    lines = ''.join('server ping data: %s\n' % ping_text(i, size) for i in range(count))
    return hashlib.md5(lines.encode()).hexdigest()


def last_line(text):
    lines = [line for line in text.splitlines() if line.strip()]
    return lines[-1].strip()[:160] if lines else 'no output'


def loss_options(case_name, loss):
    return ['--loss', loss, '--seed', zlib.crc32(case_name.encode()) % 100000] if loss else []


def wait_until_up(lab, program, family):
    """Our program answers ICMP echo itself, which shows that it polls its port and owns its address."""
    command = 'ping -c 1 -W 1 ' + OUR_ADDRESS[family]
    deadline = time.monotonic() + 20
    while time.monotonic() < deadline:
        if not program.running():
            raise Failed('pmv-rping ended at once, status %s: %s' % (program.wait(0), program.last_line()))
        if lab.peer.ask(command)[0] == 0:
            return
    raise Failed('pmv-rping does not answer an echo request')


def start_linux_server(lab, family, port, size):
    """rping -s in the guest; returns its process id there."""
    pid = lab.peer.ask('rping -s -v -a %s -p %d -S %d >/tmp/server 2>/tmp/server.err & echo $!'
                       % (ANY_ADDRESS[family], port, size))[1].strip()
    # The program says nothing when it is ready; the kernel's list of CM ids does.
    if not lab.peer.wait_for("rdma resource show cm_id | grep LISTEN | grep -q '%d *$\\|:%d '" % (port, port), 10):
        raise Failed('rping -s in the guest does not listen: ' + last_line(lab.peer.ask('cat /tmp/server.err')[1]))
    return pid


def end_status(program, seconds, what='pmv-rping'):
    """The exit status; a program that hangs or dies of a signal has failed."""
    status = program.wait(seconds)
    if status is None:
        raise Failed('%s still runs after %d s: %s' % (what, seconds, program.last_line()))
    if status < 0 or status > 127:
        raise Failed('%s crashed: %s' % (what, signal.Signals(-status if status < 0 else status - 128).name))
    return status


def expect_failure(program, seconds, pattern):
    """It must end by itself, with a non-zero status, and say why in exactly one line that matches."""
    status = end_status(program, seconds)
    if status == 0:
        raise Failed('pmv-rping ended with status 0')
    said = program.sentences()
    if len(said) != 1 or not re.search(pattern, said[0], re.I):
        raise Failed('pmv-rping said %d sentences instead of one that matches /%s/: %s'
                     % (len(said), pattern, ' | '.join(said) or program.last_line()))


def expect_on_wire(lab, mark, from_us, cm, reason=None):
    for frame in wire.roce_frames(lab.frames_since(mark)):
        if frame.cm == cm and frame.reason == reason and (frame.src_mac == OURS) == from_us:
            return
    raise Failed('no %s%s from %s on the wire' % (cm, '' if reason is None else ' %d' % reason,
                                                  'us' if from_us else 'Linux'))


def wait_for_traffic(lab, mark, program):
    """Pings are under way when we have sent some dozens of data packets. The wire tells sooner than buffered output."""
    deadline = time.monotonic() + 20
    while program.running() and time.monotonic() < deadline:
        frames = wire.roce_frames(lab.frames_since(mark))
        if sum(1 for frame in frames if frame.src_mac == OURS and not frame.cm) >= 40:
            return
        time.sleep(0.05)
    raise Failed('no pings: ' + program.last_line())


# Data both ways

def linux_client(lab, name, family, size, loss=0.0):
    """rping -c in Linux against pmv-rping -s."""
    port, count = lab.next_port(), rounds(size, loss)
    program = lab.start(name, '-s', '-v', '-a', OUR_ADDRESS[family], '-p', port, '-S', size, *loss_options(name, loss))
    wait_until_up(lab, program, family)
    limit = 90 if loss else 30
    status, text = lab.peer.ask('timeout %d rping -c -V -a %s -p %d -C %d -S %d'
                                % (limit, OUR_ADDRESS[family], port, count, size), limit + 10)
    if status:
        raise Failed('rping -c in Linux ended with status %d: %s; pmv-rping: %s'
                     % (status, last_line(text), program.last_line()))
    status = end_status(program, 45 if loss else 10)
    # rping sends one DREQ and exits, and with it the kernel's repetition. If just that DREQ is lost, a server cannot
    # but find its peer gone; it may say so, provided that every round was served.
    parted = loss and 'is lost after %d rounds' % count in program.last_line()
    if status and not parted:
        raise Failed('pmv-rping -s ended with status %d: %s' % (status, program.last_line()))
    lines = re.findall(r'^server ping data: .*\n', program.text(), re.M)
    if hashlib.md5(''.join(lines).encode()).hexdigest() != ping_lines_digest(count, size):
        raise Failed('pmv-rping -s -v printed %d rounds that are not what Linux sent' % len(lines))


def linux_server(lab, name, family, size, loss=0.0):
    """pmv-rping -c against rping -s in Linux."""
    port, count = lab.next_port(), rounds(size, loss)
    pid = start_linux_server(lab, family, port, size)
    try:
        program = lab.start(name, '-c', '-V', '-a', PEER_ADDRESS[family], '-p', port, '-C', count, '-S', size,
                            *loss_options(name, loss))
        status = end_status(program, 90 if loss else 30)
        if status:
            raise Failed('pmv-rping -c ended with status %d: %s' % (status, program.last_line()))
        if not lab.peer.wait_for('! kill -0 %s 2>/dev/null' % pid, 30 if loss else 10):
            raise Failed('rping -s in Linux was not told of the disconnect')
        digest = lab.peer.ask("grep '^server ping data: ' /tmp/server | md5sum")[1].split()[0]
        if digest != ping_lines_digest(count, size):
            raise Failed('what rping -s in Linux read is not what was sent: '
                         + ' / '.join(lab.peer.ask('cut -c1-50 /tmp/server | tail -n 3')[1].splitlines()))
    finally:
        lab.peer.ask('kill -9 %s 2>/dev/null' % pid)


# No connection

def reject_by_linux(lab, name, family):
    """Our connect to a port of Linux where nobody listens."""
    mark = lab.mark()
    program = lab.start(name, '-c', '-a', PEER_ADDRESS[family], '-p', lab.next_port(), '-C', 1)
    expect_failure(program, 20, r'reject.*\b8\b')
    expect_on_wire(lab, mark, False, 'REJ', REJ_INVALID_SERVICE_ID)


def reject_by_us(lab, name, family):
    """Linux connects to a port where pmv-rping does not listen."""
    mark, port = lab.mark(), lab.next_port()
    program = lab.start(name, '-s', '-a', OUR_ADDRESS[family], '-p', port)
    wait_until_up(lab, program, family)
    text = lab.peer.ask('timeout 20 rping -c -a %s -p %d -C 1' % (OUR_ADDRESS[family], port + 1), 30)[1]
    if 'RDMA_CM_EVENT_REJECTED, error 8' not in text:
        raise Failed('rping -c in Linux does not report a rejection with reason 8: ' + last_line(text))
    expect_on_wire(lab, mark, True, 'REJ', REJ_INVALID_SERVICE_ID)
    if not program.running():
        raise Failed('pmv-rping -s ended although its own port was not asked for: ' + program.last_line())


def absent_host(lab, name, family):
    """Our connect to an address that nobody answers ARP or ND for."""
    program = lab.start(name, '-c', '-a', ABSENT[family], '-p', lab.next_port(), '-C', 1)
    expect_failure(program, 10, r'does not answer.*address')


def mute_host(lab, name):
    """Our connect to a host that answers ARP and then never a CM message: UNREACHABLE after the CM's 12.8 s."""
    lab.peer.ask('ip addr add %s/32 dev lo' % MUTE)
    mark = lab.mark()
    program = lab.start(name, '-c', '-a', MUTE, '-p', lab.next_port(), '-C', 1)
    expect_failure(program, 20, r'unreachable')
    requests = [frame for frame in wire.roce_frames(lab.frames_since(mark)) if frame.cm == 'REQ']
    if len(requests) < 2:
        raise Failed('%d REQ on the wire: it was not retried' % len(requests))


# An end before its time

def interrupted_client(lab, name):
    """Ctrl-C in our client while pings are under way: Linux gets a DREQ, and we end at once."""
    mark = lab.mark()
    program, pid = start_endless_client(lab, name)
    program.signal(signal.SIGINT)
    end_status(program, 5)
    expect_on_wire(lab, mark, True, 'DREQ')
    expect_on_wire(lab, mark, False, 'DREP')
    if not lab.peer.wait_for('! kill -0 %s 2>/dev/null' % pid, 5):
        raise Failed('rping -s in Linux was not told of the disconnect')


def interrupted_server(lab, name):
    """Ctrl-C in our server while it waits: it ends at once and calls that no error."""
    program = lab.start(name, '-s', '-a', OUR_ADDRESS['v4'], '-p', lab.next_port())
    wait_until_up(lab, program, 'v4')
    program.signal(signal.SIGINT)
    status = end_status(program, 5)
    if status:
        raise Failed('status %d: %s' % (status, program.last_line()))


def killed_under_server(lab, name):
    """Linux dies while it pings our server: one event, one sentence, a non-zero status."""
    mark, port = lab.mark(), lab.next_port()
    program = lab.start(name, '-s', '-a', OUR_ADDRESS['v4'], '-p', port)
    wait_until_up(lab, program, 'v4')
    lab.peer.ask('rping -c -a %s -p %d >/tmp/client 2>&1 &' % (OUR_ADDRESS['v4'], port))
    wait_for_traffic(lab, mark, program)
    lab.peer.end()
    expect_failure(program, 60, LOST)


def start_endless_client(lab, name):
    """Our client, pinging a server in the guest without end; returns the program and the server's process id."""
    mark, port = lab.mark(), lab.next_port()
    pid = start_linux_server(lab, 'v4', port, 64)
    program = lab.start(name, '-c', '-V', '-a', PEER_ADDRESS['v4'], '-p', port, '-C', 1000000)
    wait_for_traffic(lab, mark, program)
    return program, pid


def killed_under_client(lab, name):
    """Linux dies under our client."""
    program, _ = start_endless_client(lab, name)
    lab.peer.end()
    expect_failure(program, 60, LOST)


def killed_then_interrupted(lab, name):
    """Linux dies under our client, and somebody presses Ctrl-C: no answer to our DREQ may keep us from ending."""
    program, _ = start_endless_client(lab, name)
    lab.peer.end()
    program.signal(signal.SIGINT)
    end_status(program, 20)


# What was on the wire

def our_frames(lab):
    """(capture file, frame) of every RoCE frame of ours at this MTU."""
    frames = []
    for path in lab.captures[lab.mtu]:
        with open(path, 'rb') as file:
            frames += [(path, frame) for frame in wire.roce_frames(file.read()) if frame.src_mac == OURS]
    if not frames:
        raise Unable('no case of this MTU made us send RoCE frames')
    return frames


def wire_rules(lab, name):
    """Every RoCE frame we sent keeps the rules of the RoCEv2 annex, and the path MTU is used and not exceeded."""
    frames = our_frames(lab)
    wrong = [(path, frame) for path, frame in frames if frame.wrong]
    if wrong:
        kinds = Counter(text for _, frame in wrong for text in frame.wrong)
        raise Failed('%d of %d frames: %s; first is frame %d of %s'
                     % (len(wrong), len(frames), ', '.join('%s x%d' % item for item in kinds.items()),
                        wrong[0][1].number, wrong[0][0]))
    longest = max(frame.payload for _, frame in frames)
    if longest > PAYLOAD_MAX[lab.mtu] or ('big' in lab.seen and longest < PAYLOAD_MAX[lab.mtu]):
        raise Failed('the longest payload has %d bytes, the path MTU is %d' % (longest, PAYLOAD_MAX[lab.mtu]))


def wire_retransmissions(lab, name):
    """Loss was injected indeed: packets were sent again."""
    our_frames(lab)
    frames = lab.seen.get('lossy', [])
    if len(frames) < 4:
        raise Unable('too few cases with loss were run')
    again = 0
    for case_frames in frames:
        again += sum(n - 1 for n in Counter((frame.src, frame.qpn, frame.opcode, frame.psn)
                                            for frame in case_frames if not frame.cm).values())
    if not again:
        raise Failed('no packet was sent twice although %g of them should have been lost' % LOSS)


def tshark_malformed(lab, name):
    """tshark finds no fault with what we sent, the checksums of IPv4 and ICMPv6 included."""
    our_frames(lab)
    for path in lab.captures[lab.mtu]:
        lines = lab.tshark.lines(path, 'eth.src == %s && (_ws.malformed || ip.checksum.status == "Bad" || '
                                 'icmp.checksum.status == "Bad" || icmpv6.checksum.status == "Bad")' % OUR_MAC)
        if lines:
            raise Failed('%d frames of %s, first: %s' % (len(lines), path, lines[0]))


def tshark_cm(lab, name):
    """tshark recognises every CM message we sent, by the right name."""
    ours = [(path, frame) for path, frame in our_frames(lab) if frame.cm]
    if not ours:
        raise Unable('no case of this MTU made us send CM messages')
    told = {path: dict(line.split(' ', 1) for line in lab.tshark.lines(
        path, 'eth.src == %s && infiniband.bth.destqp == 1' % OUR_MAC)) for path in lab.captures[lab.mtu]}
    for path, frame in ours:
        says = told[path].get(str(frame.number), 'nothing')
        if wire.CM_TSHARK.get(frame.cm, '?') not in says:
            raise Failed('frame %d of %s is a %s by its attribute, tshark says: %s'
                         % (frame.number, path, frame.cm, says))


def table(more):
    """All cases in the order they are run; those that kill the peer, which costs a boot each, come last.

    `more` are cases of other files; they must leave the peer alive.
    """
    cases = []

    def add(name, mtu, body, needs_wire=False, **options):
        cases.append(Case(name, mtu, body, options, needs_wire))

    for mtu in (1500, 4200):
        for loss in (0.0, LOSS):
            for size in (64, 20000):
                for family in ('v4', 'v6'):
                    for title, body in (('linux_client', linux_client), ('linux_server', linux_server)):
                        add('rping.%s.%s.%d.mtu%d.loss%d' % (title, family, size, mtu, loss * 100), mtu, body,
                            family=family, size=size, loss=loss)
        if mtu == 1500:
            for family in ('v4', 'v6'):
                add('reject.by_linux.' + family, mtu, reject_by_linux, family=family)
                add('reject.by_us.' + family, mtu, reject_by_us, family=family)
                add('silent.absent.' + family, mtu, absent_host, family=family)
            add('silent.mute.v4', mtu, mute_host)
            add('interrupt.client', mtu, interrupted_client)
            add('interrupt.server', mtu, interrupted_server)
            cases += more
            add('killed.under_server', mtu, killed_under_server)
            add('killed.under_client', mtu, killed_under_client)
            add('killed.then_interrupt', mtu, killed_then_interrupted)
        add('wire.rules.mtu%d' % mtu, mtu, wire_rules, needs_wire=True)
        add('wire.retransmissions.mtu%d' % mtu, mtu, wire_retransmissions, needs_wire=True)
        add('tshark.malformed.mtu%d' % mtu, mtu, tshark_malformed, needs_wire=True)
        add('tshark.cm.mtu%d' % mtu, mtu, tshark_cm, needs_wire=True)
    return cases
