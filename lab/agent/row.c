/*
 * A workload; see row.h. The order is prepare, serve, beside, run to warm up, run measured, proof. In a VM it runs again
 * to count the exits by reason, unless it takes long. It runs again if its transactions are taken apart.
 *
 * If the workload has a shorter run, it comes before each run that is counted, and is subtracted from it: both have the
 * start and the end of the programs.
 */
#include "row.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

#include "common/exits.h"
#include "common/reasons.h"
#include "below.h"
#include "guest.h"
#include "network.h"
#include "paths.h"
#include "root.h"
#include "several.h"
#include "say.h"
#include "step.h"
#include "transaction.h"
#include "window.h"

/* Runs that took longer are not run once more to count exits by reason. */
#define REASONS_LIMIT_TICKS 300000000
/* ... with a hypervisor below, which counts its traps by cause then. */
#define NESTED_LIMIT_TICKS  60000000000
/* After this time nothing polls any more that served the row before. It is idle time then, which costs nothing. */
#define SETTLE_MS	    300
/* A row of several CPUs says so if all were idle for more of its ticks. */
#define IDLE_PERCENT	    1

static struct record record;
/* The group of processes of the row's beside=; 0: none. */
static pid_t beside;

struct row {
	const struct launch *launch;
	const struct workload *workload;
	unsigned index, samples;
	uint64_t run[MAX_SAMPLES], control[MAX_SAMPLES];
	struct kvm_counts counts;
	struct threads threads;
	struct reasons reasons;
	struct steps steps;
	uint64_t steps_ticks; /* of the runs in which they were traced; 0: none */
	const char *no_steps; /* why there are none */
	bool knows_idle;      /* of the traced window: */
	uint64_t idle_ticks;  /* in which all CPUs were idle */
	uint64_t traced_ticks;
	char failed[512]; /* why there is no result */
};

static bool on_host(const struct row *row)
{
	return row->launch->role == ROLE_HOST;
}

/* Is this phase the guest's? */
static bool is_remote(const struct row *row, enum phase phase)
{
	bool of_client = phase == PHASE_RUN || phase == PHASE_MEASURE || phase == PHASE_PROOF;

	return on_host(row) && (row->workload->inside || !of_client);
}

/* Notes why a command failed. True: it did not. */
static bool succeeded_as(struct row *row, const char *name, const struct outcome *outcome)
{
	size_t size = sizeof(row->failed);

	if (outcome->status == STATUS_LIMIT)
		snprintf(row->failed, size, "%s did not end within %d s of the machine's clock: %s",
			 name, COMMAND_LIMIT_S, outcome->said);
	else if (outcome->status)
		snprintf(row->failed, size, "%s ended with status %lu: %s", name, outcome->status,
			 *outcome->said ? outcome->said : "it said nothing");
	return outcome->status == 0;
}

static bool succeeded(struct row *row, enum phase phase, const struct outcome *outcome)
{
	return succeeded_as(row, phase_name(phase == PHASE_MEASURE ? PHASE_RUN : phase), outcome);
}

static bool is_lost(struct row *row)
{
	snprintf(row->failed, sizeof(row->failed), "%s", guest_lost());
	return false;
}

static bool step(struct row *row, enum phase phase, uint64_t units)
{
	const struct order order = { .phase = phase,
				     .workload = row->workload->name,
				     .units = units };
	bool serves = phase == PHASE_PREPARE || phase == PHASE_SERVE;
	int network = serves && !row->workload->inside ? network_of_servers() : -1;
	struct outcome outcome;

	if (!is_remote(row, phase))
		step_do(row->workload, phase, units, network, &outcome);
	else if (!guest_do(&order, &outcome, NULL))
		return is_lost(row);
	return succeeded(row, phase, &outcome);
}

/* Starts what is beside the row on this side: servers, or other work while the VM is measured. */
static bool start_beside(struct row *row)
{
	struct command command;
	struct outcome outcome;

	if (!row->workload->beside)
		return true;
	if (command_prepare(&command, row->workload->beside, STEP_OUTPUT, -1)) {
		beside = command.pid;
		command_outcome(command_run(&command, true), STEP_OUTPUT, &outcome);
	} else {
		step_no_process(&outcome);
	}
	return succeeded_as(row, "beside", &outcome);
}

static void end_beside(void)
{
	if (beside)
		kill(-beside, SIGKILL);
	beside = 0;
}

/* Measures a run on this side. */
static void measure_here(struct row *row, uint64_t units, struct measured *measured,
			 struct outcome *outcome)
{
	struct threads threads_begin, threads_end;
	struct kvm_counts begin, end;
	struct command command;
	uint64_t idle, status;

