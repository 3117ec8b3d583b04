/* What the processor is, and what KVM's reasons for an exit are called on it: arch/. */
#pragma once

#include <stdint.h>

#include "common/text.h"

/* The hypervisor's signature, or nothing. */
void processor_hypervisor(char name[13]);
/* The processor's name, or nothing. */
void processor_name(char name[49]);
/* Writes the name of an exit's reason: npf, io, ... */
void processor_exit_name(uint64_t code, struct text *out);
