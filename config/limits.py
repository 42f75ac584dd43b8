#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""Runs a command and fails if it does, or if it takes more time or more resident memory than allowed.

  limits.py --seconds S --mib M COMMAND...
"""
import argparse
import os
import resource
import subprocess
import sys
import time

parser = argparse.ArgumentParser()
parser.add_argument("--seconds", type=float, required=True)
parser.add_argument("--mib", type=float, required=True)
parser.add_argument("command", nargs=argparse.REMAINDER)
args = parser.parse_args()

start = time.monotonic()
try:
    status = subprocess.run(args.command, timeout=10 * args.seconds).returncode
except subprocess.TimeoutExpired:
    sys.exit("still running after %g s" % (10 * args.seconds))
except OSError as e:
    sys.exit("%s: %s" % (args.command[0], os.strerror(e.errno)))
seconds = time.monotonic() - start
mib = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
print("%.1f s of at most %g, %.0f MiB of at most %g, exit status %d" % (seconds, args.seconds, mib, args.mib, status))
sys.exit(status != 0 or seconds > args.seconds or mib > args.mib)
