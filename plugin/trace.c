/* Paths; see trace.h. */
#include "trace.h"

#include "arm.h"

#include <stdlib.h>
#include <string.h>

#define BUCKETS (1u << 18)

/* The no-operation around what the guest measures (guest/arch/.../timed_call.S). */
static const uint8_t mark_x86_64[] = { 0x66, 0x87, 0xdb };	  /* xchg %bx, %bx */
static const uint8_t mark_aarch64[] = { 0xfb, 0x03, 0x1b, 0xaa }; /* mov x27, x27 */
static const uint8_t mark_riscv64[] = { 0x93, 0x8f, 0x0f, 0x00 }; /* mv t6, t6 */
static const uint8_t rdtsc[] = { 0x0f, 0x31 };
static const uint8_t vmrun[] = { 0x0f, 0x01, 0xd8 };
static const uint8_t hlt[] = { 0xf4 };
static const uint8_t mwait[] = { 0x0f, 0x01, 0xc9 };
static const uint8_t wfi[] = { 0x7f, 0x20, 0x03, 0xd5 };
static const uint8_t wfe[] = { 0x5f, 0x20, 0x03, 0xd5 };
static const uint8_t wfi_riscv64[] = { 0x73, 0x00, 0x50, 0x10 };

#define IS(bytes, size, known) ((size) == sizeof(known) && memcmp(bytes, known, sizeof(known)) == 0)

static bool is_mark(const struct marks *marks, uint64_t address, const uint8_t *bytes, size_t size)
{
	if (marks->last)
		return address >= marks->first && address <= marks->last &&
		       (IS(bytes, size, rdtsc) || arm_is_clock_read(bytes, (unsigned)size));
	return IS(bytes, size, mark_x86_64) || IS(bytes, size, mark_aarch64) ||
	       IS(bytes, size, mark_riscv64);
}

static bool is_halt(const uint8_t *bytes, size_t size)
{
	return IS(bytes, size, hlt) || IS(bytes, size, mwait) || IS(bytes, size, wfi) ||
	       IS(bytes, size, wfe) || IS(bytes, size, wfi_riscv64);
}

/* OUT, by an immediate port or by DX, of a byte, or of more with or without the prefix of 16 bits. */
static bool is_port_output(const uint8_t *bytes, size_t size)
{
	if (size > 1 && bytes[0] == 0x66) {
		bytes++;
		size--;
	}
	return (size == 1 && (bytes[0] == 0xee || bytes[0] == 0xef)) ||
	       (size == 2 && (bytes[0] == 0xe6 || bytes[0] == 0xe7));
}

/* SW, C.SW. */
static bool is_word_store(const uint8_t *bytes, size_t size)
{
	if (size == 2)
		return (bytes[0] & 0x03) == 0x00 && bytes[1] >> 5 == 6;
	return size == 4 && (bytes[0] & 0x7f) == 0x23 && (bytes[1] & 0x70) == 0x20;
}

static bool is_output(enum outputs outputs, const uint8_t *bytes, size_t size)
{
	switch (outputs) {
	case OUTPUTS_PORTS:
		return is_port_output(bytes, size);
	case OUTPUTS_WORDS:
		return is_word_store(bytes, size);
	case OUTPUTS_NONE:
		break;
	}
	return false;
}

static uint64_t identity(uint64_t address, const uint8_t *bytes, size_t size)
{
	uint64_t hash = 14695981039346656037u ^ address;

	for (size_t i = 0; i < size; i++)
		hash = (hash ^ bytes[i]) * 1099511628211u;
	return hash ^ hash >> 32;
}

bool trace_start(struct trace *trace, const struct limits *limits)
{
	*trace = (struct trace){ .limits = *limits };
	trace->insns = malloc(limits->insns * sizeof(*trace->insns));
	trace->buckets = calloc(BUCKETS, sizeof(*trace->buckets));
	trace->now = malloc(limits->path * sizeof(*trace->now));
	trace->instructions = malloc(limits->instructions * sizeof(*trace->instructions));
	trace->paths = malloc(limits->windows * sizeof(*trace->paths));
	trace->path_buckets = calloc(BUCKETS, sizeof(*trace->path_buckets));
	trace->windows = malloc(limits->windows * sizeof(*trace->windows));
	trace->now_cuts = malloc(limits->cuts * sizeof(*trace->now_cuts));
	trace->cuts = malloc(16 * limits->cuts * sizeof(*trace->cuts));
	trace->now_accesses = malloc(limits->accesses * sizeof(*trace->now_accesses));
	trace->accesses = malloc(16 * limits->accesses * sizeof(*trace->accesses));
	return trace->now_cuts && trace->cuts && trace->now_accesses && trace->accesses &&
	       trace->insns && trace->buckets && trace->now && trace->instructions &&
	       trace->paths && trace->path_buckets && trace->windows;
}

