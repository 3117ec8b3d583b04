/*
 * Room for `worldswitch patch-hyp --to neve`, which makes of this image what PARAVIRT=neve builds: an access
 * of the deferred page takes more than the one instruction that stands there (docs/neve.md). Its pages are
 * deferred_pages of vm/reset.c.
 */
#include "machine/cpu.h"

#define VENEER_BYTES 16384

#if !PARAVIRT
	.section .veneers, "ax", %progbits
	.skip VENEER_BYTES
#endif

	.section .note.GNU-stack, "", %progbits
