/* Counts what happens between two rings; see bell.h. Called by vm.c, under the VM's lock. The note is the
 * guest's: copied once, then checked. */
#include "bell.h"

#include "arch.h"
#include "exits.h"
#include "vm.h"

/* Of all vCPUs. Other CPUs count on; the row's own CPU is the one that rings. */
static void sum(const struct vm *vm, struct counts *to)
{
	*to = (struct counts){ { 0 } };
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		for (unsigned cause = 0; cause < MAX_CAUSES; cause++)
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
	exits_counts(&record, "returns", counts->by_cause, MAX_CAUSES, name_of, NULL);
	record_send(&record, &vm->line);
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
	} else if (note.kind == BELL_END && bell->begun) {
		bell->begun = false;
		sum(vm, &passed);
		exits_subtract(passed.by_cause, bell->begin.by_cause, MAX_CAUSES);
		if (!note.iterations && !note.samples) {
			exits_learn(bell->own.by_cause, passed.by_cause, MAX_CAUSES,
				    &bell->own_known);
			return;
		}
		exits_subtract(passed.by_cause, bell->own.by_cause, MAX_CAUSES);
		send(vm, &note, &passed, now - bell->begin_ticks);
	}
}
