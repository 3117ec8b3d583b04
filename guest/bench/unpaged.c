/* Hypercall, CPUID, IN and an event's round trip under Xen with the guest's paging off. The difference to
 * the rows of those names is Xen's walk of the guest's page tables. Four rows. */
#include "event_round.h"
#include "exit_row.h"
#include <arch/timed_xen_unpaged.h>

TIMED_DECLARE(hypercall_unpaged);
TIMED_DECLARE(cpuid_unpaged);
TIMED_DECLARE(in_unpaged);
TIMED_DECLARE(event_round_unpaged);

static struct unpaged_operand operand, control_operand;
static struct unpaged_event_operand round, idle;
static uint64_t answered_before;

static const char *needs(const struct params *params)
{
	return params->hypercall == HYPERCALL_XEN ? NULL
						  : "what it shows is Xen's: hypercall=xen says "
						    "where it answers";
}

static const char *needs_port(const struct params *params)
{
	const char *reason = needs(params);

	return !reason && params->in_port == PORT_NONE
		       ? "no device register is known here: give in="
		       : reason;
}

static const char *needs_channel(const struct params *params)
{
	struct event_channel_operand *channel = &round.channel;
	uint32_t port = params->answers ? params->channel_unpaged : 0;
	const char *reason = event_channel_to_other(channel, params, port);

	/* The loop reads the lower half of the word of events. */
	if (!reason && port > 31)
		reason = "channel-unpaged= is above 31";
	if (reason)
		return reason;
	round.poll = (struct xen_poll_32){
		.ports = (uint32_t)(uint64_t)&channel->port,
		.port_count = 1,
	};
	channel->poll = &round.poll;
	round.enter = xen_unpaged;
	return NULL;
}

static bool prepare(struct bench_run *run, uint64_t number)
{
	operand = (struct unpaged_operand){
		.enter = xen_unpaged,
		.amd = cpu_is_amd(),
		.number = (uint32_t)number,
	};
	run->operand = &operand;
	control_operand = operand;
	run->control_operand = &control_operand;
	return true;
}

/* The answer is the same as for 64-bit code. */
static bool init_hypercall(struct bench_run *run)
{
	int64_t version = xen_call(XEN_VERSION_OP, 0, NULL);

	prepare(run, XEN_VERSION_OP);
	operand.wanted = control_operand.wanted = (uint32_t)version;
	if (version <= 0 || version >> 32)
		run->reason = "the hypervisor answered xen_version with an error";
	return !run->reason;
}

static bool init_cpuid(struct bench_run *run)
{
	return prepare(run, 0);
}

static bool init_in(struct bench_run *run)
{
	/* Another port of in= may have side effects on a write. */
	if (run->params->in_port == scratch_port())
		out8(scratch_port(), scratch_pattern(0));
	return prepare(run, run->params->in_port);
}

static bool init_round(struct bench_run *run)
{
	answered_before = event_round_start(run, &round.channel);
	run->operand = &round;
	idle = round;
	run->control_operand = &idle;
	return true;
}

static enum check check_hypercall(struct bench_run *run)
{
	if (operand.wrong || operand.value[0] != operand.wanted) {
		bench_note(run, "%u calls gave another result than %x; the last gave %x",
			   operand.wrong, operand.wanted, operand.value[0]);
		return CHECK_FAILED;
	}
	bench_note(run, "each call returned the hypervisor's answer, as to 64-bit code");
	return CHECK_UNPROVEN;
}

static enum check check_cpuid(struct bench_run *run)
{
	const char *vendor = (const char *)operand.value;

	for (unsigned i = 0; i < 12; i++)
		if (vendor[i] < ' ' || vendor[i] > '~') {
			bench_note(run, "the vendor's name is not text");
			return CHECK_FAILED;
		}
	bench_note(run, "the CPU says \"%s\"; only the host can count exits", vendor);
	return CHECK_UNPROVEN;
}

static enum check check_in(struct bench_run *run)
{
	if (run->params->in_port == scratch_port() && operand.value[0] == scratch_pattern(0)) {
		bench_note(run, "the port gave the byte that was written to it before");
		return CHECK_PROVED;
	}
	bench_note(run, "the port gave %x; only the host can see the reads", operand.value[0]);
	return CHECK_UNPROVEN;
}

static enum check check_round(struct bench_run *run)
{
	return event_round_check(run, &round.channel, answered_before);
}

EXIT_ROW(in, "in-unpaged", "io", "read a byte from a port with paging off", "Xen", needs_port,
	 init_in, check_in, in_unpaged, SELF_TIMED | PARAM_HYPERCALL | PARAM_IN_PORT);
EXIT_ROW(hypercall, "hypercall-unpaged", "exception", "call into Xen and back with paging off",
	 "Xen", needs, init_hypercall, check_hypercall, hypercall_unpaged,
	 SELF_TIMED | PARAM_HYPERCALL);
EXIT_ROW(cpuid, "cpuid-unpaged", "exception", "ask the CPU for its vendor with paging off", "Xen",
	 needs, init_cpuid, check_cpuid, cpuid_unpaged, SELF_TIMED | PARAM_HYPERCALL);

BENCHMARK(event_round_unpaged) = {
	.name = "event-channel-unpaged",
	.category = "io",
	.summary = "event to another domain (Xen) and its answer, both with paging off",
	.requires = "Xen, and a domain that answers so",
	.needs = needs_channel,
	.init = init_round,
	.run = event_round_unpaged_run,
	.control = event_round_unpaged_control,
	.check = check_round,
	.cpus = 1,
	.min_iterations = 1,
	.max_iterations = 1000,
	.insns_iterations = 1,
	.insns_samples = 64,
	.parameters = PARAM_HYPERCALL | SELF_TIMED,
};
