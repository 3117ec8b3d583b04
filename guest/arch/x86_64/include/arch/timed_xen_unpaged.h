/*
 * Timed loops that run with paging off (loops/unpaged.S, xen_unpaged.S), for operations whose cost under Xen
 * depends on the guest's page tables. The transitions are not timed; the loop returns its own ticks
 * (SELF_TIMED).
 *
 * Contract of a loop: as in timed.h; the operations run in 32-bit mode, and there
 *   in        ebp = operand
 *   free use  eax ebx ecx edx esi, flags; edi is the macro's pass counter
 */
#ifndef TIMED_XEN_UNPAGED_H
#define TIMED_XEN_UNPAGED_H

#include "event_channel.h"
#include <arch/timed.h>

/* The entry of xen_unpaged.S; operands contain its address, as loops take all addresses from them. */
void xen_unpaged(void);

struct unpaged_operand {
	void (*enter)(void); /* xen_unpaged */
	uint32_t amd;	     /* 1: VMMCALL; 0: VMCALL */
	uint32_t number;     /* of the hypercall, or the port */
	uint32_t value[4];   /* last read; for CPUID the vendor's name, and a NUL */
	uint32_t wanted;     /* expected result of the hypercall */
	uint32_t wrong;	     /* passes before the last with another result */
};
TIMED_OFFSET(unpaged_operand, enter, UNPAGED_ENTER);
TIMED_OFFSET(unpaged_operand, amd, UNPAGED_AMD);
TIMED_OFFSET(unpaged_operand, number, UNPAGED_NUMBER);
TIMED_OFFSET(unpaged_operand, value, UNPAGED_VALUE);
TIMED_OFFSET(unpaged_operand, wanted, UNPAGED_WANTED);
TIMED_OFFSET(unpaged_operand, wrong, UNPAGED_WRONG);

/* The round trip of event_channel.h, using the lower halves of its operand's fields. */
struct unpaged_event_operand {
	struct event_channel_operand channel;
	void (*enter)(void); /* xen_unpaged */
	struct xen_poll_32 poll;
};
TIMED_OFFSET(unpaged_event_operand, channel, 0);
TIMED_OFFSET(unpaged_event_operand, enter, UNPAGED_EVENT_ENTER);

#endif
