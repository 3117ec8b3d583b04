/* The doorbell: a guest rings it before the first sample of a benchmark and after the last; the counts in
 * between become an `exits` record (docs/records.md). Runs on the ringing vCPU, under the devices' lock.
 * The note is guest memory: copied once, then checked. */
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common/exits.h"
#include "common/physical.h"
#include "common/reasons.h"
#include "common/ring.h"
#include "vmm/vmm_arch.h"

/* The counters: KVM_RUN's returns by reason, KVM's statistics, then these. */
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
	uint64_t moves, pages; /* pages: of the guest's memory, if pages_known */
	bool pages_known;
};

struct bell {
	struct vm *vm;
	/* To the monitor below. Aligned to more than its size, so that it lies within a page. */
	_Alignas(128) struct bell_note passed_on;
	bool begun;	       /* the first ring of a pair was seen */
	struct snapshot begin; /* taken at that ring */
	bool own_known;
	uint64_t own[COUNTS]; /* the cost of a pair of rings itself */
	bool reasons_begun;   /* exits are counted by reason */
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

/* The clock is read closest to the benchmark; the pages, which take longest, are counted farthest from it. */
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

/* Names of the exit reasons that occur; the rest are "other". */
static const char *const reasons[MAX_REASONS] = { [KVM_EXIT_IO] = "io",
						  [KVM_EXIT_HLT] = "hlt",
						  [KVM_EXIT_MMIO] = "mmio",
						  [KVM_EXIT_INTR] = "intr",
						  [KVM_EXIT_SHUTDOWN] = "shutdown",
						  [KVM_EXIT_FAIL_ENTRY] = "fail_entry",
#ifdef __riscv
						  [KVM_EXIT_RISCV_SBI] = "sbi",
#endif
						  [KVM_EXIT_INTERNAL_ERROR] = "internal_error" };

static void name_of(const void *stats, unsigned counter, struct text *out)
{
	const char *name = stats ? ((const struct stats *)stats)->names[counter] : reasons[counter];

	text_printf(out, "%s", name ? name : "other");
}

static void send(struct bell *bell, const struct bell_note *note, const struct snapshot *end)
{
	struct vm *vm = bell->vm;
	const uint64_t *counts = end->counts;
	struct record record;
	struct text *out = &record.text;

	exits_start(&record, note);
	text_printf(out, ",\"host_ns\":%lu,\"interrupted\":%lu,\"nowhere\":%lu,\"page_faults\":%lu",
		    counts[COUNT_NS], counts[COUNT_INTERRUPTED], counts[COUNT_NOWHERE],
		    counts[COUNT_FAULTS]);
	if (bell->begin.pages_known && end->pages_known)
		text_printf(out, ",\"pages_before\":%lu,\"pages_after\":%lu", bell->begin.pages,
			    end->pages);
	text_printf(out, ",\"moves\":%lu,\"host_cpus\":", end->moves - bell->begin.moves);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		text_printf(out, "%c%d", i ? ',' : '[', vm->vcpus[i].host_cpu);
	text_printf(out, "]");
	exits_counts(&record, "returns", counts, MAX_REASONS, name_of, NULL);
	if (vm->stats.count)
		exits_counts(&record, "kvm", counts + COUNT_KVM, vm->stats.count, name_of,
			     &vm->stats);
	record_send(&record, &vm->console);
}

/* Passes a ring on to the monitor below: last at the begin and first at the end, so that it does not count
 * our own work at the rings. */
static void pass_on(struct bell *bell, const struct bell_note *note)
{
	const char *failed;
	uint64_t at;

	if (!bell->vm->config->below)
		return;
	bell->passed_on = *note;
	if (!physical_address(&bell->passed_on, &at)) {
		vm_end(bell->vm, END_ERROR, "below=: a ring can't be passed on: vmm must be root");
		return;
	}
	failed = ring_below(bell->vm->config->below, at);
	if (failed)
		vm_end(bell->vm, END_ERROR, "below=: can't %s: %m", failed);
}

/* Exits by reason, of a run of its own. */
static void reasons_send(struct bell *bell, const struct bell_note *note)
{
	uint64_t counts[REASONS_MAX];
	struct reasons found;
	struct record record;

	reasons_read(&found);
	reasons_end();
	for (unsigned i = 0; i < found.count; i++)
		counts[i] = found.rows[i].count;
	exits_start(&record, note);
	exits_counts(&record, "reasons", counts, found.count, reasons_name_row, &found);
	record_send(&record, &bell->vm->console);
}

static void reasons_access(struct bell *bell, const struct bell_note *note)
{
	if (bell->reasons_begun && note->kind == BELL_END_REASONS)
		reasons_send(bell, note);
	tracefs_mount();
	bell->reasons_begun = note->kind == BELL_BEGIN_REASONS && reasons_begin();
}

/* A guest may change the text meanwhile: each byte is read once. */
static void text_access(struct vm *vm, const struct bell_note *note, struct bell_note *to)
{
	const uint8_t *text = memory_at(&vm->memory, note->index, note->samples);
	uint32_t taken = BELL_TAKEN;

	if (!note->samples || note->samples > MAX_RECORD_BYTES || !text)
		return;
	for (uint64_t i = 0; i < note->samples; i++)
		vm_console(vm, text[i]);
	/* The guest chose the note's address: it may not be aligned. */
	memcpy((uint8_t *)to + offsetof(struct bell_note, kind), &taken, sizeof(taken));
}

static void bell_access(void *context, struct access *access)
{
	struct bell *bell = context;
	struct snapshot end;
	struct bell_note note;
	void *at = memory_at(&bell->vm->memory, access->value, sizeof(note));

	if (!access->write || !at)
		return;
	memcpy(&note, at, sizeof(note));
	if (note.magic != BELL_MAGIC)
		return;
	note.bench[sizeof(note.bench) - 1] = 0;
	if (note.kind == BELL_BEGIN) {
		snapshot_take(bell->vm, &bell->begin, true);
		bell->begun = true;
		pass_on(bell, &note);
	} else if (note.kind == BELL_END && bell->begun) {
		bell->begun = false;
		pass_on(bell, &note);
		snapshot_take(bell->vm, &end, false);
		exits_subtract(end.counts, bell->begin.counts, COUNTS);
		if (!note.iterations && !note.samples) {
			exits_learn(bell->own, end.counts, COUNTS, &bell->own_known);
			return;
		}
		exits_subtract(end.counts, bell->own, COUNTS);
		send(bell, &note, &end);
	} else if (note.kind == BELL_BEGIN_REASONS || note.kind == BELL_END_REASONS) {
		reasons_access(bell, &note);
	} else if (note.kind == BELL_TEXT) {
		text_access(bell->vm, &note, at);
	} else {
		launch_access(bell->vm, &note, at);
	}
}

bool bell_add(struct vm *vm, uint64_t port)
{
	struct bell *bell = aligned_alloc(_Alignof(struct bell), sizeof(*bell));

	if (!bell)
		return fail("no memory for the doorbell");
	*bell = (struct bell){ .vm = vm };
	vm->doorbell = true;
	return devices_add(&vm->devices,
			   &(struct device){ "doorbell", ARCH_PORTS, port, 8, bell_access, bell });
}
