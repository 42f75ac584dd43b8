#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-3-Clause
"""The list of what libpmverbs exports, read from the public headers: every function marked PMV_API.

  symbol_map.py map HEADER_DIR... -o FILE [--depfile FILE]   linker version script (called by the build)
  symbol_map.py list HEADER_DIR...                           one name a line (config/package/abi.list, the reviewed record)

Generated, because a hand-kept map and the headers would drift apart.
"""
import argparse
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.S)
DECLARATION = re.compile(r"^PMV_API\s+[^;(]*?\b(\w+)\s*\(", re.M)


def exported(headers):
    names = set()
    for header in headers:
        names.update(DECLARATION.findall(COMMENT.sub("", header.read_text())))
    bad = sorted(n for n in names if not n.startswith("pmv_"))
    if bad:
        sys.exit("symbol_map: exported names must start with pmv_: " + " ".join(bad))
    return sorted(names)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=["map", "list"])
    parser.add_argument("dirs", nargs="+")
    parser.add_argument("-o", dest="output")
    parser.add_argument("--depfile")
    parser.add_argument("--node", default="PMVERBS_0")
    args = parser.parse_args()

    headers = sorted(h for d in args.dirs for h in pathlib.Path(d).glob("*.h"))
    names = exported(headers)
    if args.what == "list":
        print("\n".join(names))
        return
    lines = [args.node + " {"]
    if names:
        lines.append("\tglobal:")
        lines += ["\t\t%s;" % n for n in names]
    lines += ["\tlocal:", "\t\t*;", "};", ""]
    pathlib.Path(args.output).write_text("\n".join(lines))
    if args.depfile:
        # The folders too: a header that comes or goes changes their time stamp.
        needed = [str(p) for p in headers] + args.dirs
        pathlib.Path(args.depfile).write_text("%s: %s\n" % (args.output, " ".join(needed)))


main()
