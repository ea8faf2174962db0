#!/usr/bin/env bash
# tools/abi_check.sh: compiles tests/abi against every cuda.h found, so that each constant and layout we wrote down ourselves
# is held against NVIDIA's. CUDA_HOME adds a place to look in.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! ls tests/abi/*.cpp >/dev/null 2>&1; then
  if ls src/driver/*_abi.h >/dev/null 2>&1; then
    echo "abi: FAILED, src/driver describes an ABI and tests/abi checks nothing"
    exit 1
  fi
  echo "abi: skipped, there is no ABI header yet"
  exit 0
fi
checked=0
declare -A seen=()
for folder in ${CUDA_HOME:+"$CUDA_HOME/include"} /usr/local/cuda*/include /usr/local/cuda*/targets/*/include /opt/cuda/include \
  /usr/local/include /usr/include; do
  [ -e "$folder/cuda.h" ] || continue
  real=$(realpath "$folder/cuda.h")
  [ -z "${seen[$real]:-}" ] || continue
  seen[$real]=1
  version=$(sed -n 's/^#define CUDA_VERSION \([0-9]*\).*/\1/p' "$folder/cuda.h")
  for source in tests/abi/*.cpp; do
    "${CXX:-g++}" -std=c++20 -fsyntax-only -DFMT_HEADER_ONLY=1 -Iinclude -I. -isystem "$folder" "$source"
  done
  echo "abi: agrees with $folder/cuda.h (CUDA_VERSION ${version:-unknown})"
  checked=$((checked + 1))
done
[ $checked -gt 0 ] || echo "abi: skipped, there is no cuda.h on this machine"
