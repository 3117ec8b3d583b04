/*
 * Measures one benchmark: needs, init, then samples of control and run in turn, check, cleanup (HyperBench,
 * 5.2 and Fig. 4). Every call into a row is made under try_call(), so that an exception ends only that row.
 */
#include "guest/core/harness.h"
#include "guest/core/guest_arch.h"
#include "guest/core/doorbell.h"
#include "guest/core/external.h"
#include "guest/core/record_line.h"
#include "guest/core/show.h"
#include "guest/core/smp.h"

#define MAX_SAMPLES	 1024
#define SAMPLES_A_PART	 64 /* 64 pairs of 20 digits and a header fit into a line */
#define TIME_SAMPLES	 30
/* On units of time a batch takes at least 1 / this part of a second, 40 us... */
#define BATCHES_A_SECOND 25000
/* ... and grows by large steps, so that two boots of a row rarely choose different sizes. */
#define BATCH_STEP	 32
/* A loop that times each operation itself needs no long batch. */
#define SELF_TIMED_BATCH 16
/* Timed from outside, a batch takes at least so many ticks, more than 10 ms at up to 5 GHz: the host's
 * timestamps vary by far more than the guest's clock (HyperBench, 5.2). */
#define MARKED_TICKS	 50000000
#define MARKED_STEP	 2
/* of the guest's code under nested paging */
#define PAGE_BYTES	 (4 * KIB)
/* for harness_init(): warms up timed_call() itself */
#define IDLE_SAMPLES	 64

static struct record record;
static uint64_t run_ticks[MAX_SAMPLES], control_ticks[MAX_SAMPLES];

/* The argument of a phase under try_call(). */
struct phase {
	const struct bench *bench;
	struct bench_run *run;
	const char *reason; /* result of needs */
	bool ready;	    /* result of init */
	enum check verdict;
	const char *unmarked;	  /* why a host cannot time it; NULL: it can */
	struct external external; /* how its batches are marked, if they are */
	const char *name;	  /* the current phase */
};

void bench_note(struct bench_run *run, const char *format, ...)
{
	struct text note;
	va_list values;

	text_start(&note, run->note, sizeof(run->note));
	va_start(values, format);
	text_vprintf(&note, format, values);
	va_end(values);
}

static uint64_t minimum(uint64_t a, uint64_t b)
{
	return a < b ? a : b;
}

/* Runs one batch of the run or of the control loop. Returns its ticks. With `external`, marked. */
static uint64_t batch(const struct bench *bench, struct bench_run *run, bool control,
		      const struct external *external)
{
	void *operand = control && run->control_operand ? run->control_operand : run->operand;
	struct timed timed;

	if (external)
		external_ready();
	pad_loop(run->params->pad);
	if (external)
		external_begin(external, control ? MARK_CONTROL : MARK_RUN);
	timed = timed_call(control ? bench->control : bench->run, run->iterations, operand);
	if (external)
		external_end();
	if (!control)
		run->total += run->iterations;
	return bench->parameters & SELF_TIMED ? timed.own_ticks : timed.batch_ticks;
}

/* The minimum of two batches: the host may have preempted the CPU during one. */
static uint64_t trial(const struct bench *bench, struct bench_run *run, bool control)
{
	uint64_t first = batch(bench, run, control, NULL);

	return minimum(first, batch(bench, run, control, NULL));
}

/*
 * The iteration count on units of time: the row's minimum times the smallest power of the step that makes a
 * batch long enough, within the paper's range (Table 1). Returns the ticks of the shorter of control and
 * run.
 */
static uint64_t choose_iterations(const struct bench *bench, struct bench_run *run, bool marked)
{
	uint64_t enough = marked ? MARKED_TICKS : arch_long_ticks() / BATCHES_A_SECOND;
	uint64_t step = marked ? MARKED_STEP : BATCH_STEP;

	run->iterations = minimum(bench->min_iterations, run->max_iterations);
	for (;;) {
		uint64_t control = trial(bench, run, true);
		uint64_t ticks = trial(bench, run, false);

		/* TRIAL_BATCHES: the last size is at least twice the one before. */
		if (ticks > enough || run->iterations > run->max_iterations / 2)
			return minimum(control, ticks);
		run->iterations = minimum(run->iterations * step, run->max_iterations);
	}
}

