/* The trace's file; see file.h. */
#include "file.h"

#include <stdio.h>
#include <stdlib.h>

static void put_number(FILE *file, uint64_t value)
{
	while (value > 0x7f) {
		putc((int)(value & 0x7f) | 0x80, file);
		value >>= 7;
	}
	putc((int)value, file);
}

static void put_difference(FILE *file, int64_t difference)
{
	put_number(file, ((uint64_t)difference << 1) ^ (uint64_t)(difference >> 63));
}

static void put_u64(FILE *file, uint64_t value)
{
	for (unsigned shift = 0; shift < 64; shift += 8)
		putc((int)(value >> shift & 0xff), file);
}

/* Numbers the instructions that are in a path, in their order. Returns how many there are. */
static uint32_t number_used(const struct trace *trace, uint32_t *numbers)
{
	uint32_t used = 0;

	for (uint32_t i = 0; i < trace->instruction_count; i++)
		numbers[trace->instructions[i]] = 1;
	for (uint32_t i = 0; i < trace->insn_count; i++)
		if (numbers[i])
			numbers[i] = ++used;
	return used;
}

static void put_insn(FILE *file, const struct insn *insn)
{
	put_u64(file, insn->address);
	put_u64(file, insn->location);
	putc(insn->size, file);
	fwrite(insn->bytes, 1, insn->size, file);
}

static void put_insns(FILE *file, const struct trace *trace, uint32_t used, const uint32_t *numbers)
{
	put_number(file, used);
	for (uint32_t i = 0; i < trace->insn_count; i++)
		if (numbers[i])
			put_insn(file, trace->insns[i]);
}

static void put_cuts(FILE *file, const struct trace *trace, const struct path *path)
{
	put_number(file, path->cuts);
	for (uint32_t i = 0; i < path->cuts; i++) {
		put_number(file, trace->cuts[path->cuts_begin + i].at);
		put_number(file, trace->cuts[path->cuts_begin + i].rest);
	}
}

static void put_accesses(FILE *file, const struct trace *trace, const struct path *path)
{
	uint32_t before = 0;

	put_number(file, path->accesses);
	for (uint32_t i = 0; i < path->accesses; i++) {
		const struct access *access = &trace->accesses[path->accesses_begin + i];

		put_number(file, access->at - before);
		put_number(file, access->kind);
		put_number(file, access->which);
		before = access->at;
	}
}

static void put_paths(FILE *file, const struct trace *trace, const uint32_t *numbers)
{
	put_number(file, trace->path_count);
	for (uint32_t i = 0; i < trace->path_count; i++) {
		const struct path *path = &trace->paths[i];
		int64_t before = 0;

		put_number(file, path->length);
		for (uint32_t k = 0; k < path->length; k++) {
			int64_t now = numbers[trace->instructions[path->begin + k]];

			put_difference(file, now - before);
			before = now;
		}
		put_cuts(file, trace, path);
		put_accesses(file, trace, path);
	}
}

static void put_all(FILE *file, const struct trace *trace, const char *target, uint32_t *numbers)
{
	uint32_t used = number_used(trace, numbers);

	fprintf(file, "worldswitch-trace 3\n%s\n%s\n", target, trace->failed ? trace->failed : "");
	put_number(file, trace->dropped);
	put_number(file, trace->sees_accesses);
	put_insns(file, trace, used, numbers);
	put_paths(file, trace, numbers);
	put_number(file, trace->window_count);
	for (uint32_t i = 0; i < trace->window_count; i++)
		put_number(file, trace->windows[i]);
	fputs("end\n", file);
}

static void put_counted_insns(FILE *file, const struct counts *counts, uint32_t *numbers)
{
	const struct trace *trace = counts->trace;
	uint32_t used = 0;

	for (size_t i = 0; i < counts->row_count; i++)
		numbers[counts->rows[i].insn] = 1;
	for (uint32_t i = 0; i < trace->insn_count; i++)
		if (numbers[i])
			numbers[i] = ++used;
	put_number(file, used);
	for (uint32_t i = 0; i < trace->insn_count; i++)
		if (numbers[i])
			put_insn(file, trace->insns[i]);
}

