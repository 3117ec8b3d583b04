/* Hyper-V's interfaces for its guests, which KVM has too (Hypervisor Top Level Functional Specification, TLFS). */
#ifndef HYPERV_H
#define HYPERV_H

#include <stdbool.h>
#include <stdint.h>

#include <arch/timed.h>

#define MSR_NUMBER_HYPERV_COUNTER 0x40000020 /* the time, in units of 100 ns (TLFS 12.4) */

/* What a partition may use, by its leaf of privileges (TLFS 2.4.4). */
enum hyperv_feature {
	HYPERV_COUNTER = 1,
	HYPERV_HYPERCALLS = 5,
	HYPERV_REFERENCE_TSC = 9,
};

/* Is there an interface of Hyper-V's, and does it have that? */
bool hyperv_offers(enum hyperv_feature feature);

/* The reference TSC page (TLFS 12.7): time = (tsc * scale >> 64) + offset. */
struct hyperv_clock {
	volatile uint32_t sequence; /* 0: not valid */
	uint32_t reserved;
	uint64_t scale;
	int64_t offset;
};

/* The hypervisor writes its clock to that page; NULL: no more. */
void hyperv_clock_use(void *page);

/* Puts the hypervisor's code for hypercalls into that page; NULL: no more. */
void hyperv_hypercall_use(void *page);

/* The loop of hv-reference-tsc (loops/hyperv.S). */
struct hyperv_clock_operand {
	const struct hyperv_clock *clock;
	uint64_t time; /* of the last pass */
};
TIMED_OFFSET(hyperv_clock, scale, HYPERV_CLOCK_SCALE);
TIMED_OFFSET(hyperv_clock, offset, HYPERV_CLOCK_OFFSET);
TIMED_OFFSET(hyperv_clock_operand, clock, HYPERV_TSC_CLOCK);
TIMED_OFFSET(hyperv_clock_operand, time, HYPERV_TSC_TIME);
TIMED_DECLARE(hyperv_tsc);

/* The loop of hv-hypercall (loops/hyperv.S). */
struct hyperv_call_operand {
	const void *code; /* the page with the hypercall's instructions */
	uint64_t input;	  /* the control word (TLFS 3.7) */
	uint64_t wanted;  /* expected result */
	uint64_t wrong;	  /* passes before the last with another one */
	uint64_t last;	  /* result of the last pass */
};
TIMED_OFFSET(hyperv_call_operand, code, HYPERV_CALL_CODE);
TIMED_OFFSET(hyperv_call_operand, input, HYPERV_CALL_INPUT);
TIMED_OFFSET(hyperv_call_operand, wanted, HYPERV_CALL_WANTED);
TIMED_OFFSET(hyperv_call_operand, wrong, HYPERV_CALL_WRONG);
TIMED_OFFSET(hyperv_call_operand, last, HYPERV_CALL_LAST);
TIMED_DECLARE(hyperv_call);

#endif
