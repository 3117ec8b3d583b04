# The compiler of what runs in lab machines; guest/, vmm/, neve/ and lab/init/ read this. It is the lab's own,
# which gives the same bytes on every host (docs/lab.md), or with CC=clang or CC=gcc one of this host's.

TOOLS := $(patsubst %/,%,$(dir $(lastword $(MAKEFILE_LIST))))

# A CC of the environment is not asked: many have one for their own reasons.
ifneq ($(origin CC),command line)
CC := $(TOOLS)/pinned/clang
endif

PINNED   := $(dir $(filter %/pinned/clang,$(CC)))
IS_CLANG := $(findstring clang,$(CC))
LLD      := $(PINNED)ld.lld

# What an object depends on beside its files: the compiler and its words ($(1)). Written where it changes.
define write_flags
@mkdir -p $(@D)
@{ echo '$(1)'; $(if $(PINNED),$(PINNED)run,$(COMPILER) --version); } >$@.new
@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef
