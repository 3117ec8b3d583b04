/* What the I/O latency rows share; see latency_row.h. */
#include "latency_row.h"

#include "guest/core/guest_arch.h"
#include "common/relax.h"
#include "guest/core/smp.h"

#define CLOCK_ROUNDS 64

static struct latency_operand operand;
static struct latency_page *page;
static const struct params *params;
/* Bounds, from the rounds, on the other side's clock minus ours. */
static int64_t least, most;
static uint64_t stamps_before;

const char *latency_needs(const struct params *given)
{
	if (given->doorbell != PORT_NONE)
		return NULL;
	return "it needs a device of our own monitor (vmm), which lies behind doorbell=";
}

/* Gives the device a command. Returns NULL, or why it failed. */
static const char *command(enum latency_command wanted)
{
	page->magic = LATENCY_MAGIC;
	page->command = wanted;
	page->answered = 0;
	page->why[0] = 0;
	ring_doorbell(params->doorbell + LATENCY_AT, page);
	if (!*(volatile uint32_t *)&page->answered)
		return "the monitor that listens at doorbell= has no device for it; vmm has";
	page->why[sizeof(page->why) - 1] = 0;
	return page->why[0] ? page->why : NULL;
}

/* One round: the other side's stamp should lie between two of ours; else the clocks differ. */
static bool one_round(bool by_kick)
{
	uint64_t stamps = page->stamps, start = latency_clock(), began = rdtimer(), end;

	if (by_kick)
		out8(operand.kick, 0);
	else
		page->asked++;
	while (page->stamps == stamps) {
		if (rdtimer() - began > arch_long_ticks())
			return false;
		relax();
	}
	end = latency_clock();
	if ((int64_t)(page->stamp - end) > least)
		least = (int64_t)(page->stamp - end);
	if ((int64_t)(page->stamp - start) < most)
		most = (int64_t)(page->stamp - start);
	return true;
}

/* Ping-pong over shared memory with a thread of the monitor or, if that would run on this CPU, by exits to
 * it. */
static const char *compare_clocks(bool by_kick)
{
	const char *wrong = command(by_kick ? LATENCY_OUT_USERSPACE : LATENCY_CLOCK);

	least = INT64_MIN;
	most = INT64_MAX;
	for (unsigned i = 0; !wrong && i < CLOCK_ROUNDS; i++)
		if (!one_round(by_kick))
			wrong = "the monitor does not answer";
	return wrong;
}

const struct latency_page *latency_command(struct bench_run *run, enum latency_command wanted)
{
	params = run->params;
	if (!page)
		page = heap_alloc_page(LATENCY_PAGE);
	run->reason = page ? command(wanted) : "there is no memory for the page";
	return run->reason ? NULL : page;
}

bool latency_start(struct bench_run *run, enum latency_command wanted, bool halts)
{
	/* If the monitor's part runs on this CPU, its clock is this CPU's: use exits. */
	bool by_kick = wanted == LATENCY_OUT_USERSPACE || wanted == LATENCY_IN_USERSPACE ||
		       wanted == LATENCY_SWITCH;

	params = run->params;
	if (!page)
		page = heap_alloc_page(LATENCY_PAGE);
	if (!page || !latency_interrupt_fill(page)) {
		run->reason =
			"there is no memory, or no interrupt controller that this guest knows";
		return false;
	}
	operand = (struct latency_operand){
		.page = page,
		.kick = params->doorbell + LATENCY_KICK_AT,
		.yield = params->unit == UNIT_INSNS,
		.handled = &latency_handled,
		.halts = halts,
		.settle_ticks = arch_long_ticks() / 60000,
	};
	run->operand = &operand;
	run->reason = compare_clocks(by_kick);
	if (run->reason)
		return false;
	if (least > 0 || most < 0) {
		run->reason =
			"the monitor's clock is not this guest's: its stamps lie outside of ours";
		return false;
	}
	run->reason = command(wanted);
	stamps_before = page->stamps;
	latency_handled = (struct latency_handled){ 0 };
	return !run->reason;
}

enum check latency_check(struct bench_run *run)
{
	uint64_t stamps = page->stamps - stamps_before, came = latency_handled.count;
	bool in = page->command >= LATENCY_IN_THREAD;

	bench_note(
		run,
		"%lu kicks, %lu stamps, %lu interrupts, %lu to a halted CPU; %lu stamps outside; "
		"clocks differ by %d to %d ticks",
		run->total, stamps, came, latency_handled.found_halted, operand.outside, (int)least,
		(int)most);
	if (operand.outside || stamps != run->total || (in && came != run->total))
		return CHECK_FAILED;
	if (operand.halts && latency_handled.found_halted + bench_may_miss(run) < run->total)
		return CHECK_FAILED;
	return CHECK_PROVED;
}

void latency_stop(struct bench_run *run)
{
	(void)run;
	if (page)
		(void)command(LATENCY_STOP);
}
