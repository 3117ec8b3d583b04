# Sets up, builds, runs and tests worldswitch: see `make help`. Data goes to stdout, build output to stderr.

SHELL := /bin/bash
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

# More arguments for `worldswitch run --quick --report`, and C files of benchmarks outside the tree.
ARGS ?=
EXTRA_BENCH ?=
# STRICT=1: in `make test` a skip for anything but lacking hardware fails.
STRICT ?=
# More words of the guest's command line in the boot image (docs/image.md).
WORDS ?=

TARGET := $(or $(CARGO_TARGET_DIR),target)
COMMAND := $(TARGET)/debug/worldswitch

# The folder of the commands that `make install` copies.
BUILT ?= $(TARGET)/release

# Where `make install` copies to (docs/install.md). The command finds ../lib/worldswitch from its own folder.
PREFIX ?= /usr/local
INSTALLED := $(DESTDIR)$(PREFIX)
PARTS := $(INSTALLED)/lib/worldswitch

# What `make bundle` writes: the folder, and one archive of it.
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml)
BUNDLE  := build/bundle/worldswitch-$(VERSION)-x86_64

# The first build takes a minute and shows its progress; later ones print only errors.
QUIET := $(if $(wildcard $(COMMAND)),--quiet)

# The lab's own compiler: build/clang-19 links to its packages, unpacked in the user's cache (docs/lab.md);
# build/clang-19-riscv64 to a C library for riscv64. CC=clang or CC=gcc uses this host's compiler; for aarch64 and
# riscv64 it needs a C library (tools/setup test).
CACHE   := $(or $(filter /%,$(XDG_CACHE_HOME)),$(HOME)/.cache)/worldswitch/sets
CHOSEN  := $(if $(filter command,$(origin CC)),$(CC))
JOBS     = $(if $(filter -j%,$(MAKEFLAGS)),,-j$(shell nproc))

# After a set of the lab's compiler ($(1)) was fetched.
link-set = mkdir -p build && ln -sfn $(CACHE)/$(1)/root build/$(1) && touch build/$(1).fetched

# if-library ARCH: the start of a command that is run where the compiler has a C library for ARCH.
if-library = $(if $(CHOSEN),[ ! -e /usr/$(1)-linux-gnu/lib/libc.a ] ||)

.PHONY: help run check test test-long build x86 image command release install uninstall bundle clean FORCE

help:
	@echo 'make run         set up, build and measure; prints the table of what virtualization costs'
	@echo '                 ARGS="--on lab:native -v"     more arguments for "worldswitch run"'
	@echo '                 EXTRA_BENCH="path/file.c"     adds benchmarks of your own'
	@echo 'make check       before a commit: formatting, lints, and the tests of what changed (5 minutes at first)'
	@echo 'make test        set up and run all tests (tests/run PATTERN runs the steps that match)'
	@echo 'make test-long   the same, then long fuzzing and tests on bare Debian systems (hours; root)'
	@echo 'make build       build the guest, the monitor, the hypervisor (build/) and the command ($(COMMAND))'
	@echo 'make image       set up, and make a boot image (build/worldswitch.iso) for machines without a system'
	@echo '                 WORDS="rows=in,out stay=0"    more words for the guest, docs/image.md'
	@echo 'make release     build all that is installed, the commands optimized ($(BUILT)/)'
	@echo 'make install     copy what make release made to $(DESTDIR)$(PREFIX) (PREFIX, DESTDIR); make uninstall removes it'
	@echo 'make bundle      write $(BUNDLE).tar.gz, which runs on any Linux with /dev/kvm'
	@echo 'make clean       remove build/ and $(TARGET)/'
	@echo
	@echo 'run, image and test install missing packages on Debian 12 and 13, and list them on other systems'
	@echo '(tools/setup check ci|run|image|test|long only lists them).'

# Builds only what the table needs, to be fast: no elvis, and nothing for other machines unless ARGS has --on.
run: export PACKAGES := --package worldswitch
run:
	@tools/setup run
	@$(MAKE) command
	@$(COMMAND) lab fetch --newest native kvm kvm-shadow $(if $(CHOSEN),,clang-19)
	@$(if $(CHOSEN),,$(call link-set,clang-19))
	@$(MAKE) $(if $(findstring --on,$(ARGS)),build,x86)
	@$(COMMAND) run --quick --report $(ARGS)

# The guest and the monitor that `make run` uses.
x86: $(if $(CHOSEN),,build/clang-19.fetched)
	@$(MAKE) -s $(JOBS) -C guest EXTRA_BENCH="$(abspath $(EXTRA_BENCH))" >&2
	@$(MAKE) -s $(JOBS) -C vmm >&2

# The table stays on a screen for ten minutes, and then the machine powers off.
image: export PACKAGES := --package worldswitch
image:
	@tools/setup image
	@$(MAKE) $(if $(CHOSEN),,build/clang-19.fetched)
	@$(MAKE) -s $(JOBS) -C guest EXTRA_BENCH="$(abspath $(EXTRA_BENCH))" >&2
	@tools/boot-image build/worldswitch.iso build/guest/x86_64/guest.mb2 table=1 stay=600 $(foreach word,$(WORDS),'$(word)')
	@echo 'build/worldswitch.iso: for CD, USB or as a disk, by BIOS and UEFI (docs/image.md)'

