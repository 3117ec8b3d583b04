/* Xen hypercalls, and the domain that answers events. Makes no hypercall unless called. */
#include "guest/include/xen.h"
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "guest/arch/aarch64/machine.h"
#include "common/relax.h"
#include "event_channel.h"
#include <arch/timed_offsets.h>

volatile uint8_t *xen_vcpu_info; /* the first CPU's; used by exceptions.S */

/* xen_answer.S uses the offsets. */
struct xen_answer {
	uint32_t ports[2]; /* channel=, and the port above, whose answers are stamped */
	const void *poll;  /* argument of SCHEDOP_poll: both */
	volatile uint64_t *pending;
	uint64_t bits[2];
	uint32_t port; /* for sending a stamp's bits */
};
_Noreturn void xen_answer_events(struct xen_answer *answer);

int64_t xen_call(uint64_t number, uint64_t first, const void *second)
{
	register uint64_t x0 __asm__("x0") = first;
	register uint64_t x1 __asm__("x1") = (uint64_t)second;
	register uint64_t x16 __asm__("x16") = number;

	__asm__ volatile("hvc #0xea1" : "+r"(x0), "+r"(x1), "+r"(x16) : : "memory");
	return (int64_t)x0;
}

uint64_t xen_call_kind(void)
{
	return 0;
}

/* A page of the guest's, which Xen replaces by the shared page; its old contents are not used again. */
uint64_t xen_shared_info_at(void)
{
	return (uint64_t)heap_alloc_page(4 * KIB);
}

_Noreturn void arch_answer_events(const struct params *params)
{
	uint32_t channel = params->channel;
	struct xen_answer answer = {
		.ports = { channel, channel + EVENT_CHANNEL_STAMPED },
		.bits = { 1ull << channel, 1ull << (channel + EVENT_CHANNEL_STAMPED) },
	};
	struct xen_poll poll = { .ports = answer.ports, .port_count = 2 };

	answer.poll = &poll;
	if (params->hypercall == HYPERCALL_XEN && channel && channel < EVENT_STAMPED - 1) {
		answer.pending = xen_pending_events();
		if (answer.pending)
			xen_answer_events(&answer);
	}
	console_printf("answer=1 is for a domain under Xen that has event channels at channel= and "
		       "the port above\n");
	power_off(params->hypercall);
}

/* Stamps are events, and come after the answer. */
const char *event_stamps_fill(struct event_latency_operand *operand, const struct params *params)
{
	(void)params;
	if (!event_channel_take(&operand->channel, EVENT_STAMPED))
		return "the domain at the other end of the channel sends no stamps";
	__atomic_store_n(operand->channel.pending, 0, __ATOMIC_SEQ_CST); /* the stamp's bits */
	return NULL;
}

/* Events of stamps stay masked. An event already pending interrupts now, so that it is not the first one
 * measured. */
bool event_channel_interrupts(bool on)
{
	volatile uint64_t *pending = xen_pending_events();

	if (!pending)
		return false;
	pending[XEN_MASK_WORDS] = ~0ull << EVENT_STAMPED;
	xen_vcpu_info = (volatile uint8_t *)pending - XEN_PENDING_AT;
	if (!gic_own_interrupt(INTID_XEN, on))
		return false;
	__asm__ volatile("msr daifclr, #2" : : : "memory");
	for (unsigned i = 0; on && i < 1000; i++)
		relax();
	__asm__ volatile("msr daifset, #2" : : : "memory");
	return true;
}
