#!/usr/bin/env python3
"""README.md shows examples/quickstart.cpp word for word, so that what a reader copies is what CI compiles and runs.

    tools/readme_example.py --check | --write
"""

import re
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
MARK = "<!-- examples/quickstart.cpp -->"
MAX_LINES = 30


def main():
    source, readme = ROOT / "examples/quickstart.cpp", ROOT / "README.md"
    if not source.exists() or not readme.exists():
        print("readme example: skipped, there is no examples/quickstart.cpp or README.md yet")
        return 0
    code, text = source.read_text(), readme.read_text()
    if code.count("\n") > MAX_LINES:
        print(f"examples/quickstart.cpp:{MAX_LINES + 1}: the example in README.md has at most {MAX_LINES} lines")
        return 1
    wanted = f"{MARK}\n```cpp\n{code.rstrip()}\n```\n"
    block = re.compile(re.escape(MARK) + r"\n(?:```cpp\n.*?\n```\n)?", re.S)
    if not block.search(text):
        print(f"README.md:1: the line {MARK} is missing; the example stands after it")
        return 1
    updated = block.sub(lambda _: wanted, text, count=1)
    if updated == text:
        return 0
    if "--write" in sys.argv[1:]:
        readme.write_text(updated)
        return 0
    print("README.md:1: the example differs from examples/quickstart.cpp")
    return 1


if __name__ == "__main__":
    sys.exit(main())
