#!/usr/bin/env python3
"""The rules of the house that a search can check. Each violation is printed as file:line: rule: what.

    tools/house_rules.py              checks the tree (tracked and new files that git does not ignore)
    tools/house_rules.py --self-test  feeds each rule bad and good snippets first
"""

import re
import subprocess
import sys
from pathlib import Path, PurePosixPath

ROOT = Path(__file__).resolve().parent.parent
CODE = (".cpp", ".h")
MAX_LINES = 500

# What code outside src/base must not do: create a thread, wait on a condition, read a clock. DESIGN.md, "The house".
WAITING = re.compile(
    r"\bstd::j?thread\b|\bstd::async\b|\bpthread_(?:create|mutex_\w+|cond_\w+)\b|\bcondition_variable(?:_any)?\b"
    r"|\bstd::(?:recursive_|timed_|recursive_timed_|shared_|shared_timed_)?mutex\b"
    r"|\bstd::(?:counting_semaphore|binary_semaphore|latch|barrier)\b|\bsleep_(?:for|until)\b"
    r"|\b(?:steady|system|high_resolution)_clock\b|\b(?:clock_gettime|gettimeofday|timespec_get)\s*\("
    r"|\b(?:CreateThread|SleepEx|QueryPerformanceCounter)\s*\("
    r"|(?<![\w.>:])(?:(?:std)?::)?(?:sleep|usleep|nanosleep|clock_nanosleep|Sleep)\s*\("
)
WAITING_ALLOWED = ("src/base/", "tests/", "bench/", "examples/", "fuzz/")

# Which rooms a room may include besides itself and the public headers; None: any.
ARROWS = {
    "include": set(),
    "base": set(),
    "driver": {"base"},
    "store": {"base", "driver"},
    "observe": {"base"},
    "pager": {"base", "driver", "store", "observe"},
    "share": {"base", "driver", "observe"},
    "sim": {"base", "driver"},
    "front": {"base", "driver", "sim"},
    "cli": None,
}
# Of the driver, the simulator may know the seam and the driver's binary interface, not who loads the real one.
SIM_DRIVER = re.compile(r"src/driver/(?:\w+_abi|driver|nvml|function_id|intercept)\.h$")
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')
GENERATED = {"tidegate_build.h"}

DEVICE_WAIT = re.compile(r"\b(?:cuCtxSynchronize|ctx_synchronize)\b")
PRIVATE_PATH = re.compile(r"(?<![\w.~$}/-])/(?:home|work|root|Users)/[\w.]")
PROMISE = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" * 3)) + r")\b")
PRAGMA_ONCE = re.compile(r"^#pragma once\s*$", re.M)


def room_of(path):
    """The room that a path lies in, or None where no arrow rule holds (tests, bench, examples, ...)."""
    parts = PurePosixPath(path).parts
    if parts[0] == "src" and len(parts) > 2:
        return parts[1]
    return parts[0] if parts[0] in ARROWS else None


def code_only(text):
    """The text with comments and literals blanked; lines keep their numbers."""
    token = re.compile(
        r'R"([^()\\ ]{0,16})\((?:.|\n)*?\)\1"|//[^\n]*|/\*(?:.|\n)*?\*/|"(?:\\.|[^"\\\n])*"|(?<![0-9A-Fa-f])\'(?:\\.|[^\'\\\n])+\''
    )
    return token.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)


def check_include(path, quote, target):
    room = room_of(path)
    if room is None:
        return None
    if target.startswith("tidegate/"):
        return None
    if quote == "<":
        return None
    target_room = room_of(target)
    if target_room is None:
        if target in GENERATED:
            return None
        return f'"{target}": project headers are named from the root of the repository'
    if room == "include":
        return f'"{target}": a public header includes public headers only'
    allowed = ARROWS.get(room)
    if target_room == room or (room in ARROWS and allowed is None):
        return None
    if allowed is None or target_room not in allowed:
        return f'"{target}": {room} must not include {target_room}'
    if room == "sim" and target_room == "driver" and not SIM_DRIVER.match(target):
        return f'"{target}": of the driver, sim may include the seam and the binary interface only'
    return None


