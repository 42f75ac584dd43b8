# SPDX-License-Identifier: BSD-3-Clause
"""The trials: every verb that soft RoCE has, Linux and ours against each other, data and completions looked at by both.

trial_ours and the guest's trial_linux run the same list of operations (trial/table.c) over a connection of rdma_cm; each
prints a line for whatever is not as expected. The cases' names: verbs.WHO-REQUESTS.CASE.FAMILY.lossN.
"""
import re

from cases import Case, end_status, last_line, wait_until_up
from lab import OUR_ADDRESS, PEER_ADDRESS, Failed

LOSS_PERCENT = 2
BOTH = (0, LOSS_PERCENT)
# Name, family, IP MTU, percent of loss. What ends in a fault ends in it without loss only. A UC receive of a shared queue
# that a loss cuts off ends in an error with rxe (6.1, resp_check_resource), which is no sign of anything.
CASES = (('rc', 'v4', 1500, BOTH), ('atomic', 'v4', 1500, BOTH), ('inv', 'v4', 1500, BOTH), ('mw', 'v6', 1500, BOTH),
         ('too_long', 'v4', 1500, (0,)), ('srq', 'v6', 1500, BOTH), ('srq_ud', 'v4', 1500, BOTH),
         ('srq_uc', 'v4', 1500, (0,)), ('uc', 'v6', 1500, BOTH), ('uc_cm', 'v4', 1500, (0,)), ('ud', 'v4', 1500, BOTH), ('ud', 'v6', 1500, BOTH),
         ('rc4096', 'v4', 4200, BOTH), ('uc4096', 'v6', 4200, BOTH), ('ud4096', 'v4', 4200, (0,)))
LIMIT = {0: 60, LOSS_PERCENT: 120}


def verdict(what, status, text):
    """What a side has to say, or nothing."""
    lines = re.findall(r'^trial: (.*)', text, re.M)
    if status == 0 and lines:
        return []
    return ['%s, status %s: %s' % (what, status, ' | '.join(lines[:4]) or last_line(text))]


def judge(lab, program, linux_status, loss):
    """Both sides ended: both must agree that all was well."""
    status = end_status(program, LIMIT[loss], 'trial_ours')
    wrong = verdict('ours', status, program.text() + program.text('err'))
    wrong += verdict('Linux', linux_status, lab.peer.ask('cat /tmp/trial')[1])
    if wrong:
        raise Failed('; '.join(wrong))


def words(text):
    return [item for word in text.split() for item in ('-t', word)]


def linux_requests(lab, name, case, family, loss):
    """Linux connects and requests; we listen and respond."""
    port, weather = lab.next_port(), 'lossy' if loss else 'clean'
    address = OUR_ADDRESS[family]
    program = lab.start(name, *words('%s listen respond %s %s %d' % (case, weather, address, port)), program=lab.trial)
    wait_until_up(lab, program, family)
    with bad_link(lab, loss):
        status = lab.peer.ask('timeout %d trial_linux %s connect request %s %s %d >/tmp/trial 2>&1'
                              % (LIMIT[loss], case, weather, address, port), LIMIT[loss] + 10)[0]
        judge(lab, program, status, loss)


def we_request(lab, name, case, family, loss):
    """We connect and request; Linux listens and responds."""
    port, weather = lab.next_port(), 'lossy' if loss else 'clean'
    address = PEER_ADDRESS[family]
    lab.peer.ask('{ timeout %d trial_linux %s listen respond %s %s %d >/tmp/trial 2>&1; echo $? >/tmp/trial.status; } &'
                 % (LIMIT[loss] + 30, case, weather, address, port))
    if not lab.peer.wait_for("rdma resource show cm_id | grep LISTEN | grep -q ':%d '" % port, 10):
        raise Failed('trial_linux does not listen: ' + last_line(lab.peer.ask('cat /tmp/trial')[1]))
    with bad_link(lab, loss):
        program = lab.start(name, *words('%s connect request %s %s %d' % (case, weather, address, port)),
                            program=lab.trial)
        end_status(program, LIMIT[loss], 'trial_ours')
        if not lab.peer.wait_for('test -s /tmp/trial.status', 20):
            raise Failed('trial_linux still runs: ' + last_line(lab.peer.ask('cat /tmp/trial')[1]))
        judge(lab, program, int(lab.peer.ask('cat /tmp/trial.status')[1]), loss)


class bad_link:
    """The guest loses some of what it sends; trial_ours, told that it is lossy, does the same."""

    def __init__(self, lab, percent):
        self.lab, self.percent = lab, percent

    def __enter__(self):
        if self.percent:
            status, text = self.lab.peer.ask('tc qdisc add dev $IF root netem loss %d%%' % self.percent)
            if status:
                raise Failed('tc in the guest: ' + last_line(text))

    def __exit__(self, *_):
        if self.percent and self.lab.peer.running():
            self.lab.peer.ask('tc qdisc del dev $IF root')
        self.lab.peer.ask('rm -f /tmp/trial.status; killall -9 trial_linux 2>/dev/null')


def table():
    """The cases, for cases.table()."""
    found = []
    for loss in BOTH:
        for case, family, mtu, losses in CASES:
            for title, body in (('linux_requests', linux_requests), ('we_request', we_request)):
                if loss in losses:
                    found.append(Case('verbs.%s.%s.%s.loss%d' % (title, case, family, loss), mtu, body,
                                      {'case': case, 'family': family, 'loss': loss}, False))
    found.append(Case('verbs.we_request.unaligned.v4.loss0', 1500, we_request,
                      {'case': 'unaligned', 'family': 'v4', 'loss': 0}, False))
    return found