	command_units(units);
	if (!command_prepare(&command, row->workload->run, RUN_OUTPUT, -1)) {
		step_no_process(outcome);
		return;
	}
	say_drain();
	kvm_counts_read(&begin);
	threads_read(&threads_begin);
	window_pad(row->launch->selection->pad);
	idle = window_idle_ticks();
	if (measured->traced)
		tracing_begin(measured->traced);
	below_begin(&measured->note, measured->reasons);
	status = window_run(&command, &measured->ticks);
	below_end(&measured->note, measured->reasons);
	if (measured->traced)
		tracing_end(measured->traced);
	measured->idle_ticks = window_idle_ticks() - idle;
	threads_read(&threads_end);
	kvm_counts_read(&end);
	kvm_counts_add(&measured->counts, &begin, &end, false);
	threads_add(&measured->threads, &threads_begin, &threads_end, false);
	command_outcome(status, RUN_OUTPUT, outcome);
}

/* The units that a figure is of. */
static uint64_t measured_units(const struct row *row)
{
	return row->workload->units - row->workload->shorter;
}

static struct bell_note note_of(const struct row *row, const char *name, unsigned samples)
{
	struct bell_note note = { .index = row->index,
				  .iterations = measured_units(row),
				  .samples = samples };

	snprintf(note.bench, sizeof(note.bench), "%s", name);
	return note;
}

/* The order for a measured run. */
static struct order order_of(const struct row *row, const char *workload, uint64_t units)
{
	return (struct order){ .phase = PHASE_MEASURE,
			       .workload = workload,
			       .units = units,
			       .pad = row->launch->selection->pad };
}

/* Runs it, measured. */
static bool run_measured(struct row *row, uint64_t units, struct measured *measured)
{
	const char *name = row->workload->name;
	const struct order order = order_of(row, name, units);
	struct outcome outcome;

	measured->note = note_of(row, units < row->workload->units ? BELOW_SHORTER : name, 1);
	if (!is_remote(row, PHASE_MEASURE))
		measure_here(row, units, measured, &outcome);
	else if (!guest_do(&order, &outcome, measured))
		return is_lost(row);
	return succeeded(row, PHASE_MEASURE, &outcome);
}

static void add(uint64_t *sums, const uint64_t *values, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		sums[i] += values[i];
}

static uint64_t executed(const struct measured *measured)
{
	return measured->ticks - measured->idle_ticks;
}

/* Measures a sample. */
static bool measure(struct row *row)
{
	struct measured shorter = { .ticks = 0 }, whole = { .ticks = 0 };

	if (row->workload->shorter && !run_measured(row, row->workload->shorter, &shorter))
		return false;
	if (!run_measured(row, row->workload->units, &whole))
		return false;
	row->run[row->samples] = whole.ticks;
	row->control[row->samples++] = whole.idle_ticks + executed(&shorter);
	exits_subtract(whole.counts.values, shorter.counts.values, MAX_COUNTERS);
	exits_subtract(whole.threads.ns, shorter.threads.ns, MAX_THREADS);
	add(row->counts.values, whole.counts.values, MAX_COUNTERS);
	add(row->threads.ns, whole.threads.ns, MAX_THREADS);
	return true;
}

static bool makes_requests(const struct row *row)
{
	return row->workload->requests.kind != DEVICE_NONE;
}

/* The threads of the VM have CPUs of their own, or the machine is a measured system of several CPUs. */
static bool has_cpus(const struct row *row)
{
	return (SEVERAL_CPUS || on_host(row)) && sysconf(_SC_NPROCESSORS_ONLN) > 1;
}

/* A traced window, on the side where the row is measured. False: there is none. */
static bool trace(struct row *row, const char *workload, uint64_t units, struct traced *traced,
		  uint64_t *ticks)
{
	const struct order order = order_of(row, workload, units);
	struct measured measured = { .traced = traced };
	struct outcome outcome = { .status = 0 };
	bool done = true;

	if (!tracing_start())
		return false;
	if (is_remote(row, PHASE_MEASURE))
		done = guest_do(&order, &outcome, &measured);
	else
		measure_here(row, units, &measured, &outcome);
	tracing_stop(traced);
	*ticks = measured.ticks;
	return done && !outcome.status;
}

/* Traces what is subtracted from the traced window: a shorter run. If there is none, the exits of an empty window. */
static bool trace_shorter(struct row *row, struct traced *traced, uint64_t *ticks)
{
	bool done = true;

	*traced = (struct traced){ .knows_idle = true };
	*ticks = 0;
	if (row->workload->shorter)
		return trace(row, row->workload->name, row->workload->shorter, traced, ticks);
	if (is_remote(row, PHASE_MEASURE))
		done = trace(row, NO_WORKLOAD, 0, traced, ticks);
	*traced = (struct traced){ .reasons = traced->reasons, .knows_idle = true };
	*ticks = 0;
	return done;
}

