/* Unit tests of the plugin's pure parts (on the host, make -C plugin test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "counts.h"
#include "file.h"
#include "trace.h"

static struct trace trace;
static struct counts counts;

static void start(struct limits limits)
{
	assert_true(trace_start(&trace, &limits));
}

static void start_large(void)
{
	start((struct limits){
		.insns = 100, .path = 100, .instructions = 1000, .windows = 100, .cuts = 9 });
}

static int stop(void **state)
{
	(void)state;
	for (uint32_t i = 0; i < trace.insn_count; i++) {
		for (struct step *step = trace.insns[i]->steps, *next; step; step = next) {
			next = step->next;
			free(step);
		}
		free(trace.insns[i]);
	}
	free(trace.insns);
	free(trace.buckets);
	free(trace.now);
	free(trace.instructions);
	free(trace.paths);
	free(trace.path_buckets);
	free(trace.windows);
	free(trace.now_cuts);
	free(trace.cuts);
	free(counts.now);
	free(counts.rows);
	free(counts.windows);
	counts = (struct counts){ 0 };
	return 0;
}

static struct insn *plain_insn(uint64_t address)
{
	return trace_insn(&trace, address, address + 0x1000, (const uint8_t *)"\x90", 1);
}

static struct insn *mark_insn(uint64_t address)
{
	return trace_insn(&trace, address, address, (const uint8_t *)"\x66\x87\xdb", 3);
}

/* At the end of a block. */
static struct step *plain(uint64_t address)
{
	return trace_step(&trace, plain_insn(address), 0);
}

static struct step *mark(uint64_t address)
{
	return trace_step(&trace, mark_insn(address), 0);
}

static void run(const struct step *const *steps, unsigned count)
{
	for (unsigned i = 0; i < count; i++)
		trace_execute(&trace, steps[i]);
}

#define RUN(...)                                         \
	run((const struct step *const[]){ __VA_ARGS__ }, \
	    sizeof((const struct step *const[]){ __VA_ARGS__ }) / sizeof(struct step *))

static void an_instruction_is_its_place_and_its_bytes(void **state)
{
	(void)state;
	start_large();
	struct insn *one = plain_insn(0x10);

	assert_ptr_equal(plain_insn(0x10), one);
	assert_ptr_not_equal(plain_insn(0x11), one);
	assert_ptr_not_equal(trace_insn(&trace, 0x10, 0x10, one->bytes, 1), one);
	assert_ptr_not_equal(trace_insn(&trace, 0x10, 0x1010, (const uint8_t *)"\xcc", 1), one);
	assert_int_equal(trace.insn_count, 4);
}

static void both_architectures_have_a_mark(void **state)
{
	(void)state;
	start_large();
	assert_true(mark_insn(1)->is_mark);
	assert_true(trace_insn(&trace, 2, 2, (const uint8_t *)"\xfb\x03\x1b\xaa", 4)->is_mark);
	assert_false(plain_insn(3)->is_mark);
}

static void equal_windows_share_a_path(void **state)
{
	(void)state;
	start_large();
	struct step *begin = mark(1), *end = mark(9), *a = plain(2), *b = plain(3);

	RUN(a, begin, a, b, end, b, begin, b, end, begin, a, b, end);
	assert_int_equal(trace.path_count, 2);
	assert_int_equal(trace.window_count, 3);
	assert_int_equal(trace.windows[0], trace.windows[2]);
	assert_int_equal(trace.paths[trace.windows[0]].length, 4);
	assert_int_equal(trace.paths[trace.windows[1]].length, 3);
	assert_null(trace.failed);
}

static void a_window_that_is_begun_anew_is_dropped(void **state)
{
	(void)state;
	start_large();
	struct step *begin = mark(1), *end = mark(9), *a = plain(2);

	RUN(begin, a, begin, end, end);
	assert_int_equal(trace.dropped, 1);
	assert_int_equal(trace.window_count, 1);
	assert_int_equal(trace.paths[0].length, 2);
}

