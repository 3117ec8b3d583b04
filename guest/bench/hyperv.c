/*
 * Hyper-V's interfaces for guests, which KVM has too ("enlightenments"): the time by an MSR and by a page, and
 * the hypercall. Three rows.
 */
#include "bench.h"
#include <arch/hyperv.h>
#include <arch/timed_exits.h>

/* A hypercall that no hypervisor has, and its answer, HV_STATUS_INVALID_HYPERCALL_CODE (TLFS, appendix B). */
#define UNKNOWN_CALL 0xfff0
#define INVALID_CODE 2

TIMED_READ_MSR(hyperv_counter);

static struct exit_operand counter;
static struct hyperv_clock_operand clock_operand;
static struct hyperv_call_operand call_operand, control_operand;
static uint64_t before;

static const char none[] = "the hypervisor does not offer this interface of Hyper-V's (CPUID)";

static const char *needs_counter(const struct params *params)
{
	(void)params;
	return hyperv_offers(HYPERV_COUNTER) ? NULL : none;
}

static const char *needs_clock(const struct params *params)
{
	(void)params;
	return hyperv_offers(HYPERV_REFERENCE_TSC) ? NULL : none;
}

static const char *needs_hypercalls(const struct params *params)
{
	if (params->hypercall == HYPERCALL_NONE)
		return "hypercall=none: no hypervisor here is known to answer hypercalls";
	return hyperv_offers(HYPERV_HYPERCALLS) ? NULL : none;
}

static uint64_t time_by_counter(void)
{
	struct exit_operand operand = { .number = MSR_NUMBER_HYPERV_COUNTER };

	hyperv_counter_run(1, &operand);
	return operand.value;
}

static bool init_counter(struct bench_run *run)
{
	counter = (struct exit_operand){ .number = MSR_NUMBER_HYPERV_COUNTER };
	run->operand = &counter;
	before = time_by_counter();
	return true;
}

static bool init_clock(struct bench_run *run)
{
	static struct hyperv_clock *page;

	if (!page)
		page = heap_alloc_page(4 * KIB);
	run->reason = "no memory for the reference TSC page";
	if (!page)
		return false;
	hyperv_clock_use(page);
	clock_operand = (struct hyperv_clock_operand){ .clock = page };
	run->operand = &clock_operand;
	run->reason = page->sequence ? NULL : "the reference TSC page is not valid (sequence 0)";
	before = time_by_counter();
	return !run->reason;
}

static enum check check_time(struct bench_run *run, uint64_t found)
{
	uint64_t after = time_by_counter();

	bench_note(run, "%lu units of 100 ns, read between %lu and %lu", found, before, after);
	return before <= found && found <= after ? CHECK_PROVED : CHECK_FAILED;
}

static enum check check_counter(struct bench_run *run)
{
	return check_time(run, counter.value);
}

static enum check check_clock(struct bench_run *run)
{
	return check_time(run, clock_operand.time);
}

static void cleanup_clock(struct bench_run *run)
{
	(void)run;
	hyperv_clock_use(NULL);
}

static bool init_hypercall(struct bench_run *run)
{
	static void *page;

	if (!page)
		page = heap_alloc_page(4 * KIB);
	run->reason = "no memory for the hypercall page";
	if (!page)
		return false;
	hyperv_hypercall_use(page);
	call_operand = (struct hyperv_call_operand){ .code = page,
						     .input = UNKNOWN_CALL,
						     .wanted = INVALID_CODE };
	control_operand = call_operand;
	run->operand = &call_operand;
	run->control_operand = &control_operand;
	run->reason = NULL;
	return true;
}

static enum check check_hypercall(struct bench_run *run)
{
	uint64_t wrong = call_operand.wrong + (call_operand.last != call_operand.wanted);

	if (wrong)
		bench_note(run, "%lu calls returned another status than 0x%lx; the last 0x%lx",
			   wrong, call_operand.wanted, call_operand.last);
	else
		bench_note(run, "each call was answered; only the host can count exits");
	return wrong ? CHECK_FAILED : CHECK_UNPROVEN;
}

static void cleanup_hypercall(struct bench_run *run)
{
	(void)run;
	hyperv_hypercall_use(NULL);
}

#define HYPERV_ROW(id, title, kind, words, needed, may, prepare, judge, loop, ...)          \
	BENCHMARK_ROW(id, title, kind, words, needed, may, prepare, judge, loop, .cpus = 1, \
		      .min_iterations = 1, .max_iterations = 1000, __VA_ARGS__)

HYPERV_ROW(counter, "hv-reference-counter", "privileged",
	   "read the time from Hyper-V's reference counter MSR", "Hyper-V's interface",
	   needs_counter, init_counter, check_counter, hyperv_counter);
HYPERV_ROW(clock, "hv-reference-tsc", "unprivileged",
	   "read the time from Hyper-V's reference TSC page", "Hyper-V's interface", needs_clock,
	   init_clock, check_clock, hyperv_tsc, .cleanup = cleanup_clock);
HYPERV_ROW(hypercall, "hv-hypercall", "exception", "Hyper-V hypercall with an unknown call code",
	   "a hypervisor that answers hypercalls, Hyper-V's interface", needs_hypercalls,
	   init_hypercall, check_hypercall, hyperv_call, .cleanup = cleanup_hypercall,
	   .parameters = PARAM_HYPERCALL);
