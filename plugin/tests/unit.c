/* Unit tests of the plugin's pure parts (on the host, make -C plugin test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cmocka.h>

#include "arm.h"
#include "counts.h"
#include "file.h"
#include "peer.h"
#include "trace.h"

static struct trace trace;
static struct counts counts;
static struct stream stream;

static void start(struct limits limits)
{
	assert_true(trace_start(&trace, &limits));
	trace.outputs = OUTPUTS_PORTS;
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
	free(counts.exits);
	free(counts.ways);
	free(counts.windows);
	free(stream.kept);
	free(stream.firsts);
	counts = (struct counts){ 0 };
	stream = (struct stream){ 0 };
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

static void each_architecture_has_a_mark(void **state)
{
	(void)state;
	start_large();
	assert_true(mark_insn(1)->is_mark);
	assert_true(trace_insn(&trace, 2, 2, (const uint8_t *)"\xfb\x03\x1b\xaa", 4)->is_mark);
	assert_true(trace_insn(&trace, 4, 4, (const uint8_t *)"\x93\x8f\x0f\x00", 4)->is_mark);
	assert_false(trace_insn(&trace, 5, 5, (const uint8_t *)"\xfe\x8f", 2)->is_mark);
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
		counts_execute(&counts, 0, insns[i]);
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

static void each_cpu_is_at_a_level_of_its_own(void **state)
{
	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *vmrun = trace_insn(&trace, 0x20, 0x120, (const uint8_t *)"\x0f\x01\xd8", 3);
	struct insn *landing = trace_insn(&trace, 0x23, 0x123, (const uint8_t *)"\x90", 1);
	struct insn *a = plain_insn(2), *begin = mark_insn(1), *end = mark_insn(9);

	counts_execute(&counts, 0, vmrun);
	counts_execute(&counts, 0, begin);
	counts_execute(&counts, 1, a);
	counts_execute(&counts, 1, landing);
	counts_execute(&counts, 0, a);
	counts_execute(&counts, 0, a);
	counts_execute(&counts, 0, end);
	assert_int_equal(times(0, a, 0), 1);
	assert_int_equal(times(0, a, 1), 2);
	assert_int_equal(times(0, end, 1), 1);
	assert_null(trace.failed);
	counts_execute(&counts, MAX_CPUS, a);
	assert_non_null(trace.failed);
}

static void reads_of_the_clock_in_a_range_are_marks_if_it_is_told(void **state)
{
	const uint8_t *rdtsc = (const uint8_t *)"\x0f\x31";

	(void)state;
	start_large();
	trace.marks = (struct marks){ .first = 0x100, .last = 0x1ff };
	assert_true(counts_start(&counts, &trace));
	struct insn *before = trace_insn(&trace, 0xff, 0xff, rdtsc, 2);
	struct insn *begin = trace_insn(&trace, 0x100, 0x100, rdtsc, 2);
	struct insn *a = plain_insn(0x180), *end = trace_insn(&trace, 0x1ff, 0x1ff, rdtsc, 2);
	struct insn *no_mark = mark_insn(0x181);

	COUNT(before, begin, a, no_mark, end, before);
	assert_int_equal(counts.window_count, 1);
	assert_int_equal(times(0, a, 0), 1);
	assert_int_equal(times(0, no_mark, 0), 1);
	assert_int_equal(times(0, before, 0), 0);
}

/* ERET to EL1, from EL2 with KVM's or Xen's registers of a VM. */
static struct arm_registers to_vm(uint64_t vmid)
{
	return (struct arm_registers){ .cpsr = 0x3c9,
				       .spsr_el2 = 0x3c5,
				       .hcr_el2 = 0x80000001,
				       .vttbr_el2 = vmid << 48 | 0x40000000,
				       .vbar_el2 = 0xa0000204000 };
}

static void on_arm_eret_of_el2_with_stage_2_enters_a_vm(void **state)
{
	struct arm_registers registers = to_vm(2);
	struct arm arm = { 0 };
	unsigned level = 9;

	(void)state;
	start_large();
	/* Xen returns from an interrupt of its own; a kernel at EL1 returns to a process. */
	registers.spsr_el2 = 0x3c9;
	assert_false(arm_enter(&arm, &registers, 1, &level));
	registers = to_vm(2);
	assert_true(arm_is_el2(registers.cpsr));
	registers.cpsr = 0x3c5;
	assert_false(arm_is_el2(registers.cpsr));
	assert_false(arm_enter(&arm, &registers, 1, &level));
	assert_int_equal(level, 9);

	registers = to_vm(2);
	assert_true(arm_enter(&arm, &registers, 1, &level));
	assert_int_equal(level, 1);
	assert_true(arm.in_vm);
	registers = to_vm(1);
	assert_true(arm_enter(&arm, &registers, 1, &level));
	assert_int_equal(level, 0);
	assert_true(arm.in_vm);
	assert_true(arm_enter(&arm, &registers, UINT64_MAX, &level));
	assert_int_equal(level, 1);
	/* A host at EL1, and a process of a host at EL2. */
	registers.hcr_el2 = 0x80000000;
	registers.spsr_el2 = 0;
	assert_true(arm_enter(&arm, &registers, UINT64_MAX, &level));
	assert_int_equal(level, 0);
	assert_false(arm.in_vm);
}

static void on_arm_vectors_for_lower_levels_leave_a_vm(void **state)
{
	static const struct {
		uint64_t offset, esr;
		unsigned reason;
	} known[] = { { 0x400, 0x06000000, 0x01 },	   { 0x400, 0x5a000ea1, 0x16 },
		      { 0x480, 0x5a000ea1, ARM_EXIT_IRQ }, { 0x500, 0, ARM_EXIT_FIQ },
		      { 0x580, 0, ARM_EXIT_SERROR },	   { 0x600, 0x93810006, 0x24 },
		      { 0x680, 0, ARM_EXIT_IRQ } };
	const struct arm_registers registers = to_vm(2);
	struct arm arm = { 0 };
	unsigned level;

	(void)state;
	start_large();
	assert_false(arm_leaves(&arm, plain_insn(0x400)));
	for (unsigned i = 0; i < sizeof(known) / sizeof(known[0]); i++) {
		uint64_t address = registers.vbar_el2 + known[i].offset;

		arm_enter(&arm, &registers, 1, &level);
		assert_true(arm_may_be_vector(address));
		assert_true(arm_leaves(&arm, plain_insn(address)));
		assert_int_equal(arm_leave(&arm, plain_insn(address), known[i].esr),
				 known[i].reason);
		assert_false(arm_leaves(&arm, plain_insn(address)));
	}
	arm_enter(&arm, &registers, 1, &level);
	assert_false(arm_leaves(&arm, plain_insn(registers.vbar_el2 + 0x380)));
	assert_false(arm_leaves(&arm, plain_insn(registers.vbar_el2 + 0x404)));
	assert_false(arm_leaves(&arm, plain_insn(registers.vbar_el2 + 0x800)));
	assert_false(arm_may_be_vector(0x1380));
	assert_false(arm_may_be_vector(0x1404));
}

