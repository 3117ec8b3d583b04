/* The machine that an agent runs on. */
#pragma once

#include "message.h"

/* Fills in what `ready` says: CPUs, memory, hypervisor (name; empty: none), the processor (text). */
void facts_read(struct message *facts);
