#!/usr/bin/env bash
# tools/format.sh [--check]: clang-format 14 over the C++ sources, and README's example taken from examples/quickstart.cpp.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=()
for folder in include src sim front cli python tests bench fuzz examples; do
  [ -d "$folder" ] && folders+=("$folder")
done
mode=(-i)
readme=(--write)
if [ "${1:-}" = --check ]; then
  mode=(--dry-run -Werror)
  readme=(--check)
fi
status=0
find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z |
  xargs -0 -r -n 16 -P "${JOBS:-$(nproc)}" clang-format-14 "${mode[@]}" || status=1
python3 tools/readme_example.py "${readme[@]}" || status=1
[ $status -eq 0 ] || echo "format: run make format"
exit $status