/* A block of three: begin, a, b; it is left behind a once, and run whole once. */
static void a_block_that_is_left_early_is_a_cut(void **state)
{
	(void)state;
	start_large();
	struct step *begin = trace_step(&trace, mark_insn(1), 2);
	struct step *a = trace_step(&trace, plain_insn(4), 1);
	struct step *b = trace_step(&trace, plain_insn(5), 0), *far = plain(0x80), *end = mark(9);

	RUN(begin, a, far, end, begin, a, b, end);
	assert_int_equal(trace.path_count, 2);
	assert_int_equal(trace.paths[0].cuts, 1);
	assert_int_equal(trace.paths[1].cuts, 0);
	assert_int_equal(trace.cuts[0].at, 1);
	assert_int_equal(trace.cuts[0].rest, 1);
	/* The same instructions with another cut are another path. */
	RUN(begin, trace_step(&trace, plain_insn(4), 0), far, end);
	assert_int_equal(trace.path_count, 3);
}

static void what_does_not_fit_is_told(void **state)
{
	(void)state;
	start((struct limits){
		.insns = 3, .path = 100, .instructions = 1000, .windows = 100, .cuts = 9 });
	assert_non_null(plain_insn(1));
	assert_non_null(plain_insn(2));
	assert_non_null(plain_insn(3));
	assert_null(plain_insn(4));
	assert_non_null(strstr(trace.failed, "instructions"));
	stop(NULL);

	start((struct limits){
		.insns = 9, .path = 2, .instructions = 1000, .windows = 100, .cuts = 9 });
	RUN(mark(1), plain(2), mark(3));
	assert_non_null(strstr(trace.failed, "path"));
	stop(NULL);

	start((struct limits){
		.insns = 9, .path = 9, .instructions = 5, .windows = 100, .cuts = 9 });
	RUN(mark(1), plain(2), mark(3), mark(1), plain(4), mark(3));
	assert_non_null(strstr(trace.failed, "together"));
	assert_int_equal(trace.window_count, 1);
	stop(NULL);

	start((struct limits){
		.insns = 9, .path = 9, .instructions = 50, .windows = 1, .cuts = 9 });
	RUN(mark(1), mark(3), mark(1), mark(3));
	assert_non_null(strstr(trace.failed, "windows"));
}

/* Only what is in a path is written. */
static void the_file_is_as_its_header_says(void **state)
{
	static const char wanted[] = "worldswitch-trace 2\nx86_64\n\n"
				     "\x01\x02"
				     "\x05\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x09\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x01\x02\x02\x02\0\x01\0end\n";
	char name[] = "/tmp/worldswitch-plugin-XXXXXX", got[sizeof(wanted)];
	int fd = mkstemp(name);
	FILE *file;

	(void)state;
	start_large();
	RUN(plain(2), mark(5), mark(5), mark(9));
	assert_true(fd >= 0);
	assert_true(file_write(&trace, "x86_64", name));
	file = fdopen(fd, "r");
	assert_int_equal(fread(got, 1, sizeof(got), file), sizeof(wanted) - 1);
	assert_memory_equal(got, wanted, sizeof(wanted) - 1);
	fclose(file);
	unlink(name);
	assert_false(file_write(&trace, "x86_64", "/there/is/no/such/folder"));
	assert_false(file_write(&trace, "x86_64", "/dev/full"));
}

static void count(const struct insn *const *insns, unsigned number)
{
	for (unsigned i = 0; i < number; i++)
		counts_execute(&counts, insns[i]);
}

#define COUNT(...)                                         \
	count((const struct insn *const[]){ __VA_ARGS__ }, \
	      sizeof((const struct insn *const[]){ __VA_ARGS__ }) / sizeof(struct insn *))

/* How often the instruction was executed in a window at a level. */
static uint64_t times(uint32_t window, const struct insn *insn, unsigned level)
{
	for (size_t i = 0; i < counts.windows[window].count; i++) {
		const struct counted *row = &counts.rows[counts.windows[window].begin + i];

		if (row->insn == insn->index)
			return row->times[level];
	}
	return 0;
}

