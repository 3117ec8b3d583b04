/* The guest's use of Xen's event channels. Makes no hypercall unless it is called. */
#include "guest/include/xen.h"
#include "event_channel.h"
#include <arch/timed_offsets.h>

_Static_assert(CALL_SCHED == XEN_SCHED_OP && CALL_EVENT_CHANNEL == XEN_EVENT_CHANNEL_OP &&
		       SCHED_YIELD == XEN_SCHED_YIELD && SCHED_POLL == XEN_SCHED_POLL &&
		       EVENT_CHANNEL_SEND == XEN_EVENT_SEND,
	       "assembly uses Xen's numbers by these names");

volatile uint64_t *xen_pending_events(void)
{
	static volatile uint64_t *pending;
	uint64_t at = pending ? 0 : xen_shared_info_at();
	struct xen_add_to_physmap where = {
		.domain = XEN_DOMAIN_SELF,
		.space = XEN_SPACE_SHARED_INFO,
		.frame = at / (4 * KIB),
	};

	if (at && xen_call(XEN_MEMORY_OP, XEN_ADD_TO_PHYSMAP, &where) >= 0)
		pending = (volatile uint64_t *)(at + XEN_PENDING_AT);
	return pending;
}

bool event_channel_fill(struct event_channel_operand *operand, uint32_t port)
{
	volatile uint64_t *pending = xen_pending_events();

	if (!pending || port > 63)
		return false;
	*operand = (struct event_channel_operand){
		.call = xen_call_kind(),
		.send = &operand->port,
		.poll = &operand->poll_argument,
		.pending = pending,
		.bit = port,
		.port = port,
		.poll_argument = { .ports = &operand->port, .port_count = 1 },
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
	operand->port = other.local_port; /* sending there makes it pending at the other end */
	return true;
}

/* Never blocks, because the event may not come. */
bool event_channel_take(struct event_channel_operand *operand, unsigned port)
{
	uint64_t bit = 1ull << port;

	for (unsigned i = 0; i < 10000; i++) {
		if (__atomic_fetch_and(operand->pending, ~bit, __ATOMIC_SEQ_CST) & bit)
			return true;
		xen_call(XEN_SCHED_OP, XEN_SCHED_YIELD, NULL);
	}
	return false;
}

static bool answers(struct event_channel_operand *operand)
{
	__atomic_store_n(operand->pending, 0, __ATOMIC_SEQ_CST);
	return xen_call(XEN_EVENT_CHANNEL_OP, XEN_EVENT_SEND, operand->send) >= 0 &&
	       event_channel_take(operand, (unsigned)operand->bit);
}

const char *event_channel_needs(const struct params *params)
{
	return params->hypercall == HYPERCALL_XEN ? NULL
						  : "event channels are Xen's: hypercall=xen says "
						    "where it answers";
}

const char *event_channel_to_other(struct event_channel_operand *operand,
				   const struct params *params, uint32_t port)
{
	if (event_channel_needs(params))
		return event_channel_needs(params);
	if (!port)
		return "there is no channel=PORT: no other domain answers events here";
	if (!event_channel_fill(operand, port))
		return "Xen gives this domain no shared information page";
	if (!answers(operand))
		return "the domain at the other end of the channel does not answer";
	return NULL;
}
