/* Counts what happens between two rings; see bell.h. Called by the vCPU that rings, under the
 * devices' lock, so that nothing else is counted meanwhile. The note is the guest's: copied once,
 * then checked. */
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

static void take_counters(struct vm *vm, struct snapshot *to)
{
	struct rusage usage;

	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		vcpu_look_where(vcpu);
		for (unsigned reason = 0; reason < MAX_REASONS; reason++)
			to->returns[reason] += vcpu->returns[reason];
		to->interrupted += vcpu->interrupted;
		to->moves += vcpu->moves;
		if (vcpu->stats_fd >= 0)
			stats_add(&vm->stats, vcpu->stats_fd, to->kvm);
	}
	to->nowhere = vm->devices.nowhere;
	if (getrusage(RUSAGE_SELF, &usage) == 0)
		to->faults = (uint64_t)usage.ru_minflt + (uint64_t)usage.ru_majflt;
}

/* The clock stands next to the benchmark, the slow walk over the page map farthest away. */
static void snapshot_take(struct vm *vm, struct snapshot *to, bool before)
{
	*to = (struct snapshot){ .ns = before ? 0 : now_ns() };
	if (!before)
		take_counters(vm, to);
	to->pages_known = memory_pages(&vm->memory, &to->pages);
	if (before)
		take_counters(vm, to);
	if (before)
		to->ns = now_ns();
}

static uint64_t difference(uint64_t later, uint64_t earlier, uint64_t own)
{
	uint64_t passed = later > earlier ? later - earlier : 0;

	return passed > own ? passed - own : 0;
}

void snapshot_subtract(struct snapshot *later, const struct snapshot *earlier,
		       const struct snapshot *own)
{
	for (unsigned i = 0; i < MAX_REASONS; i++)
		later->returns[i] =
			difference(later->returns[i], earlier->returns[i], own->returns[i]);
	for (unsigned i = 0; i < MAX_STATS; i++)
		later->kvm[i] = difference(later->kvm[i], earlier->kvm[i], own->kvm[i]);
	later->interrupted = difference(later->interrupted, earlier->interrupted, own->interrupted);
	later->moves = difference(later->moves, earlier->moves, 0);
	later->nowhere = difference(later->nowhere, earlier->nowhere, own->nowhere);
	later->faults = difference(later->faults, earlier->faults, own->faults);
	later->ns = difference(later->ns, earlier->ns, own->ns);
}

static void keep_lower(uint64_t *kept, uint64_t seen)
{
	if (seen < *kept)
		*kept = seen;
}

/* A pair with nothing between: the lowest that any such pair cost is what rings themselves cost. */
static void learn_own(struct bell *bell, struct snapshot *passed)
{
	static const struct snapshot nothing;

	snapshot_subtract(passed, &bell->begin, &nothing);
	if (!bell->own_known) {
		bell->own = *passed;
		bell->own_known = true;
		return;
	}
	for (unsigned i = 0; i < MAX_REASONS; i++)
		keep_lower(&bell->own.returns[i], passed->returns[i]);
	for (unsigned i = 0; i < MAX_STATS; i++)
		keep_lower(&bell->own.kvm[i], passed->kvm[i]);
	keep_lower(&bell->own.interrupted, passed->interrupted);
	keep_lower(&bell->own.nowhere, passed->nowhere);
	keep_lower(&bell->own.faults, passed->faults);
	keep_lower(&bell->own.ns, passed->ns);
}

static void put_returns(struct record *record, const struct snapshot *passed)
{
	bool first = true;

	record_key(record, "returns");
	text_printf(&record->text, "{");
	for (unsigned i = 0; i < MAX_REASONS; i++) {
		if (!passed->returns[i])
			continue;
		text_printf(&record->text, "%s\"%s\":%lu", first ? "" : ",", vcpu_reason_name(i),
			    passed->returns[i]);
		first = false;
	}
	text_printf(&record->text, "}");
}

/* Only what is not zero, and as far as a line has room. */
static void put_stats(struct record *record, const struct stats *stats,
		      const struct snapshot *passed)
{
	bool first = true;

	record_key(record, "kvm");
	if (!stats->count) {
		text_printf(&record->text, "null");
		return;
	}
	text_printf(&record->text, "{");
	for (unsigned i = 0; i < stats->count; i++) {
		if (!passed->kvm[i] || record->text.size - record->text.used < ROOM_FOR_STAT)
			continue;
		text_printf(&record->text, "%s", first ? "" : ",");
		text_json_string(&record->text, stats->names[i]);
		text_printf(&record->text, ":%lu", passed->kvm[i]);
		first = false;
	}
	text_printf(&record->text, "}");
}

static void put_places(struct record *record, const struct vm *vm)
{
	record_key(record, "host_cpus");
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(&record->text, "%c%d", i ? ',' : '[', vm->vcpus[i].host_cpu);
	text_printf(&record->text, "]");
}

static void send(struct bell *bell, const struct bell_note *note, struct snapshot *passed)
{
	uint64_t operations;
	struct record record;

	snapshot_subtract(passed, &bell->begin, &bell->own);
	if (__builtin_mul_overflow(note->iterations, note->samples, &operations))
		operations = UINT64_MAX;
	record_start(&record, "exits");
	record_string(&record, "bench", note->bench);
	record_u64(&record, "index", note->index);
	record_u64(&record, "iterations", note->iterations);
	record_u64(&record, "samples", note->samples);
	record_u64(&record, "operations", operations);
	record_u64(&record, "host_ns", passed->ns);
	put_returns(&record, passed);
	record_u64(&record, "interrupted", passed->interrupted);
	record_u64(&record, "nowhere", passed->nowhere);
	record_u64(&record, "page_faults", passed->faults);
	if (bell->begin.pages_known && passed->pages_known) {
		record_u64(&record, "pages_before", bell->begin.pages);
		record_u64(&record, "pages_after", passed->pages);
	}
	put_places(&record, bell->vm);
	record_u64(&record, "moves", passed->moves);
	put_stats(&record, &bell->vm->stats, passed);
	record_send(&record, bell->line);
}

static void bell_access(void *context, const struct access *access)
{
	struct bell *bell = context;
	struct snapshot snapshot;
	struct bell_note note;
	const void *at;

	if (!access->write)
		return;
	at = memory_at(&bell->vm->memory, access_value(access), sizeof(note));
	if (!at)
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
		snapshot_take(bell->vm, &snapshot, false);
		if (!note.iterations && !note.samples)
			learn_own(bell, &snapshot);
		else
			send(bell, &note, &snapshot);
	}
}

bool bell_add(struct bell *bell, struct vm *vm, struct record_line *line, uint16_t port,
	      struct error *error)
{
	const struct device row = { "doorbell", SPACE_PORT, port, 4, bell_access, bell };

	*bell = (struct bell){ .vm = vm, .line = line };
	return devices_add(&vm->devices, &row, error);
}
