#!/usr/bin/env python3
"""clang-tidy 14 over the sources within a time cap: changed files first, then the others, starting elsewhere with each
commit, so that a cap that cuts the list short does not spare the same files for ever.

    tools/tidy.py <build folder with compile_commands.json> [--seconds N] [--jobs N]
"""

import argparse
import concurrent.futures
import json
import os
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
ROOMS = ("src/", "sim/", "front/", "cli/")


def git(*arguments):
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.split("\n") if done.returncode == 0 else []


def ordered(files):
    changed = set(git("diff", "--name-only", "HEAD~10")) | set(git("diff", "--name-only", "HEAD"))
    first = [name for name in files if name in changed]
    rest = [name for name in files if name not in changed]
    count = "".join(git("rev-list", "--count", "HEAD")).strip()
    start = int(count or 0) * 7 % max(len(rest), 1)
    return first + rest[start:] + rest[:start]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder")
    parser.add_argument("--seconds", type=float, default=420)
    parser.add_argument("--jobs", type=int, default=os.cpu_count())
    options = parser.parse_args()

    commands = json.loads((Path(options.folder) / "compile_commands.json").read_text())
    names = {os.path.relpath(Path(entry["directory"], entry["file"]), ROOT) for entry in commands}
    files = ordered(sorted(name for name in names if name.startswith(ROOMS)))
    if not files:
        print("tidy: skipped, the rooms are still empty")
        return 0

    deadline = time.monotonic() + options.seconds

    def tidy(name):
        left = deadline - time.monotonic()
        if left <= 0:
            return name, None, ""
        try:
            done = subprocess.run(
                ["clang-tidy-14", "-p", options.folder, "--quiet", name], cwd=ROOT, capture_output=True, text=True, timeout=left
            )
        except subprocess.TimeoutExpired:
            return name, None, ""
        # What clang-tidy cannot read at all it reports on stderr.
        return name, done.returncode == 0, done.stdout + ("" if done.stdout.strip() or not done.returncode else done.stderr)

    failed = unread = 0
    seen = set()  # a header's finding is printed once, not for each source that includes it
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for name, good, output in pool.map(tidy, files):
            if good is None:
                unread += 1
            elif not good:
                failed += 1
                if output not in seen:
                    seen.add(output)
                    print(output.strip(), flush=True)
    print(f"tidy: {len(files) - unread} of {len(files)} files read, {failed} with findings", flush=True)
    if unread == len(files):
        print("tidy: nothing was read within the cap")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
