/*
 * Space for `worldswitch lab patch --to neve`, which turns this image into one like PARAVIRT=neve's: an
 * access to the deferred page needs more instructions than the one that it replaces (docs/neve.md). The
 * pages are deferred_pages of exits/reset.c.
 */
#include "cpu/cpu.h"

#define VENEER_BYTES 16384

#if !PARAVIRT
	.section .veneers, "ax", %progbits
	.skip VENEER_BYTES
#endif

	.section .note.GNU-stack, "", %progbits
