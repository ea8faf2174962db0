#!/usr/bin/env bash
# tools/sanitize.sh asan|ubsan|tsan [label]: builds the tests with a preset and runs them; with a label, only those of it.
# Tests labelled gpu, slow or program (they start other processes) run in the release build alone.
set -euo pipefail
cd "$(dirname "$0")/.."
preset=$1
label=${2:-}
jobs=${JOBS:-$(nproc)}

target=tidegate_tests
select=(-LE '^(gpu|slow|program)$')
if [ -n "$label" ]; then
  if [ ! -d "tests/$label" ] && ! grep -qsx "$label" tests/*/labels; then
    echo "$preset: skipped, no test is labelled $label yet"
    exit 0
  fi
  target=tests_$label
  select+=(-L "^$label\$")
elif [ -z "$(find tests -name '*.cpp' -print -quit 2>/dev/null)" ]; then
  echo "$preset: skipped, tests/ is still empty"
  exit 0
fi

cmake --preset "$preset" "-DTIDEGATE_TEST_TIMEOUT=${TEST_TIMEOUT:-300}" >/dev/null
cmake --build --preset "$preset" --parallel "$jobs" --target "$target"

# The thread sanitizer cannot place its shadow under the address randomisation of newer kernels.
fixed=()
if [ "$preset" = tsan ] && setarch "$(uname -m)" -R true 2>/dev/null; then
  fixed=(setarch "$(uname -m)" -R)
fi
export ASAN_OPTIONS="${ASAN_OPTIONS:-detect_stack_use_after_return=1:strict_string_checks=1:check_initialization_order=1}"
export UBSAN_OPTIONS="${UBSAN_OPTIONS:-print_stacktrace=1}"
export TSAN_OPTIONS="${TSAN_OPTIONS:-second_deadlock_stack=1:suppressions=$PWD/tools/tsan.supp}"
log=build-$preset/ctest.log
"${fixed[@]}" ctest --test-dir "build-$preset" --output-on-failure --parallel "$jobs" --no-tests=error "${select[@]}" \
  >"$log" 2>&1 || { grep -vE '(Passed +[0-9.]+ sec|^ +Start +[0-9]+:)' "$log"; exit 1; }
echo "$preset: $(grep -E 'tests passed' "$log")$(sed -n 's/^Total Test time (real) =/,/p' "$log")"
