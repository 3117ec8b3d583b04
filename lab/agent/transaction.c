/* Transactions; see transaction.h. */
#include "transaction.h"

#include <stdio.h>

#include "common/reasons.h"
#include "guest.h"
#include "events.h"
#include "vm_files.h"

/* A byte of data with its headers: IPv4 20; TCP 20 and 12 of options, or UDP 8. What is queued has Ethernet's 14
 * too. The other packets of netperf are longer, or have no data. */
#define QUEUED(device)	 "name == \"" device "\" && (len == 67 || len == 43)"
#define RECEIVED(device) "name == \"" device "\" && (len == 53 || len == 29)"

#define EVENTS 2
static const struct trace_event of_bridge[EVENTS] = {
	{ "net/net_dev_queue", QUEUED("br0") },
	{ "net/netif_receive_skb", RECEIVED("br0") },
};
static const struct trace_event of_card[EVENTS] = {
	{ "net/net_dev_queue", QUEUED("eth0") },
	{ "net/netif_receive_skb", RECEIVED("eth0") },
};

const char *transaction_trace(bool of_client)
{
	tracefs_mount();
	return events_begin(of_client ? of_bridge : of_card, EVENTS)
		       ? NULL
		       : "the kernel can't trace its packets";
}

const char *transaction_read(struct passes *passes, bool of_client)
{
	static char text[1 << 21];
	size_t bytes;

	events_end(of_client ? of_bridge : of_card, EVENTS);
	bytes = events_read(text, sizeof(text));
	return bytes ? steps_read(passes, text, bytes, of_client) : "the trace is too long";
}

/* Orders the guest. Returns what went wrong there. */
static const char *ask(enum phase phase, const char *workload, struct outcome *outcome)
{
	const struct order order = { .phase = phase, .workload = workload };
	static char why[sizeof(outcome->said)];

	if (!guest_do(&order, outcome, NULL))
		return guest_lost();
	snprintf(why, sizeof(why), "%s", outcome->said);
	return outcome->status ? why : NULL;
}

const char *transaction_begin(const char *workload)
{
	struct outcome outcome;
	const char *wrong = guest_process() ? ask(PHASE_TRACE, workload, &outcome) : NULL;

	return wrong ? wrong : transaction_trace(true);
}

const char *transaction_end(const char *workload, uint64_t transactions, struct steps *steps)
{
	struct passes client, server;
	const char *wrong = transaction_read(&client, true), *wrong_there;
	struct outcome outcome;
	uint64_t offset;

	if (!guest_process())
		return wrong ? wrong : steps_native(steps, &client, transactions);
	wrong_there = ask(PHASE_STEPS, workload, &outcome);
	if (wrong || wrong_there)
		return wrong ? wrong : wrong_there;
	if (!steps_take(&server, outcome.said))
		return "the VM's agent told no sums of times";
	if (!vm_files_tsc_offset(&offset))
		return "KVM does not tell the offset of the VM's clock";
	return steps_in_vm(steps, &client, &server, offset, transactions);
}
