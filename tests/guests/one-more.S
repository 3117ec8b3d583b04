/* The timed loop of the row hypercall with one more instruction in its operation, for one-more.c. */
#include <arch/timed_macros.S>
#include <arch/timed_hypercall.S>

	TIMED_PAIR hypercall_one_more, hypercall, nop

	.section .note.GNU-stack, "", @progbits
