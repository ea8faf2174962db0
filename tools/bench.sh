#!/usr/bin/env bash
# tools/bench.sh [--smoke]: builds and runs the benchmarks; their JSON goes to build/bench-results/. --smoke only sees
# that each of them runs.
set -euo pipefail
cd "$(dirname "$0")/.."
if ! ls bench/*.cpp >/dev/null 2>&1; then
  echo "bench: skipped, bench/ is still empty"
  exit 0
fi
tools/deps.sh build test
cmake --preset release -DTIDEGATE_REQUIRE_TESTS=ON >/dev/null
cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target tidegate_bench
time_limit=()
[ "${1:-}" != --smoke ] || time_limit=(--benchmark_min_time=0.01)
mkdir -p build/bench-results
for source in bench/*.cpp; do
  name=$(basename "$source" .cpp)
  echo "== $name"
  "build/bin/bench/$name" "${time_limit[@]}" --benchmark_out="build/bench-results/$name.json" --benchmark_out_format=json
done