static void on_arm_exits_are_counted_by_level_and_reason(void **state)
{
	const struct arm_registers dom0 = to_vm(1), vm = to_vm(2);

	(void)state;
	start_large();
	trace.marks = (struct marks){ .first = 0x100, .last = 0x1ff };
	assert_true(counts_start(&counts, &trace));
	counts.own_vmid = 1;
	struct insn *begin =
		trace_insn(&trace, 0x100, 0x100, (const uint8_t *)"\x54\xe0\x3b\xd5", 4);
	struct insn *end = trace_insn(&trace, 0x104, 0x104, (const uint8_t *)"\x48\xe0\x3b\xd5", 4);
	struct insn *no_read =
		trace_insn(&trace, 0x108, 0x108, (const uint8_t *)"\x48\xe0\x1b\xd5", 4);
	struct insn *eret = trace_insn(&trace, 2, 2, (const uint8_t *)"\xe0\x03\x9f\xd6", 4);
	struct insn *vector = plain_insn(vm.vbar_el2 + 0x400), *a = plain_insn(3);

	assert_true(eret->is_eret && !a->is_eret && !no_read->is_mark);
	counts_skip(&counts, 1000);
	COUNT(begin, eret);
	counts_enter(&counts, 0, &vm);
	COUNT(a, a);
	assert_false(counts_leaves(&counts, 1, vector));
	assert_false(counts_leaves(&counts, 0, a));
	assert_true(counts_leaves(&counts, 0, vector));
	counts_leave(&counts, 0, vector, 0x5a000ea1);
	COUNT(vector, eret);
	counts_enter(&counts, 0, &dom0);
	COUNT(a);
	assert_true(counts_leaves(&counts, 0, vector));
	counts_leave(&counts, 0, vector, 0x06000000);
	counts_skip(&counts, 1300);
	COUNT(end);
	assert_int_equal(times(0, a, 1), 2);
	assert_int_equal(times(0, a, 0), 1);
	assert_int_equal(times(0, vector, 0), 1);
	assert_int_equal(counts.windows[0].halted_ns, 300);
	assert_int_equal(counts.windows[0].exit_count, 2);
	for (unsigned i = 0; i < 2; i++) {
		assert_int_equal(counts.exits[i].level, i);
		assert_int_equal(counts.exits[i].reason, i ? 0x16 : 0x01);
		assert_int_equal(counts.exits[i].times, 1);
	}
	/* None of the window before is left. */
	COUNT(begin, end);
	assert_int_equal(counts.windows[1].exit_count, 0);
	assert_int_equal(counts.windows[1].halted_ns, 0);
}

static void ways_between_points_take_instructions_and_idle_time(void **state)
{
	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *begin = mark_insn(1), *end = mark_insn(9), *a = plain_insn(2),
		    *here = plain_insn(3), *there = plain_insn(4);

	counts.points[0] = (struct point){ .address = 3 };
	counts.points[1] = (struct point){ .address = 4, .level = 1 };
	counts.point_count = 2;
	assert_true(counts_is_point(&counts, here) && counts_is_point(&counts, there));
	assert_false(counts_is_point(&counts, a));
	/* Outside of a window. */
	counts_pass(&counts, 0, here);
	COUNT(here, begin);
	counts_pass(&counts, 0, here);
	COUNT(here, a);
	/* Not at this level. */
	counts_pass(&counts, 0, there);
	COUNT(there, a);
	counts_skip(&counts, 100);
	counts.vms[1].level = 1;
	counts_pass(&counts, 1, there);
	counts_execute(&counts, 1, there);
	counts_pass(&counts, 0, here);
	COUNT(here, a);
	counts_pass(&counts, 1, there);
	COUNT(end);
	assert_int_equal(counts.windows[0].way_count, 2);
	assert_int_equal(counts.ways[0].from, 0);
	assert_int_equal(counts.ways[0].to, 1);
	assert_int_equal(counts.ways[0].times, 2);
	assert_int_equal(counts.ways[0].ticks, 104 + 2);
	assert_int_equal(counts.ways[1].from, 1);
	assert_int_equal(counts.ways[1].to, 0);
	assert_int_equal(counts.ways[1].ticks, 1);
	COUNT(begin);
	counts_pass(&counts, 0, here);
	COUNT(end);
	assert_int_equal(counts.windows[1].way_count, 0);
}

static void the_file_of_counts_is_as_its_header_says(void **state)
{
	static const char wanted[] = "worldswitch-counts 2\nx86_64\nit is small\n"
				     "\0\x01\x03"
				     "\x05\0\0\0\0\0\0\0\x05\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x03\0\0\0\0\0\0\0\x03\x10\0\0\0\0\0\0\x01\x90"
				     "\x09\0\0\0\0\0\0\0\x09\0\0\0\0\0\0\0\x03\x66\x87\xdb"
				     "\x02"
				     "\x03\x01\x01\0\x01\x82\x01\0\x01\x01\0"
				     "\x81\x01\x01\x01\x40\x01\x01\x02\x03\x05\x07"
				     "\x02\x01\x01\0\x02\x01\0\0\0\0end\n";
	char name[] = "/tmp/worldswitch-plugin-XXXXXX", got[sizeof(wanted)];
	int fd = mkstemp(name);
	FILE *file;

	(void)state;
	start_large();
	assert_true(counts_start(&counts, &trace));
	struct insn *other = plain_insn(2), *begin = mark_insn(5), *a = plain_insn(3),
		    *end = mark_insn(9);

	counts.has_clock = true;
	COUNT(other, begin, a);
	counts.exits_now[1][ARM_EXIT_IRQ] = 1;
	counts.ways_now[2][3].times = 5;
	counts.ways_now[2][3].ticks = 7;
	for (unsigned i = 1; i < 130; i++)
		counts_execute(&counts, 0, a);
	counts_skip(&counts, 129);
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

static struct insn *halt_insn(uint64_t address)
{
	return trace_insn(&trace, address, address + 0x1000, (const uint8_t *)"\xf4", 1);
}

/* Starts a stream of intervals of so many instructions. */
static void start_stream(uint32_t interval, int only_cpu)
{
	start_large();
	assert_true(stream_start(&stream, &trace, interval, only_cpu));
}

/* The hash of an interval of two instructions, executed on these CPUs after skips of the clock. */
static uint64_t hash_of_two(const struct insn *a, const struct insn *b, unsigned cpu,
			    uint64_t skipped_ns)
{
	uint64_t hash;

	assert_false(stream_execute(&stream, cpu, a));
	stream_skip(&stream, stream.all_ns + skipped_ns);
	assert_true(stream_execute(&stream, cpu, b));
	hash = stream.hash;
	stream_next(&stream);
	return hash;
}

static void an_interval_s_hash_is_of_all_that_was_executed(void **state)
{
	(void)state;
	start_stream(2, -1);
	struct insn *a = plain_insn(1), *b = plain_insn(2);
	/* The same code elsewhere in the emulator's memory, as in another process. */
	struct insn *elsewhere = trace_insn(&trace, 2, 0x77, (const uint8_t *)"\x90", 1);
	struct insn *patched = trace_insn(&trace, 2, 0x1002, (const uint8_t *)"\xcc", 1);
	uint64_t hash = hash_of_two(a, b, 0, 0);

	assert_int_equal(hash_of_two(a, b, 0, 0), hash);
	assert_int_equal(hash_of_two(a, elsewhere, 0, 0), hash);
	assert_int_not_equal(hash_of_two(b, a, 0, 0), hash);
	assert_int_not_equal(hash_of_two(a, patched, 0, 0), hash);
	assert_int_not_equal(hash_of_two(a, b, 1, 0), hash);
	assert_int_not_equal(hash_of_two(a, b, 0, 1), hash);
	assert_int_equal(hash_of_two(a, b, 0, 5), hash_of_two(a, b, 0, 5));
}

static void the_last_intervals_are_kept(void **state)
{
	(void)state;
	start_stream(2, -1);
	for (uint64_t i = 0; i < 7; i++)
		if (stream_execute(&stream, 0, plain_insn(i)))
			stream_next(&stream);
	assert_int_equal(stream.executed, 7);
	assert_int_equal(stream_kept(&stream), 6);
	for (uint64_t i = 0; i < 6; i++)
		assert_int_equal(trace.insns[stream_item(&stream, i)->insn]->address, i + 1);
	assert_int_equal(stream.firsts[0], FIRST(1, 0));
	assert_int_equal(stream.firsts[6], FIRST(7, 0));
}

static void the_clock_s_skip_is_the_next_instruction_s(void **state)
{
	(void)state;
	start_stream(8, -1);
	struct insn *hlt = halt_insn(1), *a = plain_insn(2);
	struct insn *wfi = trace_insn(&trace, 3, 3, (const uint8_t *)"\x7f\x20\x03\xd5", 4);

	assert_true(wfi->is_halt);
	assert_true(trace_insn(&trace, 4, 4, (const uint8_t *)"\x73\x00\x50\x10", 4)->is_halt);
	assert_false(a->is_halt);
	stream_execute(&stream, 0, a);
	assert_false(stream.has_halted);
	stream_execute(&stream, 0, hlt);
	assert_true(stream.has_halted);
	stream_skip(&stream, 700);
	assert_false(stream.has_halted);
	stream_execute(&stream, 0, a);
	stream_execute(&stream, 0, a);
	stream_skip(&stream, 1000);
	stream_execute(&stream, 0, a);
	assert_int_equal(stream_item(&stream, 1)->skipped_ns, 0);
	assert_int_equal(stream_item(&stream, 2)->skipped_ns, 700);
	assert_int_equal(stream_item(&stream, 3)->skipped_ns, 0);
	assert_int_equal(stream_item(&stream, 4)->skipped_ns, 300);
}

static void each_cpu_has_its_level(void **state)
{
	(void)state;
	start_stream(8, -1);
	struct insn *vmrun = trace_insn(&trace, 0x20, 0x120, (const uint8_t *)"\x0f\x01\xd8", 3);
	struct insn *landing = trace_insn(&trace, 0x23, 0x123, (const uint8_t *)"\x90", 1);
	struct insn *a = plain_insn(2), *b = plain_insn(3);

	stream_execute(&stream, 0, vmrun);
	stream_execute(&stream, 0, a);
	stream_execute(&stream, 1, b);
	stream_execute(&stream, 0, b);
	stream_execute(&stream, 0, landing);
	for (unsigned i = 0; i < 5; i++)
		assert_int_equal(stream_item(&stream, i)->level, i == 1 || i == 3);
	assert_int_equal(stream.firsts[a->index], FIRST(2, 1));
	assert_int_equal(stream.firsts[b->index], FIRST(3, 0));
}

static void other_cpus_can_be_left_out(void **state)
{
	(void)state;
	start_stream(8, 1);
	stream_execute(&stream, 0, plain_insn(1));
	stream_execute(&stream, 1, plain_insn(2));
	stream_execute(&stream, 0, halt_insn(3));
	assert_int_equal(stream.executed, 1);
	assert_int_equal(stream_item(&stream, 0)->cpu, 1);
	/* The clock is one of all CPUs. */
	assert_true(stream.has_halted);
}

/* An output to a port, with the prefix of 16 bits. */
static struct insn *output_insn(uint64_t address)
{
	return trace_insn(&trace, address, address + 0x1000, (const uint8_t *)"\x66\xef", 2);
}

static void outputs_are_known(void **state)
{
	(void)state;
	start_stream(8, -1);
	assert_true(output_insn(1)->is_output);
	assert_true(trace_insn(&trace, 2, 2, (const uint8_t *)"\xee", 1)->is_output);
	assert_true(trace_insn(&trace, 3, 3, (const uint8_t *)"\xe6\xee", 2)->is_output);
	assert_true(trace_insn(&trace, 4, 4, (const uint8_t *)"\x66\xe7\x80", 3)->is_output);
	assert_false(trace_insn(&trace, 5, 5, (const uint8_t *)"\xed", 1)->is_output);
	assert_false(trace_insn(&trace, 6, 6, (const uint8_t *)"\x89\xee", 2)->is_output);
	assert_false(trace_insn(&trace, 7, 7, (const uint8_t *)"\xef\x03\x1b\xaa", 4)->is_output);
	/* RISC-V: c.sdsp s9, 64(sp); sd, sw and c.sw of a2; c.lw. */
	trace.outputs = OUTPUTS_WORDS;
	assert_false(trace_insn(&trace, 8, 8, (const uint8_t *)"\xe6\xe0", 2)->is_output);
	assert_false(trace_insn(&trace, 9, 9, (const uint8_t *)"\x23\xb0\xc5\x00", 4)->is_output);
	assert_true(trace_insn(&trace, 10, 10, (const uint8_t *)"\x23\xa0\xc5\x00", 4)->is_output);
	assert_true(trace_insn(&trace, 11, 11, (const uint8_t *)"\x90\xc1", 2)->is_output);
	assert_false(trace_insn(&trace, 12, 12, (const uint8_t *)"\x90\x41", 2)->is_output);
	trace.outputs = OUTPUTS_NONE;
	assert_false(trace_insn(&trace, 13, 13, (const uint8_t *)"\xee", 1)->is_output);
}

/* Executes `last`, then so many other instructions, and takes these back: nothing of them is left. */
static void execute_and_return(unsigned before, unsigned cpu, unsigned more)
{
	struct insn *last = output_insn(1), *a = plain_insn(2), *never = plain_insn(3);
	struct place place;

	for (unsigned i = 0; i < before; i++)
		stream_execute(&stream, 0, a);
	if (stream_execute(&stream, cpu, last))
		stream_next(&stream);
	place = (struct place){ stream.left, stream.executed, stream.hash };
	for (unsigned i = 0; i < more; i++)
		stream_execute(&stream, 0, never);
	stream_return(&stream);
	assert_int_equal(stream.left, place.left);
	assert_int_equal(stream.executed, place.executed);
	assert_int_equal(stream.hash, place.hash);
	assert_int_equal(stream.firsts[a->index], FIRST(1, 0));
	assert_int_equal(stream.firsts[never->index], 0);
	for (uint64_t i = 0; i < stream_kept(&stream); i++)
		assert_int_not_equal(stream_item(&stream, i)->insn, never->index);
}

static void what_came_after_the_last_output_is_taken_back(void **state)
{
	start_stream(8, -1);
	execute_and_return(2, 0, 3);
	assert_int_equal(stream.executed, 3);
	stop(state);
	start_stream(4, -1);
	/* The output fills its interval. */
	execute_and_return(3, 0, 2);
	assert_int_equal(stream.executed, 4);
	stop(state);
	/* The ring is full: what is taken back stood in the room of the oldest. */
	start_stream(2, -1);
	for (unsigned i = 0; i < 8; i++)
		if (stream_execute(&stream, 0, plain_insn(2)))
			stream_next(&stream);
	execute_and_return(0, 0, 1);
	assert_int_equal(stream.executed, 9);
	assert_int_equal(stream_kept(&stream), 5);
	stop(state);
	/* Another CPU's, which is left out. */
	start_stream(8, 0);
	execute_and_return(3, 1, 2);
	assert_int_equal(stream.executed, 3);
}

static void without_an_output_in_the_interval_nothing_is_taken_back(void **state)
{
	(void)state;
	start_stream(2, -1);
	stream_execute(&stream, 0, output_insn(1));
	stream_execute(&stream, 0, plain_insn(2));
	stream_next(&stream);
	stream_execute(&stream, 0, plain_insn(3));
	stream_return(&stream);
	assert_int_equal(stream.executed, 3);
	assert_int_equal(stream.left, 1);
}

/* As crates/explain/src/boots/stream.rs reads it. */
static void the_file_of_a_stream_is_as_its_header_says(void **state)
{
	static const char wanted[] = "worldswitch-stream 1\nx86_64\n\n"
				     "\0\x01\0\x05\x02"
				     "\x02\0\0\0\0\0\0\0\x02\x10\0\0\0\0\0\0\x01\xf4\x02"
				     "\x03\0\0\0\0\0\0\0\x03\x10\0\0\0\0\0\0\x01\x90\x04"
				     "\x03\x04\x02\0\x01\0\x88\x27\0\x02\0end\n";
	char name[] = "/tmp/worldswitch-plugin-XXXXXX", got[sizeof(wanted)];
	int fd = mkstemp(name);
	FILE *file;

	(void)state;
	start_stream(1, -1);
	struct insn *never = plain_insn(9), *hlt = halt_insn(2), *a = plain_insn(3);

	assert_non_null(never);
	stream.has_clock = true;
	stream_execute(&stream, 0, hlt);
	stream_execute(&stream, 0, a);
	stream_execute(&stream, 1, a);
	stream_skip(&stream, 5000);
	stream_execute(&stream, 0, hlt);
	stream_execute(&stream, 1, hlt);
	assert_true(fd >= 0);
	assert_true(file_write_stream(&stream, "x86_64", name));
	file = fdopen(fd, "r");
	assert_int_equal(fread(got, 1, sizeof(got), file), sizeof(wanted) - 1);
	assert_memory_equal(got, wanted, sizeof(wanted) - 1);
	fclose(file);
	unlink(name);
	assert_false(file_write_stream(&stream, "x86_64", "/dev/full"));
}

/* A socket at `path` on which the test plays the program that started the machine. */
static int listening(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM, 0);

	snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	return fd;
}

