# SPDX-License-Identifier: BSD-3-Clause
"""The laboratory: a network namespace with one tap, the Linux peer on one end of it, the DPDK program on the other.

Used by run and cases.py. Nothing here outlives the runner: the namespace has no name and goes with its last process,
and every child asks the kernel to kill it when the runner dies, however that happens.
"""
import ctypes
import os
import shutil
import signal
import socket
import struct
import subprocess
import time

HERE = os.path.dirname(os.path.abspath(__file__))
OUR_MAC, PEER_MAC = '52:54:00:09:00:01', '52:54:00:09:00:02'
OUR_ADDRESS = {'v4': '10.9.0.1', 'v6': 'fd09::1'}
PEER_ADDRESS = {'v4': '10.9.0.2', 'v6': 'fd09::2'}
PREFIX = {'v4': 24, 'v6': 64}
CLONE_NEWNET, CLONE_NEWUSER = 0x40000000, 0x10000000
PR_SET_PDEATHSIG = 1
libc = ctypes.CDLL(None, use_errno=True)


class Unable(Exception):
    """This machine lacks something: the cases are skipped, and the text is the reason."""


class Failed(Exception):
    """A case failed; the text says why."""


def die_with_runner():
    libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def enter_namespace(tap):
    """Move this process into a network namespace of its own that holds a tap and no address at all.

    Root does it directly; anybody else through a user namespace, where the system allows that.
    """
    uid, gid = os.getuid(), os.getgid()
    flags = CLONE_NEWNET | (CLONE_NEWUSER if uid else 0)
    if libc.unshare(flags):
        raise Unable('no NET_ADMIN: cannot make a network namespace (%s)' % os.strerror(ctypes.get_errno()))
    if uid:
        for name, text in (('setgroups', 'deny'), ('uid_map', '0 %d 1' % uid), ('gid_map', '0 %d 1' % gid)):
            with open('/proc/self/' + name, 'w') as file:
                file.write(text)
    # The tap gets no address and no IPv6, so that the host's kernel keeps silent: the program owns both addresses.
    for words in ('tuntap add {0} mode tap', 'link set {0} address ' + OUR_MAC, 'link set lo up'):
        done = subprocess.run(['ip', *words.format(tap).split()], capture_output=True, text=True)
        if done.returncode:
            raise Unable('no tap interface: ' + done.stderr.strip())
    try:
        with open('/proc/sys/net/ipv6/conf/%s/disable_ipv6' % tap, 'w') as file:
            file.write('1')
    except FileNotFoundError:
        pass                                                    # a kernel without IPv6 is as silent
    except OSError as error:
        raise Unable('cannot turn IPv6 off on the tap: %s' % error)


class Process:
    """A child whose output goes to LOG.out and LOG.err: a buffered stdout would cut lines of stderr in two."""

    def __init__(self, argv, log):
        self.log = log
        with open(log + '.out', 'wb') as out, open(log + '.err', 'wb') as err:
            self.child = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=out, stderr=err,
                                          start_new_session=True, preexec_fn=die_with_runner)

    def running(self):
        return self.child.poll() is None

    def signal(self, number):
        if self.running():
            self.child.send_signal(number)

    def wait(self, seconds):
        """The exit status (negative: the signal that ended it), or None when it still runs after `seconds`."""
        try:
            return self.child.wait(seconds)
        except subprocess.TimeoutExpired:
            return None

    def end(self, seconds=5):
        """Make sure that it is gone: first as a user would end it, then by force. True if the polite way was enough."""
        self.signal(signal.SIGCONT)
        self.signal(signal.SIGINT)
        if self.wait(seconds) is not None:
            return True
        self.signal(signal.SIGKILL)
        self.wait(5)
        return False

    def text(self, stream='out'):
        with open('%s.%s' % (self.log, stream), 'rb') as file:
            return file.read().decode('utf-8', 'replace')

    def last_line(self):
        """What it said last, for a message about it: stderr first, since that is where reasons belong."""
        for stream in ('err', 'out'):
            lines = [line for line in self.text(stream).splitlines() if line.strip()]
            if lines:
                return lines[-1].strip()[:160]
        return 'no output'


class Program(Process):
    """Our side: pmv-rping, or another program with its command line, on the tap."""

    def __init__(self, lab, options, log, program=None):
        device = 'net_af_packet0,iface=' + lab.tap
        if lab.mtu > 1500:
            device += ',framesz=8192,blocksz=32768,framecnt=512'
        cpu = min(os.sched_getaffinity(0))
        eal = ['-l', str(cpu), '--no-huge', '-m', '128', '--no-pci', '--no-telemetry', '--no-shconf', '--iova-mode=va',
               '--vdev', device]
        own = []
        for family, address in OUR_ADDRESS.items():
            own += ['--addr', '%s/%d' % (address, PREFIX[family])]
        argv = [program or lab.program, *eal, '--', *own, '--mtu', str(lab.mtu), *map(str, options)]
        super().__init__(argv, log)
        with open(log + '.command', 'w') as file:
            file.write(' '.join(argv) + '\n')

    def sentences(self):
        """What it said to its user: lines of stderr that carry its name. EAL and the libraries log there as well."""
        return [line for line in self.text('err').splitlines() if line.startswith('pmv-rping: ')]