build: command x86 $(if $(CHOSEN),,build/clang-19-riscv64.fetched)
	@$(MAKE) -s $(JOBS) -C guest ARCH=aarch64 >&2
	@$(MAKE) -s $(JOBS) -C guest ARCH=riscv64 >&2
	@$(MAKE) -s -C lab/init >&2
	@$(MAKE) -s $(JOBS) -C lab/agent >&2
	@$(call if-library,aarch64) $(MAKE) -s $(JOBS) -C lab/agent ARCH=aarch64 >&2
	@$(MAKE) -s -C plugin >&2
	@$(call if-library,aarch64) $(MAKE) -s $(JOBS) -C vmm ARCH=aarch64 >&2
	@$(call if-library,riscv64) $(MAKE) -s $(JOBS) -C vmm ARCH=riscv64 >&2
	@$(call if-library,aarch64) $(MAKE) -s -C lab/init ARCH=aarch64 >&2
	@$(call if-library,riscv64) $(MAKE) -s -C lab/init ARCH=riscv64 >&2
	@$(MAKE) -s $(JOBS) -C neve variants >&2

command:
	@cargo build --locked $(QUIET) $(PACKAGES) >&2

# Both commands optimized, as they are installed and packaged.
release: build
	@cargo build --release --locked --bin worldswitch --bin elvis $(if $(wildcard $(BUILT)/worldswitch),--quiet) >&2

# Fetched again if the pinned versions changed, or the cache is gone.
build/clang-19.fetched build/clang-19-riscv64.fetched: build/%.fetched: lab/packages.toml lab/lock.toml | command
	@$(COMMAND) lab fetch --newest $* || { echo \
		'make: fetching the compiler for lab machines failed. To use this host'\''s clang (instruction counts will differ): make $(or $(MAKECMDGOALS),build) CC=clang' >&2; exit 1; }
	@$(call link-set,$*)
$(foreach set,clang-19 clang-19-riscv64,$(if $(wildcard build/$(set)/usr),,build/$(set).fetched)): FORCE

FORCE:

check:
	@tests/run --check

test:
	@tools/setup test
	@tests/run $(if $(STRICT),--strict)

test-long:
	@tools/setup long
	@tests/run --long

# copy-parts FOLDER: what the command boots, and the lab's recipes.
define copy-parts
umask 022 && shopt -s nullglob && mkdir -p $(1) && \
	cp --parents -t $(1) lab/{*.toml,kernel.config,recipes/*.toml,workloads/*.{toml,c}} && \
	(cd build && cp --parents -t $(abspath $(1)) plugin/*.so neve/*/neve.{elf,img} \
		{guest/*/{guest.elf,guest.img,guest-protected.{elf,img},guest.mb,dom0.elf},vmm/*/vmm,lab/*/{init,agent,agent-cpus,agent-xen},lab/x86_64/{agent-host,enter}}) && \
	chmod -R u=rwX,go=rX $(1) && chmod a-x $(1)/{guest,neve}/*/*.{img,mb}
endef

# Builds nothing, so that root needs no compiler: make release is the user's.
install:
	@[ -x $(BUILT)/worldswitch ] && [ -e build/neve/aarch64/neve.img ] || { echo 'make: nothing to install yet: run make release' >&2; exit 1; }
	@$(call copy-parts,$(PARTS)) && \
	install -D -t $(INSTALLED)/bin $(BUILT)/worldswitch $(BUILT)/elvis && \
	mkdir -p $(INSTALLED)/lib/systemd/system && \
	sed 's,/usr/local/,$(PREFIX)/,' elvis/daemon/elvis.service >$(INSTALLED)/lib/systemd/system/elvis.service && \
	$(INSTALLED)/bin/worldswitch manual $(INSTALLED)/share && $(INSTALLED)/bin/elvis manual $(INSTALLED)/share

uninstall:
	rm -rf $(PARTS)
	rm -f $(INSTALLED)/bin/{worldswitch,elvis} $(INSTALLED)/lib/systemd/system/elvis.service \
		$(INSTALLED)/share/man/man1/{worldswitch{,-*},elvis{,-serve,-ctl{,-*},-simulate}}.1 \
		$(INSTALLED)/share/{bash-completion/completions/{worldswitch,elvis}.bash,zsh/site-functions/_{worldswitch,elvis}} \
		$(INSTALLED)/share/fish/vendor_completions.d/{worldswitch,elvis}.fish

# The command is linked without shared libraries. cargo keeps both links, and `make release` puts the other back.
bundle: release
	@cargo rustc --release --locked --quiet --package worldswitch --bin worldswitch -- -C target-feature=+crt-static >&2 || { \
		echo 'make: the C library for static programs is missing? Debian has it in libc6-dev, Fedora in glibc-static' >&2; exit 1; }
	@rm -rf build/bundle && mkdir -p $(BUNDLE) && cp $(BUILT)/worldswitch $(BUNDLE)/
	@$(MAKE) release
	@$(call copy-parts,$(BUNDLE)) && cp -r LICENSE docs -t $(BUNDLE) && \
	sed 's,](,](docs/,' docs/bundle.md >$(BUNDLE)/README.md
	@tar -C build/bundle -I 'gzip -n9' --sort=name --owner=0 --group=0 --numeric-owner --mode=u=rwX,go=rX \
		-cf $(BUNDLE).tar.gz $(notdir $(BUNDLE))
	@echo $(BUNDLE).tar.gz

clean:
	rm -rf build $(TARGET)
