# worldswitch: see `make help`. Data goes to stdout, everything that a build says to stderr.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# Words for `worldswitch run` beside --quick --report, and C files of benchmarks from outside the tree.
ARGS ?=
EXTRA_BENCH ?=

TARGET := $(or $(CARGO_TARGET_DIR),target)
COMMAND := $(TARGET)/release/worldswitch

# The monitor for aarch64 is built where its cross compiler is: only tests need that (tools/setup test).
# The first build takes a minute and shows its progress; later ones speak only on errors.
QUIET := $(if $(wildcard $(COMMAND)),--quiet)

.PHONY: help run check test test-long build clean

help:
	@echo 'make run         set up, build and measure: the table of what virtualization costs'
	@echo '                 ARGS="--on lab:native -v"     more words for "worldswitch run"'
	@echo '                 EXTRA_BENCH="path/file.c"     with benchmarks of your own'
	@echo 'make check       before a commit: layout, lints, and the tests of what changed (a minute)'
	@echo 'make test        set up and run all tests (tests/run PATTERN runs those that match)'
	@echo 'make test-long   the same, then long fuzzing and bare Debian systems (hours; root)'
	@echo 'make build       build the guest, the monitor, the hypervisor (build/) and the command ($(COMMAND))'
	@echo 'make clean       remove build/ and $(TARGET)/'
	@echo
	@echo 'run and test install what they need on Debian 12 and 13 (tools/setup says what).'

run:
	@tools/setup run
	@$(MAKE) build
	@$(COMMAND) lab fetch --newest
	@$(COMMAND) run --quick --report $(ARGS)

build:
	@$(MAKE) -s -C guest EXTRA_BENCH="$(abspath $(EXTRA_BENCH))" >&2
	@$(MAKE) -s -C guest ARCH=aarch64 >&2
	@$(MAKE) -s -C vmm >&2
	@$(MAKE) -s -C lab/init >&2
	@! command -v aarch64-linux-gnu-gcc >/dev/null || $(MAKE) -s -C vmm ARCH=aarch64 CC=gcc >&2
	@$(MAKE) -s -C neve variants >&2
	@cargo build --release --locked $(QUIET) >&2

check:
	@tests/run --check

test:
	@tools/setup test
	@tests/run

test-long:
	@tools/setup long
	@tests/run --long

clean:
	rm -rf build $(TARGET)
