#!/usr/bin/env bash
# tools/windows.sh: builds programs and libraries for Windows with mingw-w64 and runs them under Wine, without a display.
# What is missing is skipped by name. TIDEGATE_WINE_PREFIX: Wine's folder, kept for the next time; default: one in the
# build folder. TIDEGATE_NIGHTLY=1: more tests.
set -euo pipefail
cd "$(dirname "$0")/.."
JOBS=${JOBS:-$(nproc)}
build=build-mingw

command -v x86_64-w64-mingw32-g++-posix >/dev/null 2>&1 ||
  { echo "windows: skipped, there is no mingw-w64 (tools/deps.sh windows)"; exit 0; }
cmake --preset mingw -DTIDEGATE_REQUIRE_TESTS=ON >/dev/null
tests=(test_windows test_wddm)
[ -z "${TIDEGATE_NIGHTLY:-}" ] || tests+=(test_driver test_regress test_property)
cmake --build $build --parallel "$JOBS" --target tidegate_cli tidegate_faces same_trace "${tests[@]}"

TIDEGATE_WINE=$(command -v wine64 || true)
[ -n "$TIDEGATE_WINE" ] || [ ! -x /usr/lib/wine/wine64 ] || TIDEGATE_WINE=/usr/lib/wine/wine64  # where Debian keeps it
[ -n "$TIDEGATE_WINE" ] || { echo "windows tests: skipped, there is no Wine (tools/deps.sh windows)"; exit 0; }
export TIDEGATE_WINE WINEDEBUG=-all
WINEPREFIX=${TIDEGATE_WINE_PREFIX:-$PWD/$build/wine}
XDG_RUNTIME_DIR=$(mktemp -d)
export WINEPREFIX XDG_RUNTIME_DIR
unset DISPLAY WAYLAND_DISPLAY
trap 'rm -rf "$XDG_RUNTIME_DIR"' EXIT
# Nothing of .NET or a browser is asked for while the prefix is made. It also complains about 32-bit programs, which
# nobody needs.
[ -e "$WINEPREFIX/system.reg" ] ||
  WINEDLLOVERRIDES="mscoree,mshtml=" timeout 180 "$TIDEGATE_WINE" wineboot -i >/dev/null 2>&1 ||
  { echo "windows tests: skipped, Wine cannot make its folder $WINEPREFIX"; exit 0; }
export WINEDLLOVERRIDES="dxgi,dxcore=n,b"

export TIDEGATE_WORLDS=3 # of each kind: Linux runs them by the hundred
for test in "${tests[@]}"; do
  echo "-- $test under Wine"
  timeout 120 "$TIDEGATE_WINE" "$build/bin/tests/$test.exe" --gtest_brief=1
done
timeout 120 "$TIDEGATE_WINE" $build/bin/tidegate.exe run examples/workflows/ltxav-zimage-lumina2.json \
  --card rtx3050-6g-wddm --quiet
for other in build build-clang; do
  [ -e $other/bin/tests/same_trace ] || { echo "same trace: skipped, $other has not been built"; continue; }
  cmake --build $other --parallel "$JOBS" --target same_trace tidegate_cli >/dev/null
  tools/same_trace.sh $build $other
done
