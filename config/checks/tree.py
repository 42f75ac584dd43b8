# SPDX-License-Identifier: BSD-3-Clause
"""What the house rules share: the files of the project, and how a rule reports. Imported by the scripts beside it."""
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
os.chdir(ROOT)
# A rule runs from a check-out as from an unpacked archive: it leaves nothing behind.
sys.dont_write_bytecode = True

INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]', re.M)


def files(*suffixes):
    """Paths of the project's own files, relative to the root; files not yet committed are judged too."""
    try:
        out = subprocess.run(["git", "ls-files", "-co", "--exclude-standard"], capture_output=True, text=True, check=True)
        names = out.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):
        names = []
        for folder, dirs, found in os.walk("."):
            dirs[:] = [d for d in dirs if d != ".git" and not d.startswith("build")]
            names += [os.path.relpath(os.path.join(folder, f)) for f in found]
    names = sorted(set(n for n in names if os.path.isfile(n)))
    return [n for n in names if not suffixes or n.endswith(suffixes)]


def text(path):
    return pathlib.Path(path).read_text(errors="replace")


def room(path):
    """lib/util/be.h -> lib/util; cm/msg.c -> cm; cm/api/pmv_cm.h -> cm/api; apps/demo/main.c -> apps."""
    parts = pathlib.PurePath(path).parts
    if parts[0] in ("lib", "drivers") and len(parts) > 2:
        return "/".join(parts[:2])
    if parts[:2] == ("cm", "api"):
        return "cm/api"
    return parts[0]


def includes(path):
    """[(line number, '<' or '"', name)]"""
    content = text(path)
    return [(content.count("\n", 0, m.start(1)) + 1, m.group(1), m.group(2)) for m in INCLUDE.finditer(content)]


def finish(problems, what):
    """Ends a rule: each problem on its line and exit status 1, or a sentence and 0."""
    for p in problems:
        print(p)
    print("%d problems in %s" % (len(problems), what))
    sys.exit(1 if problems else 0)