/* Chooses the iterations and, for external timing, how the batches are marked. NULL: not marked. */
static const struct external *prepare_batches(struct phase *phase)
{
	const struct bench *bench = phase->bench;
	struct bench_run *run = phase->run;
	const struct params *params = run->params;
	bool marked = params->external && !phase->unmarked;
	uint64_t shortest = 0;

	if (params->iters)
		run->iterations = minimum(params->iters, run->max_iterations);
	else if (params->unit == UNIT_INSNS)
		run->iterations = minimum(bench->insns_iterations, run->max_iterations);
	else if (bench->parameters & SELF_TIMED)
		run->iterations =
			minimum(SELF_TIMED_BATCH * bench->min_iterations, run->max_iterations);
	else
		shortest = choose_iterations(bench, run, marked);
	if (!marked)
		return NULL;
	if (params->iters)
		shortest = minimum(trial(bench, run, true), trial(bench, run, false));
	phase->external = external_for(shortest);
	return &phase->external;
}

static void phase_needs(void *argument)
{
	struct phase *phase = argument;

	phase->name = "needs";
	if (phase->bench->needs)
		phase->reason = phase->bench->needs(phase->run->params);
}

static void phase_init(void *argument)
{
	struct phase *phase = argument;

	phase->name = "init";
	phase->ready = !phase->bench->init || phase->bench->init(phase->run);
}

/* With a seed, run and control alternate in coming first, and the start of that alternation differs between
 * rows and boots: neither always runs with the caches that the other left. External timing expects the
 * control loop first. */
static bool run_comes_first(const struct bench_run *run, uint64_t sample)
{
	const struct params *params = run->params;

	return params->seed && !params->external && (params->seed + run->index + sample) % 2;
}

static bool is_return(const uint8_t *code)
{
	for (size_t i = 0; timed_return + i < timed_return_end; i++)
		if (code[i] != timed_return[i])
			return false;
	return true;
}

/*
 * Executes a return on each page of the timed code. Under nested paging the first access to a page of code is
 * an exit, which must not count as a row's operation. Reading is not enough: KVM on ARM maps a page that was
 * only read as execute-never, so that its first instruction exits again.
 */
static void execute_pages(void)
{
	const ptrdiff_t bytes = timed_return_end - timed_return;
	const uint8_t *code = timed_start;

	while (code + bytes <= timed_end) {
		if (!is_return(code)) {
			code += bytes;
			continue;
		}
		((void (*)(void))(uintptr_t)code)();
		code = (const uint8_t *)(((uintptr_t)code & ~(PAGE_BYTES - 1)) + PAGE_BYTES);
	}
}

static void phase_run(void *argument)
{
	struct phase *phase = argument;
	const struct bench *bench = phase->bench;
	struct bench_run *run = phase->run;
	const struct external *external;

	phase->name = "run";
	execute_pages();
	external = prepare_batches(phase);
	bell_begin(run->params, run->index, bench->name);
	for (uint64_t i = 0; i < run->samples; i++) {
		if (run_comes_first(run, i)) {
			run_ticks[i] = batch(bench, run, false, external);
			control_ticks[i] = batch(bench, run, true, external);
		} else {
			control_ticks[i] = batch(bench, run, true, external);
			run_ticks[i] = batch(bench, run, false, external);
		}
	}
	bell_end(run->params, run->iterations, run->samples);
}

static void phase_check(void *argument)
{
	struct phase *phase = argument;

	phase->name = "check";
	phase->verdict = CHECK_UNPROVEN;
	if (phase->bench->check)
		phase->verdict = phase->bench->check(phase->run);
	else
		bench_note(phase->run, "this benchmark has no check");
}

static void phase_cleanup(void *argument)
{
	struct phase *phase = argument;

	phase->name = "cleanup";
	if (phase->bench->cleanup)
		phase->bench->cleanup(phase->run);
}

static void send_skip(const struct bench *bench, const char *reason)
{
	record_start(&record, "skip");
	record_string(&record, "bench", bench->name);
	record_string(&record, "reason", reason);
	record_send(&record);
	show_skipped(reason);
}

static void send_fault(const struct phase *phase, const struct fault *fault)
{
	record_start(&record, "fault");
	record_string(&record, "bench", phase->bench->name);
	record_string(&record, "phase", phase->name);
	record_u64(&record, "vector", fault->vector);
	record_string(&record, "name", fault->name);
	record_u64(&record, "error", fault->error);
	record_u64(&record, "address", fault->address);
	record_u64(&record, "ip", fault->ip);
	record_send(&record);
	show_failed(fault->name);
}

static void send_conditions(const struct bench *bench, const struct params *params)
{
	record_u64(&record, "cpus", cpus_online());
	if (bench->parameters & PARAM_PAGE)
		record_u64(&record, "page_bytes", params->page_bytes);
	if (bench->parameters & PARAM_WS)
		record_u64(&record, "ws_bytes", params->ws_bytes);
	if (bench->parameters & PARAM_IN_PORT)
		record_u64(&record, "port", params->in_port);
	if (bench->parameters & PARAM_OUT_PORT)
		record_u64(&record, "port", params->out_port);
	if (bench->parameters & PARAM_PRINT_PORT)
		record_u64(&record, "port", params->print_port);
}

