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

# The compiler and its arguments ($(1)): objects depend on them too. Written only if changed.
define write_flags
@mkdir -p $(@D)
@{ echo '$(1)'; $(if $(PINNED),$(PINNED)run,$(COMPILER) --version); } >$@.new
@cmp -s $@.new $@ && rm $@.new || mv $@.new $@
endef
