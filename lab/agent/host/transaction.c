/* The steps of transactions on a host, in place of the lab's: its packets are captured, not traced, as a trace is
 * the whole host's and would go on after a run that is killed. See transaction.h. */
#include "transaction.h"

#include <stdio.h>
#include <string.h>

#include "files.h"
#include "guest.h"
#include "host/capture.h"
#include "host/pings.h"

#define CLOCK_SOURCE "/sys/devices/system/clocksource/clocksource0/current_clocksource"

/* Round trips of both sessions, before the run and after it. */
static struct round_trip trips[2 * FIT_KEPT];
static unsigned trip_count;
static uint64_t vm_base;

/* What this side's clock is made of. Linux may find that it is bad, and take another one. */
struct source {
	char name[32];
};

static struct source source_before;

static void source_read(struct source *source)
{
	memset(source, 0, sizeof(*source));
	(void)file_read(CLOCK_SOURCE, source->name, sizeof(source->name));
}

const char *transaction_trace(bool of_client)
{
	const char *wrong = capture_start(of_client ? "br0" : "eth0");

	source_read(&source_before);
	return wrong || of_client ? wrong : pings_answer(&vm_base);
}

const char *transaction_read(struct passes *passes, bool of_client)
{
	struct packets packets;
	struct source source;
	uint64_t unused;
	const char *wrong_there = of_client ? NULL : pings_answer(&unused), *wrong;

	packets_start(&packets, of_client, of_client ? 0 : vm_base);
	wrong = capture_stop(&packets);
	*passes = packets.passes;
	source_read(&source);
	if (!wrong && memcmp(&source, &source_before, sizeof(source)) != 0)
		wrong = "the kernel took another clock source meanwhile";
	return wrong ? wrong : wrong_there;
}

/* Gives the VM an order in which it answers pings. Returns what went wrong. */
static const char *ask(enum phase phase, const char *workload, struct outcome *outcome)
{
	const struct order order = { .phase = phase, .workload = workload };
	static char why[sizeof(outcome->said)];
	const struct round_trip *kept;
	const char *wrong = pings_start();
	unsigned count;
	bool done;

	if (wrong)
		return wrong;
	done = guest_do(&order, outcome, NULL);
	count = pings_stop(&kept);
	if (!done)
		return guest_lost();
	snprintf(why, sizeof(why), "%s", outcome->said);
	if (outcome->status)
		return why;
	if (count == 0)
		return "the VM's clock does not answer";
	for (unsigned i = 0; i < count; i++)
		trips[trip_count++] = kept[i];
	return NULL;
}

const char *transaction_begin(const char *workload)
{
	struct outcome outcome;
	const char *wrong = NULL;

	trip_count = 0;
	if (guest_process())
		wrong = ask(PHASE_TRACE, workload, &outcome);
	vm_base = pings_first();
	return wrong ? wrong : transaction_trace(true);
}

const char *transaction_end(const char *workload, uint64_t transactions, struct steps *steps)
{
	struct passes client, server;
	struct outcome outcome;
	struct fit fit;
	const char *wrong = guest_process() ? ask(PHASE_STEPS, workload, &outcome) : NULL;
	const char *wrong_here = transaction_read(&client, true);

	if (wrong || wrong_here)
		return wrong ? wrong : wrong_here;
	if (!guest_process())
		return steps_native(steps, &client, transactions);
	if (!steps_take(&server, outcome.said))
		return "the VM's agent told no sums of times";
	wrong = fit_line(&fit, trips, trip_count, vm_base);
	if (wrong)
		return wrong;
	server.requests = fit_sum(&fit, server.requests, server.count);
	server.replies = fit_sum(&fit, server.replies, server.count);
	wrong = steps_in_vm(steps, &client, &server, 0, transactions);
	steps->ticks[CLOCK_BOUND] = fit.bound_ns * transactions;
	return wrong;
}
