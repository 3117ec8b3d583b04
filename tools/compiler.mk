# Chooses the compiler of guest/, vmm/, neve/ and lab/: the lab's own, which gives the same bytes on
# every host (docs/lab.md), or with CC=clang or CC=gcc this host's.

TOOLS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# A CC from the environment is ignored: many users have one for other reasons.
ifneq ($(origin CC),command line)
CC := $(TOOLS)/pinned/clang
endif

PINNED   := $(dir $(filter %/pinned/clang,$(CC)))
IS_CLANG := $(findstring clang,$(CC))
LLD      := $(PINNED)ld.lld

# Lines and inlined functions, for `worldswitch explain`: each FILE is linked without them, and once more with them
# as FILE.debug. The x86 code is the same, byte for byte. On ARM clang then schedules prologues otherwise, so there
# only neve is built so: its counts stay the same, but those of a Linux with vmm on it shift.
DEBUG := -g1 -fdebug-prefix-map=$(abspath $(TOOLS)/..)=.
DEBUG_x86_64 := $(DEBUG)
STRIP := --strip-debug

# The compiler and its arguments ($(1)): objects depend on them too. Written only if changed.
define write_flags
@mkdir -p $(@D)
@{ echo '$(1)'; $(if $(PINNED),$(PINNED)run $(ARCH),$(COMPILER) --version); } >$@.new
@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef
