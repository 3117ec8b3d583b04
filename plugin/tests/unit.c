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
	start((struct limits){ .insns = 100,
			       .path = 100,
			       .instructions = 1000,
			       .windows = 100,
			       .cuts = 9,
			       .accesses = 3 });
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
	free(trace.now_accesses);
	free(trace.accesses);
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

static struct step *code(uint64_t address, const char *bytes, size_t size)
{
	return trace_step(&trace,
			  trace_insn(&trace, address, address, (const uint8_t *)bytes, size), 0);
}

static void registers_that_bytes_do_not_name_are_asked_for(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		enum operand operand;
	} known[] = {
		{ "\x0f\x01\xd8", 3, OPERAND_RAX },  { "\x0f\x32", 2, OPERAND_RCX },
		{ "\x0f\x30", 2, OPERAND_RCX },	     { "\x3e\x0f\x30", 3, OPERAND_RCX },
		{ "\x0f\x01\xd0", 3, OPERAND_RCX },  { "\x0f\x01\xd1", 3, OPERAND_RCX },
		{ "\x0f\x31", 2, OPERAND_NONE },     { "\x0f\x01\xda", 3, OPERAND_NONE },
		{ "\x0f\x32\x90", 3, OPERAND_NONE },
	};

	(void)state;
	start_large();
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++)
		assert_int_equal(vm_operand(code(i, known[i].bytes, known[i].size)->insn),
				 known[i].operand);
	assert_true(vm_is_switch(code(1, "\x0f\x01\xd8", 3)->insn));
	assert_true(vm_is_switch(code(1, "\x0f\x01\xda", 3)->insn));
	assert_true(vm_is_switch(code(1, "\x0f\x01\xdb", 3)->insn));
	assert_false(vm_is_switch(code(1, "\x0f\x01\xdc", 3)->insn));
}

/* Of the VMCB at 0x5000, in windows, by level 0; nothing else. */
static void accesses_to_vmcbs_are_of_level_0_in_windows(void **state)
{
	(void)state;
	start_large();
	struct step *vmrun = code(0x20, "\x0f\x01\xd8", 3), *landing = code(0x23, "\x90", 1);
	struct step *own = code(0x60, "\x0f\x01\xd8", 3), *begin = mark(1), *end = mark(9);

	RUN(vmrun);
	trace_operand(&trace, vmrun->insn, 0x5000);
	RUN(own);
	trace_operand(&trace, own->insn, 0x9000);
	trace_access(&trace, 0x5070, false);
	RUN(begin);
	trace_access(&trace, 0x5070, false); /* by level 1 */
	RUN(landing);
	trace_access(&trace, 0x5ff8, true);
	trace_access(&trace, 0x6000, true);
	trace_access(&trace, 0x9070, false); /* a VM's own VMCB */
	RUN(end);
	trace_access(&trace, 0x5070, false);
	assert_null(trace.failed);
	assert_int_equal(trace.vm.vmcb_count, 1);
	assert_int_equal(trace.access_count, 1);
	assert_int_equal(trace.accesses[0].at, 1);
	assert_int_equal(trace.accesses[0].kind, ACCESS_WRITE);
	assert_int_equal(trace.accesses[0].which, 0xff8);
}

static void another_msr_is_another_path(void **state)
{
	(void)state;
	start_large();
	struct step *begin = mark(1), *end = mark(9), *rdmsr = code(2, "\x0f\x32", 2);
	static const uint64_t msrs[] = { 0xc0000080, 0xc0000103, 0xffffffffc0000080 };

	trace_operand(&trace, rdmsr->insn, 0x10); /* in no window */
	for (unsigned i = 0; i < 3; i++) {
		RUN(begin, rdmsr);
		trace_operand(&trace, rdmsr->insn, msrs[i]);
		RUN(end);
	}
	assert_int_equal(trace.path_count, 2);
	assert_int_equal(trace.windows[0], trace.windows[2]);
	assert_int_equal(trace.accesses[0].which, 0xc0000080);
	assert_int_equal(trace.accesses[1].which, 0xc0000103);
	assert_int_equal(trace.accesses[1].kind, ACCESS_NUMBER);
	assert_int_equal(trace.accesses[1].at, 1);
}

static void accesses_and_vmcbs_that_do_not_fit_are_told(void **state)
{
	(void)state;
	start_large();
	struct step *rdmsr = code(2, "\x0f\x32", 2), *vmrun = code(0x20, "\x0f\x01\xd8", 3);

	RUN(mark(1), rdmsr);
	for (unsigned i = 0; i < 3; i++)
		trace_operand(&trace, rdmsr->insn, i);
	assert_null(trace.failed);
	trace_operand(&trace, rdmsr->insn, 3);
	assert_non_null(strstr(trace.failed, "accesses"));

	trace.failed = NULL;
	for (unsigned i = 0; i < MAX_VMCBS; i++)
		assert_true(vm_run(&trace.vm, i * 0x1000));
	assert_true(vm_run(&trace.vm, 0x1000));
	trace_operand(&trace, vmrun->insn, MAX_VMCBS * 0x1000);
	assert_non_null(strstr(trace.failed, "VMCBs"));
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
	static const char wanted[] = "worldswitch-trace 3\nx86_64\n\n"
				     "\x01\x01\x03"
				     "\x05\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x03\0\0\0\0\0\0\0\x03\x10\0\0\0\0\0\0\x01\x90"
				     "\x09\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x01\x03\x02\x02\x02\0"
				     "\x03\0\0\x90\x01\x01\x01\x08\0\x02\x08"
				     "\x01\0end\n";
	char name[] = "/tmp/worldswitch-plugin-XXXXXX", got[sizeof(wanted)];
	int fd = mkstemp(name);
	FILE *file;

	(void)state;
	start_large();
	trace.sees_accesses = true;
	assert_true(vm_run(&trace.vm, 0x7000));
	RUN(plain(2), mark(5), mark(5));
	trace_operand(&trace, mark_insn(5), 0x90);
	RUN(plain(3));
	trace_access(&trace, 0x7008, false);
	trace_access(&trace, 0x7008, true);
	RUN(mark(9));
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
		cmocka_unit_test_teardown(registers_that_bytes_do_not_name_are_asked_for, stop),
		cmocka_unit_test_teardown(accesses_to_vmcbs_are_of_level_0_in_windows, stop),
		cmocka_unit_test_teardown(another_msr_is_another_path, stop),
		cmocka_unit_test_teardown(accesses_and_vmcbs_that_do_not_fit_are_told, stop),
		cmocka_unit_test_teardown(what_does_not_fit_is_told, stop),
		cmocka_unit_test_teardown(the_file_is_as_its_header_says, stop),
		cmocka_unit_test_teardown(each_window_is_counted_by_itself, stop),
		cmocka_unit_test_teardown(vmrun_and_what_is_behind_it_change_levels, stop),
		cmocka_unit_test_teardown(the_file_of_counts_is_as_its_header_says, stop),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
