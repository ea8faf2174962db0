#!/usr/bin/env bash
# tools/bench_gpu.sh PART [folder for results]: one part of the measurements on a card (bench/gpu, docs/performance.md).
# Each ends within four minutes and writes <folder>/part-<n>*.json.
set -euo pipefail
cd "$(dirname "$0")/.."
part=${1:?which part: 1 to 5, 8 or 9}
out=${2:-build/bench-results/gpu}
bin=build/bin/bench/gpu
for folder in /usr/local/cuda/lib64 /usr/local/cuda/lib $(python3 -c 'import nvidia, os; print(os.path.join(list(nvidia.__path__)[0], "cu13", "lib"))' 2>/dev/null); do
  [ ! -d "$folder" ] || LD_LIBRARY_PATH=${LD_LIBRARY_PATH:+$LD_LIBRARY_PATH:}$folder
done
export LD_LIBRARY_PATH=${LD_LIBRARY_PATH:-}
mkdir -p "$out"

if [ ! -x "$bin/page_turn" ]; then
  cmake --preset release >/dev/null
  cmake --build --preset release --parallel "${JOBS:-$(nproc)}" --target tidegate_bench
fi
case "$part" in
  1) "$bin/page_turn" --out "$out/part-1.json" ;;
  2) "$bin/page_in" --out "$out/part-2.json" ;;
  3)
    "$bin/oversubscribed" --out "$out/part-3.json"
    "$bin/oversubscribed" --tokens 4096 --share 75 --load uneven,twice,experts,two-models --out "$out/part-3-loads.json"
    python3 bench/gpu/peers.py --out "$out/part-3-peers.json"
    ;;
  4) "$bin/disturbance" --out "$out/part-4.json" ;;
  5) "$bin/sleep" --out "$out/part-5.json" ;;
  8) "$bin/oversubscribed" --share 102 --tokens 1024,4096 --out "$out/part-8.json" ;;
  9)
    [ -e "$out/part-3.json" ] || { echo "bench-gpu: part 9 needs the compute times of part 3" >&2; exit 2; }
    "$bin/oversubscribed" --card h200-linux --tokens 4096 --passes 1 --times-from "$out/part-3.json" --out "$out/part-9.json"
    ;;
  *)
    echo "bench-gpu: no part $part here; tidegate load measures part 6" >&2
    exit 2
    ;;
esac