/* Once more: why the guest exits in the window, and how long all CPUs are idle. If it fails, what was measured stays
 * valid. */
static void trace_row(struct row *row)
{
	static struct traced shorter, traced;
	uint64_t shorter_ticks, ticks;

	if (!trace_shorter(row, &shorter, &shorter_ticks) ||
	    !trace(row, row->workload->name, row->workload->units, &traced, &ticks))
		return;
	reasons_subtract(&traced.reasons, &shorter.reasons);
	exits_subtract(&traced.idle_ticks, &shorter.idle_ticks, 1);
	row->reasons = traced.reasons;
	row->knows_idle = traced.knows_idle && shorter.knows_idle;
	row->idle_ticks = traced.idle_ticks;
	row->traced_ticks = ticks - shorter_ticks;
}

/* Counts exits by reason. It takes a separate run, as this counting costs instructions. */
static bool reasons_of(struct row *row, uint64_t units, struct reasons *reasons)
{
	struct measured measured = { .reasons = true };
	bool done;

	*reasons = (struct reasons){ .count = 0 };
	if (!units)
		return true;
	if (!reasons_begin())
		return false;
	done = below_is_there() ? run_measured(row, units, &measured) : step(row, PHASE_RUN, units);
	if (done)
		reasons_read(reasons);
	reasons_end();
	return done;
}

/* If it fails, what was measured stays valid. */
static void count_reasons(struct row *row)
{
	uint64_t limit = below_is_there() ? NESTED_LIMIT_TICKS : REASONS_LIMIT_TICKS;
	static struct reasons shorter, reasons;

	if (!on_host(row) || row->run[0] > limit ||
	    !reasons_of(row, row->workload->shorter, &shorter) ||
	    !reasons_of(row, row->workload->units, &reasons))
		return;
	reasons_subtract(&reasons, &shorter);
	row->reasons = reasons;
}

/* Traces the steps of transactions. It takes a separate run, as tracing costs instructions. NULL, or why there are
 * none. */
static const char *steps_of(struct row *row, uint64_t units, struct steps *steps, uint64_t *ticks)
{
	const char *name = row->workload->name, *wrong;
	struct measured measured = { .ticks = 0 };
	struct outcome outcome;

	*steps = (struct steps){ .ticks = { 0 } };
	*ticks = 0;
	wrong = units ? transaction_begin(name) : NULL;
	if (!units || wrong)
		return wrong;
	measure_here(row, units, &measured, &outcome);
	wrong = transaction_end(name, units, steps);
	*ticks = executed(&measured);
	return outcome.status ? "the run in which it was to be traced failed" : wrong;
}

static void count_steps(struct row *row)
{
	uint64_t shorter_ticks, ticks;
	struct steps shorter;

	if (!row->workload->steps)
		return;
	row->no_steps = steps_of(row, row->workload->shorter, &shorter, &shorter_ticks);
	if (!row->no_steps)
		row->no_steps = steps_of(row, row->workload->units, &row->steps, &ticks);
	if (row->no_steps)
		return;
	exits_subtract(row->steps.ticks, shorter.ticks, STEP_NAMES);
	row->steps_ticks = ticks - shorter_ticks;
}

static bool all_phases(struct row *row)
{
	uint64_t units = row->workload->units;

	if (!row->workload->inside && row->launch->no_network) {
		snprintf(row->failed, sizeof(row->failed), "%s", row->launch->no_network);
		return false;
	}
	if (makes_requests(row))
		nanosleep(&(struct timespec){ .tv_nsec = SETTLE_MS * 1000000L }, NULL);
	if (!step(row, PHASE_PREPARE, units) || !step(row, PHASE_SERVE, units) ||
	    !start_beside(row) || !step(row, PHASE_RUN, units))
		return false;
	while (row->samples < row->launch->selection->samples)
		if (!measure(row))
			return false;
	if (!step(row, PHASE_PROOF, units))
		return false;
	if (makes_requests(row) || has_cpus(row))
		trace_row(row);
	else
		count_reasons(row);
	count_steps(row);
	return true;
}