/* What a host needs to interpret the marks of the row. */
static void send_external(const struct phase *phase)
{
	if (!phase->run->params->external)
		return;
	if (phase->unmarked)
		record_string(&record, "unmarked", phase->unmarked);
	else
		record_u64(&record, "lead", phase->external.lead_ticks);
}

static void send_samples(struct text *out, const char *key, const uint64_t *ticks, uint64_t count)
{
	record_key(&record, key);
	for (uint64_t i = 0; i < count; i++)
		text_printf(out, "%c%lu", i ? ',' : '[', ticks[i]);
	text_printf(out, "]");
}

static void send_result(const struct phase *phase)
{
	static const char *const verdicts[] = { "proved", "unproven", "failed" };
	const struct bench_run *run = phase->run;
	uint64_t parts = (run->samples + SAMPLES_A_PART - 1) / SAMPLES_A_PART;

	for (uint64_t part = 0; part < parts; part++) {
		uint64_t from = part * SAMPLES_A_PART;
		uint64_t count = minimum(SAMPLES_A_PART, run->samples - from);
		struct text *out = record_start(&record, "result");

		record_string(&record, "bench", phase->bench->name);
		record_u64(&record, "part", part + 1);
		record_u64(&record, "parts", parts);
		if (!part) {
			record_u64(&record, "iterations", run->iterations);
			send_conditions(phase->bench, run->params);
			record_string(&record, "check", verdicts[phase->verdict]);
			record_string(&record, "note", run->note);
			send_external(phase);
		}
		send_samples(out, "run", run_ticks + from, count);
		send_samples(out, "control", control_ticks + from, count);
		record_send(&record);
	}
	show_measured(run_ticks, control_ticks, run->samples, run->iterations,
		      verdicts[phase->verdict]);
}

/* From init to the result. False: *fault is filled, and phase->name names the phase. */
static bool measure(struct phase *phase, struct fault *fault)
{
	if (!try_call(phase_init, phase, fault))
		return false;
	if (!phase->ready) {
		send_skip(phase->bench, phase->run->reason ? phase->run->reason : "init failed");
		return true;
	}
	if (!try_call(phase_run, phase, fault) || !try_call(phase_check, phase, fault))
		return false;
	send_result(phase);
	return true;
}

/* All phases of a row. False: as for measure(). */
static bool run_phases(struct phase *phase, struct fault *fault)
{
	struct fault second;
	const char *failed_in;
	bool measured, cleaned;

	if (cpus_online() < phase->bench->cpus)
		phase->reason = "two CPUs needed, one runs: start the machine with two or more";
	else if (!try_call(phase_needs, phase, fault))
		return false;
	if (phase->reason) {
		send_skip(phase->bench, phase->reason);
		return true;
	}
	measured = measure(phase, fault);
	failed_in = phase->name;
	cleaned = try_call(phase_cleanup, phase, measured ? fault : &second);
	if (!measured)
		phase->name = failed_in;
	return measured && cleaned;
}

static uint64_t sample_count(const struct bench *bench, const struct params *params)
{
	uint64_t count = params->samples;

	if (!count)
		count = params->unit == UNIT_INSNS ? bench->insns_samples : TIME_SAMPLES;
	return count < 1 ? 1 : minimum(count, MAX_SAMPLES);
}

void harness_run(const struct bench *bench, uint64_t index, const struct params *params)
{
	/* iters= may exceed the paper's range. */
	uint64_t most = params->iters > bench->max_iterations ? params->iters
							      : bench->max_iterations;
	struct bench_run run = {
		.params = params,
		.index = index,
		.samples = sample_count(bench, params),
		.max_iterations = most,
	};
	struct phase phase = {
		.bench = bench,
		.run = &run,
		.unmarked = bench->parameters & SELF_TIMED ? "its loop times each operation by "
							     "itself, and leaves out the "
							     "waiting between them"
							   : NULL,
	};
	struct fault fault;

	record_start(&record, "begin");
	record_string(&record, "bench", bench->name);
	record_u64(&record, "index", index);
	record_send(&record);
	show_row(bench->name);
	if (!run_phases(&phase, &fault))
		send_fault(&phase, &fault);
	record_start(&record, "end");
	record_string(&record, "bench", bench->name);
	record_send(&record);
}

/* The loop of the Idle row: two reads of the clock with nothing in between. */
extern timed_loop idle_run, idle_control;

void harness_init(const struct params *params)
{
	bell_learn(params);
	/* The first accesses of timed_call() itself must not count as the first row's operations. */
	for (unsigned i = 0; i < IDLE_SAMPLES; i++)
		timed_call(idle_run, 1, NULL);
}
