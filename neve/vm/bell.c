/* Counts exits between two rings of the doorbell; see bell.h. The caller holds the VM's lock. The note is
 * in guest memory: it is copied once, then checked. */
#include "vm/bell.h"

#include <stddef.h>

#include "common/device_io.h"
#include "common/exits.h"
#include "common/word.h"
#include "core/arch.h"
#include "vm/vm.h"

/* Sums all vCPUs. Other CPUs keep counting meanwhile; the CPU that runs the benchmark is the one that
 * rings. */
static void sum(const struct vm *vm, struct counts *to)
{
	*to = (struct counts){ { 0 } };
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		for (unsigned cause = 0; cause < MAX_COUNTS; cause++)
			to->by_cause[cause] += vm->vcpus[i].counts.by_cause[cause];
}

static void name_of(const void *unused, unsigned cause, struct text *out)
{
	(void)unused;
	cause_name(cause, out);
}

static void send(struct vm *vm, const struct bell_note *note, const struct counts *counts,
		 uint64_t ticks)
{
	struct record record;

	exits_start(&record, note);
	text_printf(&record.text, ",\"host_ticks\":%lu", ticks);
	exits_counts(&record, "returns", counts->by_cause, MAX_COUNTS, name_of, NULL);
	record_send(&record, &vm->line);
}

static uint64_t outer; /* 0: none */

void bell_use_outer(uint64_t address)
{
	outer = address;
}

/* Rings the doorbell of the hypervisor below: last at the begin and first at the end, so that it does not
 * count our own work at the rings. Our VMs share that doorbell, so each passes on a note of its own. */
static void ring_outer(struct vm *vm, const struct bell_note *note)
{
	if (!outer)
		return;
	vm->bell.passed_on = *note;
	ring_doorbell(outer, &vm->bell.passed_on);
}

/* The guest may change its text meanwhile: it is copied first. */
static void take_text(struct vm *vm, const struct bell_note *note, uint64_t at)
{
	uint32_t taken = BELL_TAKEN;
	char *text = vm->bell.text;

	if (!note->samples || note->samples > sizeof(vm->bell.text) ||
	    !vm_read(vm, text, note->index, note->samples))
		return;
	console_guest_text(&vm->console, text, note->samples);
	vm_write(vm, at + offsetof(struct bell_note, kind), &taken, sizeof(taken));
}

void bell_ring(struct vcpu *vcpu, uint64_t at)
{
	uint64_t now = arch_ticks();
	struct vm *vm = vcpu->vm;
	struct bell *bell = &vm->bell;
	struct bell_note note;
	struct counts passed;

	if (!vm_read(vm, &note, at, sizeof(note)) || note.magic != BELL_MAGIC)
		return;
	note.bench[sizeof(note.bench) - 1] = 0;
	if (note.kind == BELL_BEGIN) {
		sum(vm, &bell->begin);
		bell->begun = true;
		bell->begin_ticks = arch_ticks();
		ring_outer(vm, &note);
	} else if (note.kind == BELL_END && bell->begun) {
		bell->begun = false;
		ring_outer(vm, &note);
		sum(vm, &passed);
		exits_subtract(passed.by_cause, bell->begin.by_cause, MAX_COUNTS);
		if (!note.iterations && !note.samples) {
			exits_learn(bell->own.by_cause, passed.by_cause, MAX_COUNTS,
				    &bell->own_known);
			return;
		}
		exits_subtract(passed.by_cause, bell->own.by_cause, MAX_COUNTS);
		send(vm, &note, &passed, now - bell->begin_ticks);
	} else if (note.kind == BELL_TEXT) {
		take_text(vm, &note, at);
	} else if (note.kind == BELL_LAUNCH) {
		vm_launch(vm, note.index, note.bench);
	}
}
