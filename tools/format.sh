#!/usr/bin/env bash
# tools/format.sh [--check]: clang-format 14 over the C++ sources, and README's example taken from examples/quickstart.cpp.
set -euo pipefail
cd "$(dirname "$0")/.."
folders=()
for folder in include src sim front cli python tests bench fuzz examples; do
  [ -d "$folder" ] && folders+=("$folder")
done
status=0
sources() {
  find "${folders[@]}" -type f \( -name '*.h' -o -name '*.cpp' \) -print0 | sort -z
}
if [ "${1:-}" = --check ]; then
  readme=--check
  sources | xargs -0 -r -n 1 -P "${JOBS:-$(nproc)}" sh -c \
    'clang-format-14 --dry-run -Werror "$1" >/dev/null 2>&1 || { echo "$1:1: format: differs from .clang-format"; exit 1; }' sh ||
    status=1
else
  readme=--write
  sources | xargs -0 -r -n 16 -P "${JOBS:-$(nproc)}" clang-format-14 -i || status=1
fi
python3 tools/readme_example.py "$readme" || status=1
[ $status -eq 0 ] || echo "format: run make format"
exit $status