static void a_machine_does_as_it_is_answered(void **state)
{
	static const struct {
		char answer;
		bool ended, writes, writes_next;
	} cases[] = {
		{ ANSWER_GO_ON, false, false, false }, { ANSWER_ONE_MORE, false, false, true },
		{ ANSWER_WRITE, false, true, false },  { ANSWER_WRITE, true, true, false },
		{ ANSWER_ONE_MORE, true, true, true }, { '?', false, false, false },
	};
	char folder[] = "/tmp/worldswitch-plugin-XXXXXX", path[64], message[17];

	(void)state;
	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/peer", folder);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		struct stream told = { .executed = 0x102, .hash = 0xff };
		struct peer peer;
		int server = listening(path), end;

		assert_true(peer_start(&peer, path));
		end = accept(server, NULL, NULL);
		assert_int_equal(write(end, &cases[i].answer, 1), 1);
		assert_int_equal(peer_tell(&peer, &told, cases[i].ended), cases[i].writes);
		assert_int_equal(read(end, message, sizeof(message)), sizeof(message));
		assert_int_equal(message[0], cases[i].ended ? MESSAGE_END : MESSAGE_FULL);
		assert_memory_equal(message + 1, "\x02\x01\0\0\0\0\0\0\xff\0\0\0\0\0\0\0", 16);
		if (cases[i].writes_next)
			assert_true(peer_tell(&peer, &told, false));
		if (cases[i].writes) {
			peer_written(&peer);
			assert_int_equal(read(end, message, sizeof(message)), sizeof(message));
			assert_int_equal(message[0], MESSAGE_WRITTEN);
		}
		/* Whoever asked is gone. */
		close(end);
		if (!cases[i].writes_next)
			assert_false(peer_tell(&peer, &told, false));
		peer_written(&peer);
		close(server);
		unlink(path);
	}
	rmdir(folder);
	struct peer none;
	char too_long[200];

	assert_false(peer_start(&none, "/there/is/no/such/folder"));
	memset(too_long, 'x', sizeof(too_long) - 1);
	too_long[sizeof(too_long) - 1] = '\0';
	assert_false(peer_start(&none, too_long));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_teardown(an_instruction_is_its_place_and_its_bytes, stop),
		cmocka_unit_test_teardown(each_architecture_has_a_mark, stop),
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
		cmocka_unit_test_teardown(each_cpu_is_at_a_level_of_its_own, stop),
		cmocka_unit_test_teardown(reads_of_the_clock_in_a_range_are_marks_if_it_is_told,
					  stop),
		cmocka_unit_test_teardown(on_arm_eret_of_el2_with_stage_2_enters_a_vm, stop),
		cmocka_unit_test_teardown(on_arm_vectors_for_lower_levels_leave_a_vm, stop),
		cmocka_unit_test_teardown(on_arm_exits_are_counted_by_level_and_reason, stop),
		cmocka_unit_test_teardown(ways_between_points_take_instructions_and_idle_time,
					  stop),
		cmocka_unit_test_teardown(the_file_of_counts_is_as_its_header_says, stop),
		cmocka_unit_test_teardown(an_interval_s_hash_is_of_all_that_was_executed, stop),
		cmocka_unit_test_teardown(the_last_intervals_are_kept, stop),
		cmocka_unit_test_teardown(the_clock_s_skip_is_the_next_instruction_s, stop),
		cmocka_unit_test_teardown(each_cpu_has_its_level, stop),
		cmocka_unit_test_teardown(other_cpus_can_be_left_out, stop),
		cmocka_unit_test_teardown(outputs_are_known, stop),
		cmocka_unit_test_teardown(what_came_after_the_last_output_is_taken_back, stop),
		cmocka_unit_test_teardown(without_an_output_in_the_interval_nothing_is_taken_back,
					  stop),
		cmocka_unit_test_teardown(the_file_of_a_stream_is_as_its_header_says, stop),
		cmocka_unit_test(a_machine_does_as_it_is_answered),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