static uint32_t bucket(uint64_t hash)
{
	return (uint32_t)((hash * 0x9e3779b97f4a7c15u) >> 32) % BUCKETS;
}

struct insn *trace_insn(struct trace *trace, uint64_t address, uint64_t location,
			const uint8_t *bytes, size_t size)
{
	struct insn **head = &trace->buckets[bucket(address)], *insn;

	if (size > MAX_INSN_BYTES)
		size = MAX_INSN_BYTES;
	for (insn = *head; insn; insn = insn->next)
		if (insn->address == address && insn->location == location && insn->size == size &&
		    memcmp(insn->bytes, bytes, size) == 0)
			return insn;
	insn = trace->insn_count < trace->limits.insns ? calloc(1, sizeof(*insn)) : NULL;
	if (!insn) {
		trace->failed = "there were more different instructions than it keeps";
		return NULL;
	}
	insn->address = address;
	insn->location = location;
	insn->size = (uint8_t)size;
	memcpy(insn->bytes, bytes, size);
	insn->is_mark = is_mark(&trace->marks, address, bytes, size);
	insn->is_vmrun = IS(bytes, size, vmrun);
	insn->is_eret = arm_is_eret(bytes, (unsigned)size);
	insn->is_halt = is_halt(bytes, size);
	insn->is_output = is_output(trace->outputs, bytes, size);
	insn->identity = identity(address, bytes, size);
	insn->index = trace->insn_count;
	insn->next = *head;
	*head = insn;
	trace->insns[trace->insn_count++] = insn;
	return insn;
}

struct step *trace_step(struct trace *trace, struct insn *insn, uint32_t rest)
{
	struct step *step;

	for (step = insn->steps; step; step = step->next)
		if (step->rest == rest)
			return step;
	step = malloc(sizeof(*step));
	if (!step) {
		trace->failed = "there was no memory for more instructions";
		return NULL;
	}
	*step = (struct step){ .insn = insn, .rest = rest, .next = insn->steps };
	insn->steps = step;
	return step;
}

static uint64_t hash_of(const uint32_t *path, uint32_t length)
{
	uint64_t hash = 14695981039346656037u;

	for (uint32_t i = 0; i < length; i++)
		hash = (hash ^ path[i]) * 1099511628211u;
	return hash;
}

/* Is it what was just executed, cuts and accesses included? */
static bool is_now(const struct trace *trace, const struct path *path)
{
	return path->cuts == trace->now_cut_count && path->accesses == trace->now_access_count &&
	       memcmp(trace->instructions + path->begin, trace->now,
		      path->length * sizeof(*trace->now)) == 0 &&
	       memcmp(trace->cuts + path->cuts_begin, trace->now_cuts,
		      path->cuts * sizeof(*trace->now_cuts)) == 0 &&
	       memcmp(trace->accesses + path->accesses_begin, trace->now_accesses,
		      path->accesses * sizeof(*trace->now_accesses)) == 0;
}