def check(path, text):
    """All violations in one file, as (line, rule, what)."""
    found = []
    lines = text.split("\n")
    for number, line in enumerate(lines, 1):
        if match := PRIVATE_PATH.search(line):
            found.append((number, "private-path", match.group().strip() + "... is a path of one machine"))
        if match := PROMISE.search(line):
            found.append((number, "promise", match.group() + ": finish it, or write down plainly what is missing"))
    if not path.endswith(CODE):
        return found

    bare = code_only(text).split("\n")
    for number, line in enumerate(bare, 1):
        if not path.startswith(WAITING_ALLOWED) and (match := WAITING.search(line)):
            found.append((number, "waiting", f"{match.group().strip()}: threads, waits and clocks belong to src/base"))
        if path.startswith("src/pager/") and (match := DEVICE_WAIT.search(line)):
            found.append((number, "device-wait", f"{match.group()}: the pager proves by event, never by a device-wide wait"))
        if re.match(r"\s*#\s*include", line) and (match := INCLUDE.match(lines[number - 1])):
            if what := check_include(path, *match.groups()):
                found.append((number, "arrow", what))
    if path.endswith(".h") and not PRAGMA_ONCE.search(text):
        found.append((1, "pragma-once", "a header starts with #pragma once"))
    count = len(lines) - (lines[-1] == "")
    if count > MAX_LINES and path.startswith(("src/", "sim/", "cli/", "include/", "front/")):
        found.append((MAX_LINES + 1, "length", f"{count} lines; a file holds one idea in at most {MAX_LINES}"))
    return found


def names():
    listed = subprocess.run(
        ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"], cwd=ROOT, capture_output=True
    )
    if listed.returncode == 0:
        return sorted(filter(None, listed.stdout.decode().split("\0")))
    # An unpacked archive: everything but what a build leaves.
    skipped = re.compile(r"(?:^build|^\.git$|^__pycache__$)")
    found = (path.relative_to(ROOT) for path in ROOT.rglob("*") if path.is_file())
    return sorted(str(path) for path in found if not any(skipped.match(part) for part in path.parts))


def tree():
    for name in names():
        path = ROOT / name
        if path.is_symlink() or not path.is_file():
            continue
        data = path.read_bytes()
        if b"\0" not in data:
            yield name, data.decode("utf-8", "replace")


