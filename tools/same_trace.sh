#!/usr/bin/env bash
# tools/same_trace.sh BUILD...: the same seeds must give the same bytes, whichever compiler built it and for whichever
# system: compares the traces of worlds (tests/support/programs/same_trace.cpp) and the report of the main workflow.
# A build with programs for Windows runs under Wine, as tools/windows.sh set it up.
set -euo pipefail
[ $# -ge 2 ] || { echo "usage: tools/same_trace.sh BUILD BUILD..." >&2; exit 2; }
workflow=examples/workflows/ltxav-zimage-lumina2.json
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

first=
for build in "$@"; do
  wine=()
  suffix=
  if [ -e "$build/bin/tidegate.exe" ]; then
    wine=("${TIDEGATE_WINE:?names wine64; tools/windows.sh sets it}")
    suffix=.exe
  fi
  mkdir "$out/now"
  "${wine[@]}" "$build/bin/tests/same_trace$suffix" "$out/now/trace"
  for card in rtx3050-6g-wddm rtx3050-6g-linux; do
    "${wine[@]}" "$build/bin/tidegate$suffix" run "$workflow" --card "$card" --quiet --report "$out/now/$card.json" >"$out/$card.txt" ||
      { cat "$out/$card.txt" >&2; exit 1; }
  done
  if [ -z "$first" ]; then
    first=$build
    mv "$out/now" "$out/first"
    continue
  fi
  for file in "$out"/first/*; do
    if ! cmp "$file" "$out/now/${file##*/}"; then
      diff "$file" "$out/now/${file##*/}" | head -n 5 >&2 || true
      echo "same trace: $first and $build differ in ${file##*/}" >&2
      exit 1
    fi
  done
  rm -rf "$out/now"
  echo "same trace: $first and $build agree, $(cat "$out"/first/* | wc -c) bytes"
done