class Peer(Process):
    """The Linux peer: QEMU, and the agent in the guest that runs commands for us."""

    def __init__(self, lab):
        title = 'boot%d.mtu%d' % (len(lab.captures[lab.mtu]) + 1, lab.mtu)
        path = os.path.join(lab.logs, title + '.agent')
        self.pcap = os.path.join(lab.logs, title + '.pcap')
        super().__init__([os.path.join(HERE, 'linux_peer'), 'run', '--agent', path, '--mtu', str(lab.mtu),
                          '--mac', PEER_MAC, '--pcap', self.pcap,
                          'tap,ifname=%s,script=no,downscript=no,vnet_hdr=off' % lab.tap],
                         os.path.join(lab.logs, title))
        self.serial = 0
        self.buffer = b''
        self.link = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.connect(path, time.monotonic() + 30)
        if not self.line(60).startswith('ready'):
            raise Failed('the Linux peer did not come up, see %s.err' % self.log)

    def connect(self, path, deadline):
        # A socket's name may have 107 bytes; a log directory may be longer. Go through the directory's descriptor.
        directory = os.open(os.path.dirname(path), os.O_PATH)
        try:
            while True:
                try:
                    return self.link.connect('/proc/self/fd/%d/%s' % (directory, os.path.basename(path)))
                except OSError:
                    if not self.running() or time.monotonic() > deadline:
                        raise Failed('QEMU did not start, see %s.err' % self.log)
                    time.sleep(0.05)
        finally:
            os.close(directory)

    def receive(self, deadline):
        self.link.settimeout(max(0.01, deadline - time.monotonic()))
        try:
            data = self.link.recv(65536)
        except socket.timeout:
            raise Failed('the Linux peer does not answer')
        if not data:
            raise Failed('the Linux peer is gone')
        self.buffer += data

    def line(self, seconds):
        deadline = time.monotonic() + seconds
        while b'\n' not in self.buffer:
            self.receive(deadline)
        text, self.buffer = self.buffer.split(b'\n', 1)
        return text.decode().strip()

    def ask(self, command, seconds=15):
        """Run a shell command in the guest; returns (exit status, output)."""
        self.serial += 1
        self.link.sendall(b'%d %s\n' % (self.serial, command.encode()))
        deadline = time.monotonic() + seconds
        serial, status, size = map(int, self.line(seconds).split())
        if serial != self.serial:
            raise Failed('the guest agent lost step')
        while len(self.buffer) < size:
            self.receive(deadline)
        text, self.buffer = self.buffer[:size], self.buffer[size:]
        return status, text.decode('utf-8', 'replace')

    def wait_for(self, command, seconds):
        """Repeat a command in the guest until it succeeds. True if it did in time."""
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline:
            if self.ask(command)[0] == 0:
                return True
            time.sleep(0.1)
        return False

    def capture_bytes(self):
        return os.path.getsize(self.pcap)

    def end(self, seconds=0):
        """Nothing in the guest is worth saving."""
        self.link.close()
        self.signal(signal.SIGKILL)
        self.wait(5)


class Lab:
    """What a case gets: the peer, ways to start our program, and the capture."""

    def __init__(self, build, logs):
        self.program = os.path.join(build, 'apps', 'pmv-rping')
        self.trial = os.path.join(build, 'test', 'system', 'trial_ours')
        self.logs = logs
        self.tap = 'pmv%d' % os.getpid()
        self.mtu = 0
        self.peer = None
        self.ours = None
        self.port = 7000
        self.captures = {}                                      # MTU: capture files, one a boot
        self.seen = {}                                          # what the cases of this boot did, for the wire cases
        self.times = []
        self.tshark = None

    def boot(self, mtu):
        """A fresh peer on a link of this MTU."""
        self.shut_down()
        self.mtu = mtu
        subprocess.run(['ip', 'link', 'set', self.tap, 'mtu', str(mtu), 'up'], check=True)
        self.captures.setdefault(mtu, [])
        self.peer = Peer(self)
        self.captures[mtu].append(self.peer.pcap)

    def start(self, name, *options, program=None):
        """Start our program for the case `name`."""
        self.ours = Program(self, options, os.path.join(self.logs, name), program)
        return self.ours

    def next_port(self):
        """A CM port that no case used before, so that nothing left of one case is taken for the next."""
        self.port += 2
        return self.port

    def mark(self):
        return self.peer.capture_bytes()

    def frames_since(self, mark):
        """The capture from `mark` on, as a capture of its own."""
        with open(self.peer.pcap, 'rb') as file:
            head = file.read(24)
            file.seek(max(mark, 24))
            return head + file.read()

    def save_frames(self, mark, name):
        path = os.path.join(self.logs, name + '.pcap')
        with open(path, 'wb') as file:
            file.write(self.frames_since(mark))
        return path

    def end_case(self):
        """Clear away what a case left running."""
        if self.ours:
            self.ours.end()
        self.ours = None

    def shut_down(self):
        self.end_case()
        if self.peer:
            self.peer.end()
        self.peer = None


def prepare():
    """Fill the cache and check what the cases need; raises Unable with the reason when something is missing."""
    done = subprocess.run([os.path.join(HERE, 'linux_peer'), 'build'], stderr=subprocess.PIPE, text=True)
    sentence = (done.stderr.strip().splitlines() or ['no output'])[-1].replace('linux_peer: ', '')
    if done.returncode == 77:
        raise Unable(sentence)
    if done.returncode:
        raise Failed('linux_peer build: ' + sentence)
    for name in ('ip', 'qemu-system-x86_64', 'tshark'):
        if not shutil.which(name):
            raise Unable('no program ' + name)
    if not os.access('/dev/net/tun', os.R_OK | os.W_OK):
        raise Unable('no access to /dev/net/tun')