/* A transaction's steps, and when all CPUs were idle: each if it is known. */
static void send_steps(const struct row *row)
{
	const char *separator = "";

	text_printf(&record.text, ",\"steps\":{");
	for (unsigned i = 0; i < STEP_NAMES && row->steps_ticks; i++) {
		if (!row->steps.ticks[i])
			continue;
		text_printf(&record.text, "%s\"%s\":%lu", separator, steps_name((enum step_name)i),
			    row->steps.ticks[i]);
		separator = ",";
	}
	if (row->knows_idle)
		text_printf(&record.text, "%s\"idle\":%lu", separator, row->idle_ticks);
	text_printf(&record.text, "}");
	if (row->steps_ticks)
		record_u64(&record, "traced", row->steps_ticks);
}

/* What was measured, without idle time. */
static uint64_t executed_in_all(const struct row *row)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < row->samples; i++)
		sum += row->run[i] - row->control[i];
	return sum;
}

/* Of a machine without a VM only if there are steps, or several CPUs. */
static void send_exits(const struct row *row)
{
	struct bell_note note = note_of(row, row->workload->name, row->samples);
	uint64_t reasons[REASONS_MAX];

	for (unsigned i = 0; i < row->reasons.count; i++)
		reasons[i] = row->reasons.rows[i].count;
	exits_start(&record, &note);
	if (on_host(row)) {
		if (below_is_there() && is_remote(row, PHASE_MEASURE))
			text_printf(&record.text, ",\"marked\":true");
		kvm_counts_send(&record, &row->counts);
		threads_send(&record, &row->threads, executed_in_all(row));
	}
	if (row->reasons.count)
		exits_counts(&record, "reasons", reasons, row->reasons.count, reasons_name_row,
			     &row->reasons);
	if (row->steps_ticks || row->knows_idle)
		send_steps(row);
	say_record(&record, SOURCE_MONITOR);
}

static void send_samples(struct text *out, const char *key, const uint64_t *ticks, unsigned count)
{
	record_key(&record, key);
	for (unsigned i = 0; i < count; i++)
		text_printf(out, "%c%lu", i ? ',' : '[', ticks[i]);
	text_printf(out, "]");
}

static void note(const struct row *row, char text[300])
{
	uint64_t permille = row->traced_ticks ? row->idle_ticks * 1000 / row->traced_ticks : 0;
	const char *proof = row->workload->proof ? ", and proof after it" : "";
	char idle[80] = "";

	if (row->idle_ticks * 100 > row->traced_ticks * IDLE_PERCENT)
		snprintf(idle, sizeof(idle), "; all CPUs were idle in %lu.%lu %% of the ticks",
			 permille / 10, permille % 10);
	if (makes_requests(row))
		snprintf(text, 300, "all requests were answered%s", idle);
	else
		snprintf(text, 300, "run ended well%s%s%s%s", proof, idle,
			 row->no_steps ? "; not taken apart: " : "",
			 row->no_steps ? row->no_steps : "");
}

static void send_result(const struct row *row)
{
	struct text *out = record_start(&record, "result");
	char text[300];

	record_string(&record, "bench", row->workload->name);
	record_u64(&record, "part", 1);
	record_u64(&record, "parts", 1);
	record_u64(&record, "iterations", measured_units(row));
	record_u64(&record, "cpus", row->launch->cpus);
	record_string(&record, "check", "proved");
	note(row, text);
	record_string(&record, "note", text);
	send_samples(out, "run", row->run, row->samples);
	send_samples(out, "control", row->control, row->samples);
	say_record(&record, SOURCE_GUEST);
}

static void send_skip(const struct row *row)
{
	record_start(&record, "skip");
	record_string(&record, "bench", row->workload->name);
	record_string(&record, "reason", row->failed);
	say_record(&record, SOURCE_GUEST);
}

/* Nothing of a workload is left to the next one. */
static bool clean(void)
{
	const struct order order = { .phase = PHASE_CLEAN, .workload = NO_WORKLOAD };
	struct outcome outcome;
	bool there;

	end_beside();
	there = !guest_process() || guest_do(&order, &outcome, NULL);

	command_end_all(guest_process());
	root_clean();
	return there && !guest_lost();
}

bool row_measure(const struct launch *launch, unsigned index)
{
	static struct row row;
	const char *name;

	row = (struct row){ .launch = launch,
			    .workload = launch->selection->rows[index],
			    .index = index };
	name = row.workload->name;
	record_start(&record, "begin");
	record_string(&record, "bench", name);
	record_u64(&record, "index", index);
	say_record(&record, SOURCE_GUEST);
	if (all_phases(&row)) {
		if (on_host(&row) || row.steps_ticks || (SEVERAL_CPUS && row.knows_idle))
			send_exits(&row);
		send_result(&row);
	} else {
		send_skip(&row);
	}
	record_start(&record, "end");
	record_string(&record, "bench", name);
	say_record(&record, SOURCE_GUEST);
	return clean();
}
