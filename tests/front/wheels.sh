#!/usr/bin/env bash
# tests/front/wheels.sh <folder with libcuda.so.1>: other people's programs from PyPI on the simulated card: NVML's Python
# binding, comfy-aimdo (two versions), numba.cuda, and the CUDA runtime, which must be told in one line why it cannot run. They go to a
# throwaway environment. Exit code 77, with the reason, where PyPI cannot be reached.
set -euo pipefail
libraries=$(cd "${1:?usage: wheels.sh <folder with libcuda.so.1>}" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

skip() {
  echo "wheels: SKIPPED: $1"
  exit 77
}
fetch() {  # <target> <package>: into a folder of its own; nothing is installed
  python3 -m pip install --quiet --disable-pip-version-check --no-deps --retries 1 --timeout 20 --no-compile \
    --target "$folder/$1" "$2" >"$folder/log" 2>&1 || skip "$2 cannot be fetched: $(tail -n 1 "$folder/log")"
}
python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"

export TIDEGATE_CARD=rtx3050-6g-linux LD_LIBRARY_PATH="$libraries"
fetch nvml nvidia-ml-py==13.580.82
PYTHONPATH="$folder/nvml" timeout -s KILL 60 python3 "$here/wheels.py" nvml
for version in 0.5.5 0.6.0; do
  fetch "aimdo-$version" "comfy-aimdo==$version"
  PYTHONPATH="$folder/aimdo-$version" timeout -s KILL 60 python3 "$here/wheels.py" aimdo
  echo "wheels: comfy-aimdo $version: ok"
done
for package in numba==0.68.1 llvmlite==0.50.0 numpy==2.4.6; do fetch numba "$package"; done
PYTHONPATH="$folder/numba" timeout -s KILL 120 python3 -W ignore "$here/wheels.py" numba 2>"$folder/said" || cat "$folder/said"
if [ "$(wc -l <"$folder/said")" -ne 1 ] || ! grep -q "theirs" "$folder/said"; then
  echo "wheels: numba.cuda was not told why its kernel is refused, or not in one line:"
  cat "$folder/said"
  exit 1
fi
echo "wheels: numba.cuda: ok"
fetch runtime nvidia-cuda-runtime-cu12==12.9.79
PYTHONPATH="$folder/runtime" timeout -s KILL 60 python3 "$here/wheels.py" runtime 2>"$folder/said"
if [ "$(wc -l <"$folder/said")" -ne 1 ] || ! grep -q "private tables of the CUDA runtime" "$folder/said"; then
  echo "wheels: the CUDA runtime was not told why, or not in one line:"
  cat "$folder/said"
  exit 1
fi
echo "wheels: ok"
