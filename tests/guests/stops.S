/* A guest for AArch64 with two CPUs: one counts in x0 without end; the other one lets it start, loops, and comes to
 * `stop`. At a breakpoint there the count must be the same in every boot, whatever the host does (lab/quirks.toml,
 * breakpoint-stops-one-arm). */
#define CPU_ON 0xc4000003 /* PSCI (Arm DEN0022), 5.1.4 */
#define LOOPS  200000

	.text
	.globl _start, stop
_start:
	ldr x0, =CPU_ON
	mov x1, #1
	adr x2, count
	mov x3, #0
	hvc #0
	ldr x4, =LOOPS
1:	subs x4, x4, #1
	b.ne 1b
stop:	nop
	b stop

count:	mov x0, #0
2:	add x0, x0, #1
	b 2b