/* The index of the path that was just executed; UINT32_MAX: no room. */
static uint32_t keep_path(struct trace *trace)
{
	uint64_t hash = hash_of(trace->now, trace->now_length);
	uint32_t *head = &trace->path_buckets[bucket(hash)], length = trace->now_length;
	struct path *path;

	for (uint32_t i = *head; i; i = trace->paths[i - 1].next) {
		path = &trace->paths[i - 1];
		if (path->hash == hash && path->length == length && is_now(trace, path))
			return i - 1;
	}
	if (trace->limits.instructions - trace->instruction_count < length ||
	    16 * trace->limits.cuts - trace->cut_count < trace->now_cut_count ||
	    16 * trace->limits.accesses - trace->access_count < trace->now_access_count) {
		trace->failed = "the different paths together are longer than it keeps";
		return UINT32_MAX;
	}
	path = &trace->paths[trace->path_count];
	*path = (struct path){ .hash = hash,
			       .begin = trace->instruction_count,
			       .length = length,
			       .cuts_begin = trace->cut_count,
			       .cuts = trace->now_cut_count,
			       .accesses_begin = trace->access_count,
			       .accesses = trace->now_access_count,
			       .next = *head };
	memcpy(trace->instructions + path->begin, trace->now, length * sizeof(*trace->now));
	memcpy(trace->cuts + path->cuts_begin, trace->now_cuts,
	       path->cuts * sizeof(*trace->now_cuts));
	memcpy(trace->accesses + path->accesses_begin, trace->now_accesses,
	       path->accesses * sizeof(*trace->now_accesses));
	trace->instruction_count += length;
	trace->cut_count += path->cuts;
	trace->access_count += path->accesses;
	*head = ++trace->path_count;
	return *head - 1;
}

static void close_window(struct trace *trace)
{
	uint32_t path;

	trace->is_open = false;
	if (trace->window_count == trace->limits.windows) {
		trace->failed = "there were more windows than it keeps";
		return;
	}
	path = keep_path(trace);
	if (path != UINT32_MAX)
		trace->windows[trace->window_count++] = path;
}

/* Notes that the block of the last instruction was left before its end. */
static void note_cut(struct trace *trace, const struct step *step)
{
	const struct step *last = trace->last;
	bool goes_on = !last || last->rest == 0 ||
		       (step->rest == last->rest - 1 &&
			step->insn->address == last->insn->address + last->insn->size);

	if (goes_on)
		return;
	if (trace->now_cut_count == trace->limits.cuts) {
		trace->failed = "more blocks were left in their middle than it keeps";
		return;
	}
	trace->now_cuts[trace->now_cut_count++] =
		(struct cut){ .at = trace->now_length - 1, .rest = last->rest };
}

static void append(struct trace *trace, const struct step *step)
{
	if (trace->now_length == trace->limits.path) {
		trace->failed = "a path was longer than it keeps";
		return;
	}
	note_cut(trace, step);
	trace->now[trace->now_length++] = step->insn->index;
	trace->last = step;
}

static void execute_mark(struct trace *trace, const struct step *step)
{
	const struct insn *insn = step->insn;

	if (!trace->opener)
		trace->opener = insn;
	if (insn->address == trace->opener->address) {
		trace->dropped += trace->is_open;
		trace->is_open = true;
		trace->now_length = trace->now_cut_count = trace->now_access_count = 0;
		trace->last = NULL;
		append(trace, step);
	} else if (trace->is_open) {
		append(trace, step);
		close_window(trace);
	}
}

void trace_execute(struct trace *trace, const struct step *step)
{
	vm_leave(&trace->vm, step->insn);
	if (step->insn->is_mark)
		execute_mark(trace, step);
	else if (trace->is_open)
		append(trace, step);
}

/* Notes an access of the last instruction. */
static void note_access(struct trace *trace, enum access_kind kind, uint32_t which)
{
	if (!trace->is_open || trace->now_length == 0)
		return;
	if (trace->now_access_count == trace->limits.accesses) {
		trace->failed = "a path had more accesses to registers than it keeps";
		return;
	}
	trace->now_accesses[trace->now_access_count++] =
		(struct access){ .at = trace->now_length - 1, .kind = kind, .which = which };
}

void trace_operand(struct trace *trace, const struct insn *insn, uint64_t value)
{
	if (!insn->is_vmrun) {
		note_access(trace, ACCESS_NUMBER, (uint32_t)value);
		return;
	}
	if (trace->vm.level == 0 && !vm_run(&trace->vm, value))
		trace->failed = "there were more VMCBs than it keeps";
	vm_enter(&trace->vm, insn);
}

void trace_access(struct trace *trace, uint64_t physical, bool is_write)
{
	int field = vm_field(&trace->vm, physical);

	if (field >= 0)
		note_access(trace, is_write ? ACCESS_WRITE : ACCESS_READ, (uint32_t)field);
}
