#!/usr/bin/env bash
# tools/nightly.sh: every test with TIDEGATE_NIGHTLY=1 (property tests take more seeds), optimised and under each sanitizer.
# What each stage said and took goes to bench/results/<date>-nightly.json, with the machine and the commit.
set -euo pipefail
cd "$(dirname "$0")/.."
export TIDEGATE_NIGHTLY=1 TEST_TIMEOUT=3600

log=$(mktemp)
stages=$(mktemp)
trap 'rm -f "$log" "$stages"' EXIT
stage() {
  local name=$1 start=$SECONDS status=0
  shift
  echo "== $name"
  "$@" 2>&1 | tee "$log" || status=$?
  printf '%s\t%s\t%s\t%s\n' "$name" "$status" $((SECONDS - start)) \
    "$(grep -hoE '[0-9]+% tests passed.*' "$log" | tail -n 1)" >>"$stages"
}

optimised() {
  cmake --preset nightly >/dev/null
  cmake --build --preset nightly --parallel "${JOBS:-$(nproc)}"
  tools/test.sh build-nightly
}

stage optimised optimised
for preset in asan ubsan tsan; do
  stage "$preset" tools/sanitize.sh "$preset"
done
stage windows tools/windows.sh
python3 - "$stages" <<'REPORT'
import datetime
import json
import os
import platform
import re
import subprocess
import sys

model = re.search(r"model name\s*:\s*(.*)", open("/proc/cpuinfo").read())
stages = [line.rstrip("\n").split("\t") for line in open(sys.argv[1])]
today = datetime.date.today().isoformat()
result = {
    "machine": f"{os.cpu_count()} x {model.group(1) if model else platform.machine()}",
    "commit": subprocess.check_output(["git", "describe", "--always", "--dirty"], text=True).strip(),
    "date": today,
    "stages": [
        {"name": name, "passed": status == "0", "seconds": int(seconds), "tests": tests}
        for name, status, seconds, tests in stages
    ],
}
path = f"bench/results/{today}-nightly.json"
with open(path, "w") as file:
    json.dump(result, file, indent=1)
    file.write("\n")
print(f"nightly: {path}")
sys.exit(any(not stage["passed"] for stage in result["stages"]))
REPORT
