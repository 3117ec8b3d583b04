/* Counts what happens between two rings; see bell.h. Called by vm.c, under the VM's lock. The note is the
 * guest's: copied once, then checked. */
#include "bell.h"

#include "arch.h"
#include "config.h"
#include "vm.h"

#define ROOM_FOR_CAUSE 48

/* Of all vCPUs. Other CPUs count on; the row's own CPU is the one that rings. */
static void sum(const struct vm *vm, struct counts *to)
{
	*to = (struct counts){ { 0 } };
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		for (unsigned cause = 0; cause < MAX_COUNTS; cause++)
			to->by_cause[cause] += vm->vcpus[i].counts.by_cause[cause];
}

/* What is counted in `passed` becomes what was counted since `begin`. */
static void subtract(struct counts *passed, const struct counts *begin)
{
	for (unsigned i = 0; i < MAX_COUNTS; i++)
		passed->by_cause[i] -= passed->by_cause[i] < begin->by_cause[i]
					       ? passed->by_cause[i]
					       : begin->by_cause[i];
}

/* The least that a pair with nothing between costs is what rings themselves cost. */
static void learn_own(struct bell *bell, const struct counts *passed)
{
	for (unsigned i = 0; i < MAX_COUNTS; i++)
		if (!bell->own_known || passed->by_cause[i] < bell->own.by_cause[i])
			bell->own.by_cause[i] = passed->by_cause[i];
	bell->own_known = true;
}

static void send(struct vm *vm, const struct bell_note *note, const struct counts *counts,
		 uint64_t ticks)
{
	uint64_t operations;
	const char *separator = "";
	struct record record;
	struct text *out = &record.text;

	if (__builtin_mul_overflow(note->iterations, note->samples, &operations))
		operations = UINT64_MAX;
	record_start(&record, "exits");
	record_string(&record, "bench", note->bench);
	text_printf(out,
		    ",\"index\":%lu,\"iterations\":%lu,\"samples\":%lu,\"operations\":%lu,"
		    "\"host_ticks\":%lu,\"returns\":{",
		    note->index, note->iterations, note->samples, operations, ticks);
	for (unsigned i = 0; i < MAX_COUNTS; i++) {
		if (!counts->by_cause[i] || out->size - out->used < ROOM_FOR_CAUSE)
			continue;
		text_printf(out, "%s\"", separator);
		cause_name(i, out);
		text_printf(out, "\":%lu", counts->by_cause[i]);
		separator = ",";
	}
	text_printf(out, "}");
	record_send(&record, &vm->line);
}

bool outer_bell(const char *command_line, uint64_t *address)
{
	char value[20];

	return config_word(command_line, "doorbell", value, sizeof(value)) &&
	       parse_u64(value, text_length(value), address) && !(*address & 7);
}

static volatile uint64_t *outer;

void bell_use_outer(uint64_t address)
{
	outer = (uint64_t *)address;
}

/* Whoever runs us counts between the same two moments, but for our own work at them. Several VMs share it, so
 * the note is of the one that rings. */
static void ring_outer(struct vm *vm, const struct bell_note *note)
{
	if (!outer)
		return;
	vm->bell.passed_on = *note;
	*outer = (uint64_t)&vm->bell.passed_on;
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
		subtract(&passed, &bell->begin);
		if (!note.iterations && !note.samples) {
			learn_own(bell, &passed);
			return;
		}
		subtract(&passed, &bell->own);
		send(vm, &note, &passed, now - bell->begin_ticks);
	}
}