# (rule, path, snippet) that must be caught, and (path, snippet) that must pass.
HEADER = "#pragma once\n"
BAD = [
    ("waiting", "src/pager/a.cpp", "std::thread worker;"),
    ("waiting", "src/pager/a.cpp", "std::jthread worker;"),
    ("waiting", "src/share/a.cpp", "pthread_create(&id, nullptr, run, nullptr);"),
    ("waiting", "src/store/a.cpp", "std::condition_variable ready;"),
    ("waiting", "cli/a.cpp", "std::mutex mutex;"),
    ("waiting", "cli/a.cpp", "std::shared_mutex mutex;"),
    ("waiting", "sim/a.cpp", "std::this_thread::sleep_for(1ms);"),
    ("waiting", "sim/a.cpp", "auto t = std::chrono::steady_clock::now();"),
    ("waiting", "front/a.cpp", "using C = std::chrono::system_clock;"),
    ("waiting", "front/a.cpp", "using C = high_resolution_clock;"),
    ("waiting", "src/driver/a.cpp", "  sleep(1);"),
    ("waiting", "src/driver/a.cpp", "  ::usleep (1);"),
    ("waiting", "src/observe/a.h", HEADER + "nanosleep(&wish, nullptr);"),
    ("waiting", "src/observe/a.cpp", 'log("a"); usleep(3); log("b");'),
    ("arrow", "src/base/a.h", HEADER + '#include "src/driver/driver.h"'),
    ("arrow", "src/driver/a.cpp", '#include "src/store/store.h"'),
    ("arrow", "src/store/a.cpp", '#include "src/pager/plan.h"'),
    ("arrow", "src/pager/a.cpp", '#include "src/share/ledger.h"'),
    ("arrow", "src/pager/a.cpp", '#  include "sim/card.h"'),
    ("arrow", "src/share/a.cpp", '#include "src/pager/plan.h"'),
    ("arrow", "src/observe/a.cpp", '#include "src/driver/driver.h"'),
    ("arrow", "sim/a.cpp", '#include "src/pager/plan.h"'),
    ("arrow", "sim/a.cpp", '#include "src/driver/loader.h"'),
    ("arrow", "front/a.cpp", '#include "src/pager/plan.h"'),
    ("arrow", "include/tidegate/a.h", HEADER + '#include "src/base/mutex.h"'),
    ("arrow", "src/pager/a.cpp", '#include "plan.h"'),
    ("arrow", "src/pager/a.cpp", '#include "../share/ledger.h"'),
    ("arrow", "src/newroom/a.cpp", '#include "src/base/mutex.h"'),
    ("device-wait", "src/pager/a.cpp", "driver.ctx_synchronize();"),
    ("device-wait", "src/pager/a.cpp", "table->cuCtxSynchronize();"),
    ("private-path", "docs/a.md", "see /ho" + "me/someone/notes"),
    ("private-path", "a.sh", "cd /wo" + "rk/tree"),
    ("promise", "src/pager/a.cpp", "// TO" + "DO: later"),
    ("promise", "docs/a.md", "FIX" + "ME"),
    ("promise", "README.md", "X" * 3),
    ("pragma-once", "src/base/a.h", "#ifndef A_H\n#define A_H\n#endif\n"),
    ("length", "cli/a.cpp", "int a;\n" * (MAX_LINES + 1)),
]
GOOD = [
    ("src/base/a.cpp", "std::thread worker; std::condition_variable ready; steady_clock::now();"),
    ("tests/unit/a.cpp", "std::thread worker;"),
    ("src/pager/a.cpp", "// std::thread and /* cuCtxSynchronize */"),
    ("src/pager/a.cpp", '/* std::mutex\n std::mutex */ log("sleep(1), steady_clock");'),
    ("src/pager/a.cpp", "auto big = 1'000'000; base::Mutex mutex; executor.sleep(5); not_sleep(3);"),
    ("src/pager/a.cpp", '#include "src/store/store.h"\n#include "src/pager/plan.h"\n#include "tidegate/bytes.h"\n#include <map>'),
    ("src/pager/a.cpp", '// #include "src/share/ledger.h"'),
    ("sim/a.cpp", '#include "src/driver/cuda_abi.h"\n#include "src/driver/driver.h"\n#include "src/base/clock.h"'),
    ("front/a.cpp", '#include "sim/card.h"\n#include "src/driver/driver.h"'),
    ("cli/a.cpp", '#include "src/share/ledger.h"\n#include "tidegate_build.h"'),
    ("src/share/a.cpp", "driver.ctx_synchronize();"),
    ("a.sh", "dir=$(mktemp -d name.XXXXXX); cd examples/work/flow; ls ~/home/x"),
    ("src/base/a.h", "// What it is.\n#pragma once\n"),
    ("cli/a.cpp", "int a;\n" * MAX_LINES),
    ("tests/unit/a.cpp", "int a;\n" * (MAX_LINES + 1)),
]


def self_test():
    failures = 0
    for rule, path, snippet in BAD:
        if rule not in {found[1] for found in check(path, snippet)}:
            print(f"self-test: {rule} missed in {path}: {snippet[:80]!r}")
            failures += 1
    for path, snippet in GOOD:
        for found in check(path, snippet):
            print(f"self-test: {found[1]} raised wrongly in {path}: {snippet[:80]!r}")
            failures += 1
    print(f"house rules: self-test, {len(BAD)} bad and {len(GOOD)} good snippets, {failures} failures")
    return failures


def main():
    if "--self-test" in sys.argv[1:]:
        return 1 if self_test() else 0
    files = violations = 0
    for path, text in tree():
        files += 1
        for number, rule, what in check(path, text):
            print(f"{path}:{number}: {rule}: {what}")
            violations += 1
    print(f"house rules: {files} files, {violations} violations")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
