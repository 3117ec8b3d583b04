/* The doorbell: a guest rings it before the first sample of a benchmark and after the last, and
 * what happened between the two is written as an `exits` record (docs/records.md). Runs on the vCPU
 * that rings, under the devices' lock. The note is the guest's: copied once, then checked. */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "vm.h"

/* The note that lies where a guest's write to the doorbell points (docs/guest.md). */
#define NOTE_MAGIC 0x31425357u /* "WSB1" */
enum { NOTE_BEGIN = 1, NOTE_END = 2 };

struct note {
	uint32_t magic, kind;
	uint64_t index, iterations, samples; /* the last two 0: nothing lies between the rings */
	char bench[64];
};

/* What is counted: KVM_RUN's returns by reason and KVM's statistics, then these. */
enum {
	COUNT_KVM = MAX_REASONS,
	COUNT_INTERRUPTED = COUNT_KVM + MAX_STATS,
	COUNT_NOWHERE,
	COUNT_FAULTS, /* page faults of this process */
	COUNT_NS,
	COUNTS
};

struct snapshot {
	uint64_t counts[COUNTS];
	uint64_t moves, pages; /* of the guest's memory; only where pages_known */
	bool pages_known;
};

struct bell {
	struct vm *vm;
	bool begun;	       /* the first ring of a pair came */
	struct snapshot begin; /* then */
	bool own_known;
	uint64_t own[COUNTS]; /* what a pair of rings costs by itself */
};

static void count(struct vm *vm, struct snapshot *to)
{
	struct rusage usage = { 0 };

	for (struct vcpu *vcpu = vm->vcpus; vcpu < vm->vcpus + vm->vcpu_count; vcpu++) {
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

/* KVM_RUN's returns that occur; others are "other". */
static const char *const reasons[MAX_REASONS] = { [KVM_EXIT_IO] = "io",
						  [KVM_EXIT_HLT] = "hlt",
						  [KVM_EXIT_MMIO] = "mmio",
						  [KVM_EXIT_INTR] = "intr",
						  [KVM_EXIT_SHUTDOWN] = "shutdown",
						  [KVM_EXIT_FAIL_ENTRY] = "fail_entry",
						  [KVM_EXIT_INTERNAL_ERROR] = "internal_error" };

/* An object of the counts that are not zero, as far as the line has room. */
static void put_counts(struct text *out, const char *key, const uint64_t *counts, unsigned how_many,
		       const struct stats *names)
{
	const char *separator = "", *name;

	text_printf(out, ",\"%s\":{", key);
	for (unsigned i = 0; i < how_many; i++) {
		if (!counts[i] || out->size - out->used < MAX_STAT_NAME + 32)
			continue;
		name = names ? names->names[i] : reasons[i];
		text_printf(out, "%s\"%s\":%lu", separator, name ? name : "other", counts[i]);
		separator = ",";
	}
	text_printf(out, "}");
}

static void send(struct bell *bell, const struct note *note, const struct snapshot *end)
{
	struct vm *vm = bell->vm;
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
	record_send(&record, &vm->console);
}

static void bell_access(void *context, struct access *access)
{
	struct bell *bell = context;
	struct snapshot end;
	struct note note;
	const void *at = memory_at(&bell->vm->memory, access->value, sizeof(note));

	if (!access->write || !at)
		return;
	memcpy(&note, at, sizeof(note));
	note.bench[sizeof(note.bench) - 1] = 0;
	if (note.magic == NOTE_MAGIC && note.kind == NOTE_BEGIN) {
		snapshot_take(bell->vm, &bell->begin, true);
		bell->begun = true;
	} else if (note.magic == NOTE_MAGIC && note.kind == NOTE_END && bell->begun) {
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

bool bell_add(struct vm *vm, uint64_t port)
{
	struct bell *bell = calloc(1, sizeof(*bell));

	if (!bell)
		return fail("no memory for the doorbell");
	bell->vm = vm;
	vm->doorbell = true;
	return devices_add(&vm->devices,
			   &(struct device){ "doorbell", ARCH_PORTS, port, 8, bell_access, bell });
}
