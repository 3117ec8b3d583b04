/* The parts of <arch/timed_macros.S> that all architectures have in common. TIMED_SECTION is defined there. */

/* A function of one macro, with its arguments. */
.macro TIMED_FUNCTION name, body, arguments:vararg
	.section TIMED_SECTION, "ax", %progbits
	.p2align 6
	.globl \name
	.type \name, %function
\name:
	\body \arguments
	ret
	.size \name, . - \name
.endm

/* NAME_run and NAME_control. */
.macro TIMED_PAIR name, loop, arguments:vararg
.ifb \arguments
	TIMED_FUNCTION \name\()_run, \loop, 1
	TIMED_FUNCTION \name\()_control, \loop, 0
.else
	TIMED_FUNCTION \name\()_run, \loop, 1, \arguments
	TIMED_FUNCTION \name\()_control, \loop, 0, \arguments
.endif
.endm

/* NAME_run is self-timed (EACH_BEGIN below); NAME_control has only the two looks at the clock. */
.macro TIMED_EACH_PAIR name, loop, arguments:vararg
	TIMED_FUNCTION \name\()_run, \loop, \arguments
	TIMED_FUNCTION \name\()_control, EACH_NOTHING
.endm