static void put_counted_window(FILE *file, const struct counts *counts,
			       const struct counted_window *window, const uint32_t *numbers)
{
	uint32_t before = 0;

	put_number(file, window->count);
	for (size_t k = window->begin; k < window->begin + window->count; k++) {
		const struct counted *row = &counts->rows[k];

		put_number(file, numbers[row->insn] - before);
		before = numbers[row->insn];
		for (unsigned level = 0; level < LEVELS; level++)
			put_number(file, row->times[level]);
	}
	put_number(file, window->halted_ns);
	put_number(file, window->exit_count);
	for (size_t k = window->exits_begin; k < window->exits_begin + window->exit_count; k++) {
		const struct counted_exit *row = &counts->exits[k];

		put_number(file, row->level);
		put_number(file, row->reason);
		put_number(file, row->times);
	}
	put_number(file, window->way_count);
	for (size_t k = window->ways_begin; k < window->ways_begin + window->way_count; k++) {
		const struct counted_way *row = &counts->ways[k];

		put_number(file, row->from);
		put_number(file, row->to);
		put_number(file, row->times);
		put_number(file, row->ticks);
	}
}

static void put_counts(FILE *file, const struct counts *counts, const char *target,
		       uint32_t *numbers)
{
	const struct trace *trace = counts->trace;

	fprintf(file, "worldswitch-counts 2\n%s\n%s\n", target, trace->failed ? trace->failed : "");
	put_number(file, trace->dropped);
	put_number(file, counts->has_clock);
	put_counted_insns(file, counts, numbers);
	put_number(file, counts->window_count);
	for (uint32_t i = 0; i < counts->window_count; i++)
		put_counted_window(file, counts, &counts->windows[i], numbers);
	fputs("end\n", file);
}

static void put_executed(FILE *file, const struct stream *stream, uint32_t *numbers)
{
	const struct trace *trace = stream->trace;
	uint32_t used = 0;

	for (uint32_t i = 0; i < trace->insn_count; i++)
		if (stream->firsts[i])
			numbers[i] = ++used;
	put_number(file, used);
	for (uint32_t i = 0; i < trace->insn_count; i++) {
		if (!numbers[i])
			continue;
		put_insn(file, trace->insns[i]);
		put_number(file, stream->firsts[i]);
	}
}

static void put_stream(FILE *file, const struct stream *stream, const char *target,
		       uint32_t *numbers)
{
	const char *failed = stream->trace->failed;
	uint64_t kept = stream_kept(stream);
	int64_t before = 0;

	fprintf(file, "worldswitch-stream 1\n%s\n%s\n", target, failed ? failed : "");
	put_number(file, 0);
	put_number(file, stream->has_clock);
	put_number(file, stream->has_ended);
	put_number(file, stream->executed);
	put_executed(file, stream, numbers);
	put_number(file, kept);
	for (uint64_t i = 0; i < kept; i++) {
		const struct item *item = stream_item(stream, i);
		int64_t now = numbers[item->insn];

		put_difference(file, now - before);
		put_number(file, item->cpu * 2u + item->level);
		put_number(file, item->skipped_ns);
		before = now;
	}
	fputs("end\n", file);
}

/* A file that is written, and the numbers of instructions in it. */
struct output {
	FILE *file;
	uint32_t *numbers;
};

/* False: it can't be written. */
static bool begin(struct output *output, const struct trace *trace, const char *path)
{
	output->numbers = calloc(trace->insn_count + 1u, sizeof(*output->numbers));
	output->file = output->numbers ? fopen(path, "we") : NULL;
	return output->file != NULL;
}

/* False: it was not written. */
static bool end(struct output *output)
{
	bool failed = true;

	if (output->file) {
		failed = ferror(output->file);
		failed |= fclose(output->file) != 0;
	}
	free(output->numbers);
	return !failed;
}

bool file_write(const struct trace *trace, const char *target, const char *path)
{
	struct output output;

	if (begin(&output, trace, path))
		put_all(output.file, trace, target, output.numbers);
	return end(&output);
}

bool file_write_counts(const struct counts *counts, const char *target, const char *path)
{
	struct output output;

	if (begin(&output, counts->trace, path))
		put_counts(output.file, counts, target, output.numbers);
	return end(&output);
}

bool file_write_stream(const struct stream *stream, const char *target, const char *path)
{
	struct output output;

	if (begin(&output, stream->trace, path))
		put_stream(output.file, stream, target, output.numbers);
	return end(&output);
}
