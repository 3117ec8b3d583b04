/* Hypercalls of Xen's, and the guest's ends of event channels. Called by machine.c, by
 * benchmarks, and by the tool stack. Makes no hypercall unless it is called. */
#include "xen.h"
#include "arch.h"
#include "timed_xen_unpaged.h"

/* Where Linux has it too (arch/x86/xen/enlighten_hvm.c): tool stacks keep that MiB free. In memory
 * it would split the large page around it, and every walk of Xen's through that page would be
 * longer. */
#define SHARED_INFO_AT	 0xfe700000ull
#define PENDING_WORDS_AT 2048

uint64_t xen_call_is_amd(void)
{
	static uint64_t known; /* 1 VMCALL, 2 VMMCALL: CPUID would exit each time */

	if (!known)
		known = cpu_is_amd() ? 2 : 1;
	return known - 1;
}

int64_t xen_call(uint64_t number, uint64_t first, const void *second)
{
	uint64_t result = number;

	if (xen_call_is_amd())
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

volatile uint64_t *xen_pending_events(void)
{
	static volatile uint64_t *pending;
	struct xen_add_to_physmap where = {
		.domain = XEN_DOMAIN_SELF,
		.space = XEN_SPACE_SHARED_INFO,
		.frame = SHARED_INFO_AT / (4 * KIB),
	};

	if (!pending && xen_call(XEN_MEMORY_OP, XEN_ADD_TO_PHYSMAP, &where) >= 0)
		pending = (volatile uint64_t *)(SHARED_INFO_AT + PENDING_WORDS_AT);
	return pending;
}

bool event_channel_fill(struct event_channel_operand *operand, uint32_t port)
{
	volatile uint64_t *pending = xen_pending_events();

	if (!pending || port > 63)
		return false;
	*operand = (struct event_channel_operand){
		.amd = xen_call_is_amd(),
		.send = &operand->port,
		.poll = &operand->poll_argument,
		.pending = pending,
		.bit = port,
		.port = port,
		.poll_argument = { .ports = &operand->port, .port_count = 1 },
	};
	return true;
}

bool event_channel_fill_unpaged(struct event_channel_operand *operand, uint32_t port)
{
	/* Of the word of events it sees the lower half. */
	if (port > 31 || !event_channel_fill(operand, port))
		return false;
	operand->unpaged = xen_unpaged;
	operand->poll_argument_32 = (struct xen_poll_32){
		.ports = (uint32_t)(uint64_t)&operand->port,
		.port_count = 1,
	};
	return true;
}

bool event_channel_loop_back(struct event_channel_operand *operand)
{
	struct xen_alloc_unbound own = {
		.domain = XEN_DOMAIN_SELF,
		.remote_domain = XEN_DOMAIN_SELF,
	};
	struct xen_bind_interdomain other = { .remote_domain = XEN_DOMAIN_SELF };

	if (xen_call(XEN_EVENT_CHANNEL_OP, XEN_ALLOC_UNBOUND, &own) < 0)
		return false;
	other.remote_port = own.port;
	if (xen_call(XEN_EVENT_CHANNEL_OP, XEN_BIND_INTERDOMAIN, &other) < 0 ||
	    !event_channel_fill(operand, own.port))
		return false;
	operand->port = other.local_port; /* sent there, it is pending at its other end */
	return true;
}

bool event_channel_answers(struct event_channel_operand *operand)
{
	uint64_t bit = 1ull << operand->bit;

	__atomic_fetch_and(operand->pending, ~bit, __ATOMIC_SEQ_CST);
	if (xen_call(XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND, operand->send) < 0)
		return false;
	/* Yields to the other domain; never waits for what may not come. */
	for (unsigned i = 0; i < 10000; i++) {
		if (__atomic_fetch_and(operand->pending, ~bit, __ATOMIC_SEQ_CST) & bit)
			return true;
		xen_call(XEN_SCHED_OP, XEN_SCHED_YIELD, NULL);
	}
	return false;
}