static void each_window_is_counted_by_itself(void **state)
{
	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *begin = mark_insn(1), *end = mark_insn(9), *a = plain_insn(2),
		    *b = plain_insn(3);

	COUNT(a, begin, a, b, a, end, b, end, begin, a, begin, b, end, a);
	assert_int_equal(counts.window_count, 2);
	assert_int_equal(times(0, a, 0), 2);
	assert_int_equal(times(0, b, 0), 1);
	assert_int_equal(times(0, begin, 0), 1);
	assert_int_equal(times(0, end, 0), 1);
	assert_int_equal(times(1, a, 0), 0);
	assert_int_equal(times(1, b, 0), 1);
	assert_int_equal(trace.dropped, 1);
	assert_null(trace.failed);
}

/* What is at the address behind VMRUN in the VM, at another location, is still the VM's. */
static void vmrun_and_what_is_behind_it_change_levels(void **state)
{
	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *vmrun = trace_insn(&trace, 0x20, 0x120, (const uint8_t *)"\x0f\x01\xd8", 3);
	struct insn *own = trace_insn(&trace, 0x20, 0x320, (const uint8_t *)"\x0f\x01\xd8", 3);
	struct insn *landing = trace_insn(&trace, 0x23, 0x123, (const uint8_t *)"\x90", 1);
	struct insn *other = trace_insn(&trace, 0x23, 0x323, (const uint8_t *)"\x90", 1);
	struct insn *a = plain_insn(2), *begin = mark_insn(1), *end = mark_insn(9);

	COUNT(vmrun, a, begin, a, other, own, other, landing, a, vmrun, a, end);
	assert_int_equal(times(0, a, 0), 1);
	assert_int_equal(times(0, a, 1), 2);
	assert_int_equal(times(0, begin, 1), 1);
	assert_int_equal(times(0, end, 1), 1);
	assert_int_equal(times(0, other, 1), 2);
	assert_int_equal(times(0, own, 1), 1);
	assert_int_equal(times(0, landing, 0), 1);
	assert_int_equal(times(0, vmrun, 0), 1);
}

static void the_file_of_counts_is_as_its_header_says(void **state)
{
	static const char wanted[] = "worldswitch-counts 1\nx86_64\nit is small\n"
				     "\0\x03"
				     "\x05\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0"
				     "\x03\0\0\0\0\0\0\0\x03\x10\0\0\0\0\0\0"
				     "\x09\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0"
				     "\x02"
				     "\x03\x01\x01\0\x01\x82\x01\0\x01\x01\0"
				     "\x02\x01\x01\0\x02\x01\0end\n";
	char name[] = "/tmp/worldswitch-plugin-XXXXXX", got[sizeof(wanted)];
	int fd = mkstemp(name);
	FILE *file;

	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *other = plain_insn(2), *begin = mark_insn(5), *a = plain_insn(3),
		    *end = mark_insn(9);

	COUNT(other, begin, a);
	for (unsigned i = 1; i < 130; i++)
		counts_execute(&counts, a);
	COUNT(end, begin, end);
	trace.failed = "it is small";
	assert_true(fd >= 0);
	assert_true(file_write_counts(&counts, "x86_64", name));
	file = fdopen(fd, "r");
	assert_int_equal(fread(got, 1, sizeof(got), file), sizeof(wanted) - 1);
	assert_memory_equal(got, wanted, sizeof(wanted) - 1);
	fclose(file);
	unlink(name);
	assert_false(file_write_counts(&counts, "x86_64", "/dev/full"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_instruction_is_its_place_and_its_bytes, stop),
		cmocka_unit_test_teardown(both_architectures_have_a_mark, stop),
		cmocka_unit_test_teardown(equal_windows_share_a_path, stop),
		cmocka_unit_test_teardown(a_window_that_is_begun_anew_is_dropped, stop),
		cmocka_unit_test_teardown(a_block_that_is_left_early_is_a_cut, stop),
		cmocka_unit_test_teardown(what_does_not_fit_is_told, stop),
		cmocka_unit_test_teardown(the_file_is_as_its_header_says, stop),
		cmocka_unit_test_teardown(each_window_is_counted_by_itself, stop),
		cmocka_unit_test_teardown(vmrun_and_what_is_behind_it_change_levels, stop),
		cmocka_unit_test_teardown(the_file_of_counts_is_as_its_header_says, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
