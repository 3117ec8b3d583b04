/*
 * Counts what happens between two rings; see bell.h. Runs on the vCPU that rings, under the devices'
 * lock. The note is the guest's: copied once, then checked.
 */
#include "bell.h"

#include <string.h>
#include <sys/resource.h>
#include <time.h>

#define ROOM_FOR_STAT (MAX_STAT_NAME + 32)

static uint64_t now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void count(struct vm *vm, struct snapshot *to)
{
	struct rusage usage = { 0 };

	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		vcpu_look_where(vcpu);
		for (unsigned reason = 0; reason < MAX_REASONS; reason++)
			to->counts[reason] += vcpu->returns[reason];
		stats_add(&vm->stats, vcpu->stats_fd, to->counts + COUNT_KVM);
		to->counts[COUNT_INTERRUPTED] += vcpu->interrupted;
		to->moves += vcpu->moves;
	}
	to->counts[COUNT_NOWHERE] = vm->devices.nowhere;
	getrusage(RUSAGE_SELF, &usage);
	to->counts[COUNT_FAULTS] = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* The clock stands next to the benchmark, the slow walk over the page map farthest away. */
static void snapshot_take(struct vm *vm, struct snapshot *to, bool before)
{
	*to = (struct snapshot){ .counts[COUNT_NS] = now_ns() };
	if (!before)
		count(vm, to);
	to->pages_known = memory_pages(&vm->memory, &to->pages);
	if (before) {
		count(vm, to);
		to->counts[COUNT_NS] = now_ns();
	}
}

/* What is counted in `passed` becomes what was counted since `begin`. */
static void subtract(uint64_t *passed, const uint64_t *begin)
{
	for (unsigned i = 0; i < COUNTS; i++)
		passed[i] -= passed[i] < begin[i] ? passed[i] : begin[i];
}

/* The least that a pair with nothing between costs is what rings themselves cost. */
static void learn_own(struct bell *bell, const uint64_t *passed)
{
	for (unsigned i = 0; i < COUNTS; i++)
		if (!bell->own_known || passed[i] < bell->own[i])
			bell->own[i] = passed[i];
	bell->own_known = true;
}

/* An object of the counts that are not zero, as far as the line has room. */
static void put_counts(struct text *out, const char *key, const uint64_t *counts, unsigned how_many,
		       const struct stats *names)
{
	const char *separator = "";

	text_printf(out, ",\"%s\":{", key);
	for (unsigned i = 0; i < how_many; i++) {
		if (!counts[i] || out->size - out->used < ROOM_FOR_STAT)
			continue;
		text_printf(out, "%s\"%s\":%lu", separator,
			    names ? names->names[i] : vcpu_reason_name(i), counts[i]);
		separator = ",";
	}
	text_printf(out, "}");
}

static void send(struct bell *bell, const struct bell_note *note, const struct snapshot *end)
{
	const struct vm *vm = bell->vm;
	const uint64_t *counts = end->counts;
	uint64_t operations;
	struct record record;
	struct text *out = &record.text;

	if (__builtin_mul_overflow(note->iterations, note->samples, &operations))
		operations = UINT64_MAX;
	record_start(&record, "exits");
	record_string(&record, "bench", note->bench);
	text_printf(out,
		    ",\"index\":%lu,\"iterations\":%lu,\"samples\":%lu,\"operations\":%lu,"
		    "\"host_ns\":%lu,\"interrupted\":%lu,\"nowhere\":%lu,\"page_faults\":%lu",
		    note->index, note->iterations, note->samples, operations, counts[COUNT_NS],
		    counts[COUNT_INTERRUPTED], counts[COUNT_NOWHERE], counts[COUNT_FAULTS]);
	if (bell->begin.pages_known && end->pages_known)
		text_printf(out, ",\"pages_before\":%lu,\"pages_after\":%lu", bell->begin.pages,
			    end->pages);
	text_printf(out, ",\"moves\":%lu,\"host_cpus\":", end->moves - bell->begin.moves);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(out, "%c%d", i ? ',' : '[', vm->vcpus[i].host_cpu);
	text_printf(out, "]");
	put_counts(out, "returns", counts, MAX_REASONS, NULL);
	if (vm->stats.count)
		put_counts(out, "kvm", counts + COUNT_KVM, vm->stats.count, &vm->stats);
	record_send(&record, bell->line);
}

static void bell_access(void *context, const struct access *access)
{
	struct bell *bell = context;
	struct snapshot end;
	struct bell_note note;
	const void *at = memory_at(&bell->vm->memory, access_value(access), sizeof(note));

	if (!access->write || !at)
		return;
	memcpy(&note, at, sizeof(note));
	note.bench[sizeof(note.bench) - 1] = 0;
	if (note.magic != BELL_MAGIC)
		return;
	if (note.kind == BELL_BEGIN) {
		snapshot_take(bell->vm, &bell->begin, true);
		bell->begun = true;
	} else if (note.kind == BELL_END && bell->begun) {
		bell->begun = false;
		snapshot_take(bell->vm, &end, false);
		subtract(end.counts, bell->begin.counts);
		if (!note.iterations && !note.samples) {
			learn_own(bell, end.counts);
			return;
		}
		subtract(end.counts, bell->own);
		send(bell, &note, &end);
	}
}

bool bell_add(struct bell *bell, struct vm *vm, struct record_line *line, uint16_t port,
	      struct error *error)
{
	const struct device row = { "doorbell", SPACE_PORT, port, 4, bell_access, bell };

	*bell = (struct bell){ .vm = vm, .line = line };
	return devices_add(&vm->devices, &row, error);
}
