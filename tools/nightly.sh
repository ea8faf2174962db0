#!/usr/bin/env bash
# tools/nightly.sh: every test with TIDEGATE_NIGHTLY=1 (property tests take more seeds), optimised and under each sanitizer.
set -euo pipefail
cd "$(dirname "$0")/.."
export TIDEGATE_NIGHTLY=1 TEST_TIMEOUT=3600
cmake --preset nightly >/dev/null
cmake --build --preset nightly --parallel "${JOBS:-$(nproc)}"
tools/test.sh build-nightly
for preset in asan ubsan tsan; do
  tools/sanitize.sh "$preset"
done
