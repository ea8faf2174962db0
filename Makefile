# A thin face over CMake; what each target runs stands in tools/ and CMakePresets.json.
JOBS ?= $(shell nproc 2>/dev/null || echo 2)
WORKFLOW ?= examples/workflows/ltxav-zimage-lumina2.json
export JOBS

.DEFAULT_GOAL := help
.PHONY: help deps deps-test deps-lint configure run build test bench bench-gpu format lint asan ubsan tsan nightly clean
MAKEFLAGS += --no-print-directory

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1 \t/p' Makefile | expand -t 14

deps: ## install what the build needs and is missing (Debian, Ubuntu)
	@tools/deps.sh build

deps-test: ## the same, with GoogleTest and Google Benchmark
	@tools/deps.sh build test

deps-lint: ## the same, with clang 14, clang-format and clang-tidy
	@tools/deps.sh build test lint

deps-windows: ## install mingw-w64, Wine and GoogleTest's source
	@tools/deps.sh build windows

run: deps ## build, then run an example workflow on the simulated card
	@cmake --preset release >/dev/null
	@cmake --build --preset release --parallel $(JOBS) --target tidegate_cli
	build/bin/tidegate run $(WORKFLOW)

configure: deps-test
	@cmake --preset release -DTIDEGATE_REQUIRE_TESTS=ON >/dev/null

build: configure ## everything, optimised, in build/
	@cmake --build --preset release --parallel $(JOBS)

test: build ## all tests, then those of them that sanitizers watch
	@tools/test.sh build
	@tools/sanitize.sh asan
	@tools/sanitize.sh tsan threads

windows: ## programs and DLLs for Windows, by mingw-w64, and some tests of them under Wine
	@$(MAKE) deps-windows || true
	@tools/windows.sh

bench: build ## all benchmarks
	@tools/bench.sh

bench-gpu: configure ## one part of the measurements on a GPU: make bench-gpu PART=3
	@cmake --build --preset release --parallel $(JOBS) --target tidegate_bench
	@tools/bench_gpu.sh $(PART)

format: deps-lint ## clang-format, in place
	@tools/format.sh

lint: deps-lint ## format, clang-tidy, house rules
	@tools/lint.sh

asan: deps-test ## tests under AddressSanitizer and UndefinedBehaviorSanitizer
	@tools/sanitize.sh asan

ubsan: deps-test ## tests under UndefinedBehaviorSanitizer
	@tools/sanitize.sh ubsan

tsan: deps-test ## tests under ThreadSanitizer
	@tools/sanitize.sh tsan

nightly: deps-test ## long runs: TIDEGATE_NIGHTLY=1, every test under every sanitizer
	@tools/nightly.sh

clean: ## remove the build folders
	rm -rf build build-debug build-nightly build-clang build-mingw build-asan build-ubsan build-tsan
