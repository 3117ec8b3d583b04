/* The timed loop of the row hypercall. Contract, operand: arch/timed.h. */
#include <arch/timed_macros.S>
#include <arch/timed_hypercall.S>

	TIMED_PAIR hypercall, hypercall
