/* Xen hypercalls, the shared information page, and the clocks of two domains. Makes no hypercall unless called. */
#include "guest/include/xen.h"
#include "guest/core/guest_arch.h"
#include <arch/apic.h>
#include <arch/timed.h>
#include "common/relax.h"
#include "event_channel.h"

/* The address that Linux uses (arch/x86/xen/enlighten_hvm.c): tool stacks keep that MiB free. Inside RAM
 * the page would split the large page around it, and make all of Xen's page walks there longer. */
#define SHARED_INFO_AT 0xfe700000ull

uint64_t xen_call_kind(void)
{
	static uint64_t known; /* 1 VMCALL, 2 VMMCALL; cached, because CPUID exits each time */

	if (!known)
		known = cpu_is_amd() ? 2 : 1;
	return known - 1;
}

int64_t xen_call(uint64_t number, uint64_t first, const void *second)
{
	uint64_t result = number;

	if (xen_call_kind())
		__asm__ volatile("vmmcall" : "+a"(result), "+D"(first), "+S"(second) : : "memory");
	else
		__asm__ volatile("vmcall" : "+a"(result), "+D"(first), "+S"(second) : : "memory");
	return (int64_t)result;
}

void xen_shutdown(enum xen_shutdown reason)
{
	uint32_t word = (uint32_t)reason;

	xen_call(XEN_SCHED_OP, XEN_SCHED_SHUTDOWN, &word);
}

uint64_t xen_shared_info_at(void)
{
	return SHARED_INFO_AT;
}

/* struct vcpu_time_info: xen.h, after the words of struct vcpu_info that are about events. */
struct vcpu_time {
	uint32_t version, unused; /* odd while Xen writes */
	struct xen_clock clock;
};
#define VCPU_TIME_AT 32

struct xen_clock xen_clock(void)
{
	const volatile uint8_t *shared_info =
		(volatile uint8_t *)xen_pending_events() - XEN_PENDING_AT;
	const volatile struct vcpu_time *time = (const volatile void *)(shared_info + VCPU_TIME_AT);
	struct xen_clock clock;
	uint32_t version;

	do {
		version = time->version;
		clock = time->clock;
	} while (version & 1 || version != time->version);
	return clock;
}

#define MOST_QUESTIONS 10 /* Xen looks at its clocks once a second, on all CPUs */

const char *event_stamps_fill(struct event_latency_operand *operand, const struct params *params)
{
	struct event_channel_operand clock;

	if (!params->answers)
		return "there is no answers=ADDRESS, where the other domain would put its stamps";
	operand->page = (const volatile struct answers_page *)params->answers;
	for (unsigned i = 0; i < MOST_QUESTIONS; i++) {
		const char *reason = event_channel_to_other(&clock, params,
							    params->channel + EVENT_CHANNEL_CLOCK);

		if (reason)
			return reason;
		if (!operand->page->clock_count)
			return "Xen emulates dom0's clock, as the machine has no invariant TSC";
		if (answers_ahead(operand->page, xen_clock(), &operand->ahead))
			return NULL;
	}
	return "dom0's clock and this domain's can't be compared";
}

/* The interrupt is that of the I/O latency rows. Xen raises it at once, and can't be told to stop; so off, all
 * events are masked. */
bool event_channel_interrupts(bool on)
{
	struct xen_upcall_vector upcall = { .vector = VECTOR_LATENCY };
	volatile uint64_t *pending = xen_pending_events();

	if (!pending)
		return false;
	pending[XEN_MASK_WORDS] = on ? 0 : ~0ull;
	return !on || (xen_call(XEN_HVM_OP, XEN_SET_UPCALL_VECTOR, &upcall) >= 0 && pending_take());
}

/* On x86 dom0 does it. */
_Noreturn void arch_answer_events(const struct params *params)
{
	console_printf("answer= is no word of this architecture: under Xen dom0 answers events\n");
	power_off(params->hypercall);
}
