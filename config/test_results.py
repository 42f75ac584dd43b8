#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Turns what one `meson test` run logged into result lines of config/check: `ok NAME`, `not ok NAME`, `skip NAME reason`.

  test_results.py LABEL TESTLOG.json

Each case of a cmocka program counts by its own name, and so does each line `ok NAME`, `not ok NAME` or `skip NAME reason`
of a script. A program without cases counts as one, and so does a program that fails without a failed case (a crash, a
sanitizer's report, a time-out).
"""
import json
import re
import sys

CASE = re.compile(r"^\[ +(RUN|OK|FAILED|SKIPPED) +\] (\w+)$")
LINE = re.compile(r"^(ok|not ok|skip) (\S+) ?(.*)$")
VERDICTS = {"ok": "OK", "not ok": "FAILED", "skip": "SKIPPED"}


def cases(output):
    """[(verdict, case, last line that the case printed)] in the order in which they ended"""
    found, said = [], ""
    for line in output.splitlines():
        result = LINE.match(line)
        if result:
            found.append((VERDICTS[result.group(1)], result.group(2), result.group(3)))
            continue
        m = CASE.match(line.strip())
        if not m:
            said = line.strip() or said
        elif m.group(1) == "RUN":
            said = ""
        elif found and found[-1][1] == m.group(2):
            pass  # cmocka lists failed cases a second time at its end
        else:
            found.append((m.group(1), m.group(2), said))
    return found


def judge(label, test):
    name = "%s %s" % (label, test["name"].split(" / ", 1)[-1])
    out = test.get("stdout", "")
    found = cases(out)
    failed, seen = False, set()
    for verdict, case, said in found:
        if case in seen:
            continue
        seen.add(case)
        if verdict == "OK":
            print("ok %s %s" % (name, case))
        elif verdict == "SKIPPED":
            print("skip %s %s\t%s" % (name, case, said or "no reason given"))
        else:
            failed = True
            print("not ok %s %s" % (name, case))
    if test["result"] in ("OK", "EXPECTEDFAIL"):
        if not found:
            print("ok " + name)
    elif test["result"] == "SKIP":
        lines = [l for l in out.splitlines() if l.strip()]
        print("skip %s\t%s" % (name, lines[-1].strip() if lines else "no reason given"))
    elif not failed:
        print("not ok %s (%s)" % (name, test["result"].lower()))


def main():
    label, path = sys.argv[1:]
    with open(path) as log:
        for line in log:
            judge(label, json.loads(line))


main()
