/* A stream; see stream.h. */
#include "stream.h"

#include <stdlib.h>

#define FNV_OFFSET 14695981039346656037u
#define FNV_PRIME  1099511628211u

bool stream_start(struct stream *stream, struct trace *trace, uint32_t interval, int only_cpu)
{
	*stream = (struct stream){ .trace = trace,
				   .interval = interval,
				   .left = interval,
				   .hash = FNV_OFFSET,
				   .only_cpu = only_cpu };
	stream->kept = calloc((size_t)STREAM_KEPT * interval, sizeof(*stream->kept));
	stream->firsts = calloc(trace->limits.insns, sizeof(*stream->firsts));
	return stream->kept && stream->firsts;
}

static uint64_t mixed(uint64_t hash, uint64_t value)
{
	hash = (hash ^ value) * FNV_PRIME;
	return hash ^ hash >> 29;
}

void stream_skip(struct stream *stream, uint64_t all_ns)
{
	stream->skipped_ns += all_ns - stream->all_ns;
	stream->all_ns = all_ns;
	stream->has_halted = false;
}

static void keep_place(struct stream *stream)
{
	stream->has_output = true;
	stream->output = (struct place){ .left = stream->left,
					 .executed = stream->executed,
					 .hash = stream->hash };
}

bool stream_execute(struct stream *stream, unsigned cpu, const struct insn *insn)
{
	struct item *item = &stream->kept[stream->now];
	struct vm *vm = &stream->vms[cpu % MAX_CPUS];

	stream->has_halted |= insn->is_halt;
	if (stream->only_cpu >= 0 && (int)cpu != stream->only_cpu) {
		if (insn->is_output)
			keep_place(stream);
		return false;
	}
	vm_leave(vm, insn);
	*item = (struct item){ .skipped_ns = stream->skipped_ns,
			       .insn = insn->index,
			       .cpu = (uint8_t)cpu,
			       .level = (uint8_t)vm->level };
	vm_enter(vm, insn);
	stream->hash = mixed(stream->hash, insn->identity + cpu);
	if (stream->skipped_ns)
		stream->hash = mixed(stream->hash, stream->skipped_ns);
	stream->skipped_ns = 0;
	if (++stream->now == STREAM_KEPT * stream->interval)
		stream->now = 0;
	stream->executed++;
	if (!stream->firsts[insn->index])
		stream->firsts[insn->index] = FIRST(stream->executed, item->level);
	stream->left--;
	if (insn->is_output)
		keep_place(stream);
	return stream->left == 0;
}

void stream_return(struct stream *stream)
{
	const uint32_t room = STREAM_KEPT * stream->interval;
	const struct place *to = &stream->output;

	if (!stream->has_output)
		return;
	stream->lost = (uint32_t)(stream->executed - to->executed);
	stream->executed = to->executed;
	stream->now = (uint32_t)(stream->executed % room);
	stream->left = to->left;
	stream->hash = to->hash;
	for (uint32_t i = 0; i < stream->trace->insn_count; i++)
		if (stream->firsts[i] >= FIRST(to->executed + 1, 0))
			stream->firsts[i] = 0;
}

void stream_next(struct stream *stream)
{
	stream->left = stream->interval;
	stream->hash = FNV_OFFSET;
	/* The output may be the last instruction of the interval that is full. */
	stream->has_output = stream->has_output && stream->output.executed == stream->executed;
	if (stream->has_output)
		keep_place(stream);
}

uint64_t stream_kept(const struct stream *stream)
{
	uint64_t room = (uint64_t)STREAM_KEPT * stream->interval - stream->lost;

	return stream->executed < room ? stream->executed : room;
}

const struct item *stream_item(const struct stream *stream, uint64_t number)
{
	uint64_t room = (uint64_t)STREAM_KEPT * stream->interval;
	uint64_t oldest = stream->executed - stream_kept(stream);

	return &stream->kept[(oldest + number) % room];
}
