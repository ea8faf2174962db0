#!/usr/bin/env bash
# tools/deps.sh [build] [test] [windows] [lint]: installs what is missing of a group, with apt-get; does nothing where all is there.
set -euo pipefail

# package|what shows that it is there: a command, a header relative to the include folders, or a file
declare -A groups=(
  [build]="g++|g++ cmake|cmake ninja-build|ninja git|git python3|python3 libfmt-dev|fmt/core.h
           libspdlog-dev|spdlog/spdlog.h libcli11-dev|CLI/CLI.hpp nlohmann-json3-dev|nlohmann/json.hpp"
  [test]="python3-pip|pip3 libgtest-dev|gtest/gtest.h libgmock-dev|gmock/gmock.h libbenchmark-dev|benchmark/benchmark.h"
  [windows]="g++-mingw-w64-x86-64-posix|x86_64-w64-mingw32-g++-posix wine64|/usr/lib/wine/wine64
            googletest|/usr/src/googletest/CMakeLists.txt"
  [lint]="clang-14|clang++-14 clang-format-14|clang-format-14 clang-tidy-14|clang-tidy-14"
)

header_path=${CPLUS_INCLUDE_PATH:-}
header_path=${header_path//:/ }

is_there() {
  case "$1" in
    /*) [ -e "$1" ] ;;
    *.h | *.hpp)
      local folder
      for folder in /usr/include /usr/local/include $header_path; do
        [ -e "$folder/$1" ] && return 0
      done
      return 1
      ;;
    *) command -v "$1" >/dev/null 2>&1 ;;
  esac
}

missing=()
for group in "${@:-build}"; do
  for entry in ${groups[$group]:?unknown group}; do
    is_there "${entry#*|}" || missing+=("${entry%%|*}")
  done
done
[ ${#missing[@]} -gt 0 ] || exit 0

say_and_fail() {
  echo "deps: missing: ${missing[*]}" >&2
  echo "deps: $1. docs/dependencies.md says what each is for." >&2
  exit 1
}

command -v apt-get >/dev/null 2>&1 || say_and_fail "there is no apt-get here; please install them (names of Debian 12)"
as_root=()
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || say_and_fail "please run as root: apt-get install ${missing[*]}"
  as_root=(sudo)
fi

echo "deps: installing ${missing[*]}"
"${as_root[@]}" apt-get update -qq </dev/null
log=$(mktemp)
trap 'rm -f "$log"' EXIT
"${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends "${missing[@]}" \
  </dev/null >"$log" 2>&1 || { cat "$log" >&2; say_and_fail "apt-get failed"; }
