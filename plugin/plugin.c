/*
 * A plugin of QEMU's TCG that records what a machine executes between the marks of its guest (trace.h), and
 * writes it to a file at the machine's end (file.h): as paths, or with counts=on as counts (counts.h). The file is
 * out=FILE. With marks=FIRST-LAST, two addresses, the marks are the reads of the clock there. With own-vmid=N an ARM
 * machine's VM with that number is part of its own software, as Xen's dom0 is. Each point=LEVEL-ADDRESS is a point of
 * counts. With stream=on it is all that
 * the machine executes (stream.h), of one CPU with cpu=N, until the end or, with peer=SOCKET, until it differs from another
 * machine (peer.h). It only looks: what the machine does, and how many instructions that takes, is the same with and
 * without it.
 */
#include "qemu.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "counts.h"
#include "file.h"
#include "peer.h"
#include "trace.h"

/* Memory for at most 2 GiB, which the kernel gives only as it is used. */
static const struct limits limits = { .insns = 4u << 20,
				      .path = 64u << 20,
				      .instructions = 256u << 20,
				      .windows = 1u << 20,
				      .cuts = 1u << 20,
				      .accesses = 1u << 20 };

/* Of a stream, which has no paths. Whole systems have more different instructions. */
static const struct limits stream_limits = {
	.insns = 16u << 20, .path = 1, .instructions = 1, .windows = 1, .cuts = 1, .accesses = 1
};

/* Some 5 ms of a machine: two machines that keep step seldom wait for each other. */
#define INTERVAL_INSNS (256u << 10)

int qemu_plugin_version = PLUGIN_API;

static struct trace trace;
static struct counts counts;
static struct stream stream;
static struct peer peer = { .socket = -1 };
static bool counts_only, is_stream, is_compared, is_over, is_arm;
static uint64_t own_vmid = UINT64_MAX;
static struct point points[MAX_POINTS];
static unsigned point_count;
static char target[32];
static const char *out;
static struct marks marks;

/*
 * The CPU that executes now. QEMU 9.1 and newer put the number that they call with into a block when they translate it,
 * even where all CPUs take turns in one thread and share their blocks (accel/tcg/plugin-gen.c, gen_cpu_index): it is that of
 * the CPU which came first. Its programs export who it is now (hw/core/cpu.h).
 */
__attribute__((weak)) struct CPUState *qemu_get_cpu(int index);

static unsigned executing(unsigned told)
{
	static __thread struct CPUState *const *current;
	static __thread const struct CPUState *last;
	static __thread unsigned number;
	static __thread bool is_known;

	if (!is_known && qemu_get_cpu)
		current = dlsym(RTLD_DEFAULT, "current_cpu");
	is_known = true;
	if (!current)
		return told;
	if (*current != last) {
		last = *current;
		for (number = 0; number < MAX_CPUS && qemu_get_cpu((int)number) != last; number++)
			;
	}
	return number;
}

static void executed(unsigned cpu, void *data)
{
	(void)cpu;
	trace_execute(&trace, data);
}

/*
 * How much time the clock has skipped. QEMU has no call for that in its interface for plugins, but its programs export
 * these two (system/cpu-timers.h): the clock, and the instructions in it. Of a CPU's thread, which is in the middle of a
 * block, they refuse to answer; another thread is told the state at the end of the CPU's last turn, and the difference of
 * the two is the same at all times of a turn.
 */
__attribute__((weak)) int64_t icount_get(void);
__attribute__((weak)) int64_t icount_get_raw(void);
__attribute__((weak)) int64_t icount_to_ns(int64_t icount);

static struct {
	pthread_t thread;
	sem_t asked, answered;
	uint64_t skipped_ns;
} looker;

static void *look(void *unused)
{
	for (;;) {
		while (sem_wait(&looker.asked) != 0)
			;
		looker.skipped_ns = (uint64_t)(icount_get() - icount_to_ns(icount_get_raw()));
		sem_post(&looker.answered);
	}
	return unused;
}

static uint64_t skipped_ns(void)
{
	sem_post(&looker.asked);
	while (sem_wait(&looker.answered) != 0)
		;
	return looker.skipped_ns;
}

static bool start_looker(void)
{
	return icount_get && icount_get_raw && icount_to_ns && sem_init(&looker.asked, 0, 0) == 0 &&
	       sem_init(&looker.answered, 0, 0) == 0 &&
	       pthread_create(&looker.thread, NULL, look, NULL) == 0;
}

static void counted(unsigned cpu, void *data)
{
	const struct insn *insn = data;

	if (insn->is_mark && counts.has_clock)
		counts_skip(&counts, skipped_ns());
	counts_execute(&counts, executing(cpu), insn);
}

static void counted_point(unsigned cpu, void *data)
{
	if (counts.has_clock)
		counts_skip(&counts, skipped_ns());
	counts_pass(&counts, executing(cpu), data);
	counted(cpu, data);
}

static void write_stream(void)
{
	is_over = true;
	if (!file_write_stream(&stream, target, out))
		fprintf(stderr, "worldswitch's plugin can't write %s: %s\n", out, strerror(errno));
	peer_written(&peer);
}

/*
 * A machine ends with the instruction that asks for its power-off. The CPU executes some more until QEMU's main loop
 * stops it, and the host decides how many. QEMU's programs export two ways to know (system/runstate.c): the request,
 * which the main loop clears as it takes it, and a call from the main loop just after that. If the CPU did not see the
 * guest's own request, it asked by its last output (enum outputs): on ARM the CPU that asks (PSCI) executes no more. Of
 * any other end (a signal, a reset, a triple fault) all counts that was executed.
 */
__attribute__((weak)) int qemu_shutdown_requested_get(void);

struct qemu_notifier {
	void (*notify)(struct qemu_notifier *notifier, void *cause);
	void *list[2];
};
__attribute__((weak)) void qemu_register_shutdown_notifier(struct qemu_notifier *notifier);

static atomic_bool is_taken;

/* SHUTDOWN_CAUSE_GUEST_SHUTDOWN (qapi/run-state.json, ShutdownCause). */
enum { CAUSE_GUEST_SHUTDOWN = 6 };

static void take(struct qemu_notifier *notifier, void *cause)
{
	(void)notifier;
	if (*(const int *)cause == CAUSE_GUEST_SHUTDOWN)
		atomic_store(&is_taken, true);
}

static struct qemu_notifier taken = { .notify = take };

static void end_stream(void)
{
	stream.has_ended = true;
	if (!is_compared || peer_tell(&peer, &stream, true))
		write_stream();
	is_over = true;
}

/* The main loop took the guest's request before the CPU saw it. */
static void end_stream_late(void)
{
	stream_return(&stream);
	end_stream();
}

static void streamed(unsigned cpu, void *data)
{
	if (is_over)
		return;
	if (stream.has_halted && stream.has_clock)
		stream_skip(&stream, skipped_ns());
	if (!stream_execute(&stream, executing(cpu), data))
		return;
	if (peer_tell(&peer, &stream, false))
		write_stream();
	stream_next(&stream);
}

/* The first instruction of a block: what asks for a power-off is always the last one of its block. */
static void streamed_first(unsigned cpu, void *data)
{
	if (!is_over && qemu_shutdown_requested_get && qemu_shutdown_requested_get())
		end_stream();
	else if (!is_over && atomic_load(&is_taken))
		end_stream_late();
	streamed(cpu, data);
}

#if PLUGIN_API >= 3
static struct qemu_plugin_register *find_register(const char *name)
{
	struct qemu_array *all = qemu_plugin_get_registers();
	const struct qemu_register *registers = all ? all->data : NULL;
	struct qemu_plugin_register *found = NULL;

	for (unsigned i = 0; all && i < all->count; i++)
		if (strcmp(registers[i].name, name) == 0)
			found = registers[i].handle;
	if (all)
		g_array_free(all, 1);
	return found;
}

/* The value of a register of at most eight bytes, which `handle` is once it is found. */
static uint64_t read_register(const char *name, struct qemu_plugin_register **handle)
{
	static struct qemu_array *bytes;
	uint64_t value = 0;

	if (!*handle)
		*handle = find_register(name);
	if (!bytes)
		bytes = g_byte_array_new();
	g_byte_array_set_size(bytes, 0);
	if (*handle)
		qemu_plugin_read_register(*handle, bytes);
	if (bytes->count == sizeof(uint32_t) || bytes->count == sizeof(value))
		memcpy(&value, bytes->data, bytes->count);
	else
		trace.failed = "the emulator did not give a register's value";
	return value;
}

static void executed_by_rax(unsigned cpu, void *data)
{
	static struct qemu_plugin_register *rax;
	const struct step *step = data;

	executed(cpu, data);
	trace_operand(&trace, step->insn, read_register("rax", &rax));
}

static void executed_by_rcx(unsigned cpu, void *data)
{
	static struct qemu_plugin_register *rcx;
	const struct step *step = data;

	executed(cpu, data);
	if (trace.is_open)
		trace_operand(&trace, step->insn, read_register("rcx", &rcx));
}

static void accessed(unsigned cpu, qemu_plugin_meminfo_t info, uint64_t address, void *unused)
{
	const struct qemu_plugin_hwaddr *place;

	(void)cpu;
	(void)unused;
	if (!trace.is_open || trace.vm.level > 0)
		return;
	place = qemu_plugin_get_hwaddr(info, address);
	if (place && !qemu_plugin_hwaddr_is_io(place))
		trace_access(&trace, qemu_plugin_hwaddr_phys_addr(place),
			     qemu_plugin_mem_is_store(info));
}

/* ERET. A machine without EL2 does not have its registers. */
static void counted_eret(unsigned cpu, void *data)
{
	static struct qemu_plugin_register *cpsr, *spsr, *hcr, *vttbr, *vbar;
	struct arm_registers registers = { .cpsr = read_register("cpsr", &cpsr) };

	if (arm_is_el2(registers.cpsr)) {
		registers.spsr_el2 = read_register("SPSR_EL2", &spsr);
		registers.hcr_el2 = read_register("HCR_EL2", &hcr);
		registers.vttbr_el2 = read_register("VTTBR_EL2", &vttbr);
		registers.vbar_el2 = read_register("VBAR_EL2", &vbar);
	}
	counted(cpu, data);
	counts_enter(&counts, executing(cpu), &registers);
}

/* What may be in EL2's vectors. */
static void counted_vector(unsigned cpu, void *data)
{
	static struct qemu_plugin_register *esr;
	unsigned executes = executing(cpu);

	if (counts_leaves(&counts, executes, data))
		counts_leave(&counts, executes, data, read_register("ESR_EL2", &esr));
	counted(cpu, data);
}

/* Asks for an instruction's execution, to be counted; on ARM also for registers that tell levels. */
static void ask_count(struct qemu_plugin_insn *insn, struct insn *record)
{
	qemu_executed *call = counts_is_point(&counts, record) ? counted_point : counted;

	if (is_arm && record->is_eret)
		call = counted_eret;
	else if (is_arm && arm_may_be_vector(record->address))
		call = counted_vector;
	qemu_plugin_register_vcpu_insn_exec_cb(insn, call,
					       call == counted || call == counted_point
						       ? QEMU_PLUGIN_CB_NO_REGS
						       : QEMU_PLUGIN_CB_R_REGS,
					       record);
}

/* Asks for an instruction's execution, and on x86 for what it accesses. */
static void ask(struct qemu_plugin_insn *insn, struct step *step)
{
	static qemu_executed *const calls[] = { [OPERAND_NONE] = executed,
						[OPERAND_RAX] = executed_by_rax,
						[OPERAND_RCX] = executed_by_rcx };
	enum operand operand = trace.sees_accesses ? vm_operand(step->insn) : OPERAND_NONE;
	int flags = operand == OPERAND_NONE ? QEMU_PLUGIN_CB_NO_REGS : QEMU_PLUGIN_CB_R_REGS;

	qemu_plugin_register_vcpu_insn_exec_cb(insn, calls[operand], flags, step);
	if (trace.sees_accesses && !vm_is_switch(step->insn))
		qemu_plugin_register_vcpu_mem_cb(insn, accessed, QEMU_PLUGIN_CB_NO_REGS,
						 QEMU_PLUGIN_MEM_RW, NULL);
}
#else
static void ask_count(struct qemu_plugin_insn *insn, struct insn *record)
{
	if (is_arm)
		trace.failed =
			"only QEMU 9.1 or newer shows the registers that tell ARM's VMs apart";
	qemu_plugin_register_vcpu_insn_exec_cb(
		insn, counts_is_point(&counts, record) ? counted_point : counted,
		QEMU_PLUGIN_CB_NO_REGS, record);
}

static void ask(struct qemu_plugin_insn *insn, struct step *step)
{
	qemu_plugin_register_vcpu_insn_exec_cb(insn, executed, QEMU_PLUGIN_CB_NO_REGS, step);
}
#endif

static struct insn *known(const struct qemu_plugin_insn *insn)
{
	uint64_t address = qemu_plugin_insn_vaddr(insn);
	uint64_t location = (uint64_t)(uintptr_t)qemu_plugin_insn_haddr(insn);
	size_t size = qemu_plugin_insn_size(insn);
#if PLUGIN_API >= 3
	uint8_t bytes[MAX_INSN_BYTES] = { 0 };

	qemu_plugin_insn_data(insn, bytes, sizeof(bytes));
#else
	const uint8_t *bytes = qemu_plugin_insn_data(insn);
#endif
	return trace_insn(&trace, address, location, bytes, size);
}

static void translated(struct qemu_plugin_tb *block)
{
	size_t count = qemu_plugin_tb_n_insns(block);

	for (size_t i = 0; i < count; i++) {
		struct qemu_plugin_insn *insn = qemu_plugin_tb_get_insn(block, i);
		struct insn *record = known(insn);
		struct step *step = record && !counts_only && !is_stream
					    ? trace_step(&trace, record, (uint32_t)(count - 1 - i))
					    : NULL;

		if (record && is_stream)
			qemu_plugin_register_vcpu_insn_exec_cb(insn, i ? streamed : streamed_first,
							       QEMU_PLUGIN_CB_NO_REGS, record);
		else if (record && counts_only)
			ask_count(insn, record);
		else if (step)
			ask(insn, step);
	}
}

static void write_out(void)
{
	if (is_stream) {
		if (!is_over && atomic_load(&is_taken))
			end_stream_late();
		else if (!is_over)
			end_stream();
	} else if (counts_only ? !file_write_counts(&counts, target, out)
			       : !file_write(&trace, target, out))
		fprintf(stderr, "worldswitch's plugin can't write %s: %s\n", out, strerror(errno));
}

#if PLUGIN_API >= 7
static void on_translated(struct qemu_plugin_tb *block, void *unused)
{
	(void)unused;
	translated(block);
}

static void on_exiting(void *unused)
{
	(void)unused;
	write_out();
}

static void subscribe(qemu_plugin_id id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated, NULL);
	qemu_plugin_register_atexit_cb(id, on_exiting, NULL);
}
#else
static void on_translated(qemu_plugin_id id, struct qemu_plugin_tb *block)
{
	(void)id;
	translated(block);
}

static void on_exiting(qemu_plugin_id id, void *unused)
{
	(void)id;
	(void)unused;
	write_out();
}

static void subscribe(qemu_plugin_id id)
{
	qemu_plugin_register_vcpu_tb_trans_cb(id, on_translated);
	qemu_plugin_register_atexit_cb(id, on_exiting, NULL);
}
#endif

static bool start(int only_cpu, const char *with)
{
	if (!is_stream && !trace_start(&trace, &limits))
		return false;
	if (counts_only && !counts_start(&counts, &trace))
		return false;
	if (counts_only) {
		counts.own_vmid = own_vmid;
		counts.point_count = point_count;
		memcpy(counts.points, points, sizeof(points));
		counts.has_clock = start_looker();
	}
	if (!is_stream)
		return true;
	if (!trace_start(&trace, &stream_limits) ||
	    !stream_start(&stream, &trace, INTERVAL_INSNS, only_cpu))
		return false;
	stream.has_clock = start_looker();
	if (qemu_register_shutdown_notifier)
		qemu_register_shutdown_notifier(&taken);
	is_compared = with != NULL;
	if (is_compared && !peer_start(&peer, with)) {
		fprintf(stderr, "worldswitch's plugin can't reach %s: %s\n", with, strerror(errno));
		return false;
	}
	return true;
}

static bool read_marks(const char *text)
{
	char *end;

	marks.first = strtoull(text, &end, 0);
	if (*end != '-')
		return false;
	marks.last = strtoull(end + 1, &end, 0);
	return *end == '\0' && marks.first <= marks.last;
}

/* LEVEL-ADDRESS. */
static bool read_point(const char *text)
{
	struct point point;
	char *end;

	if (point_count == MAX_POINTS)
		return false;
	point.level = (unsigned)strtoul(text, &end, 0);
	if (*end != '-' || point.level >= LEVELS)
		return false;
	point.address = strtoull(end + 1, &end, 0);
	points[point_count++] = point;
	return *end == '\0';
}

int qemu_plugin_install(qemu_plugin_id id, const struct qemu_info *info, int count, char **words)
{
	const char *with = NULL;
	int only_cpu = -1;

	for (int i = 0; i < count; i++) {
		if (strncmp(words[i], "out=", 4) == 0)
			out = words[i] + 4;
		if (strncmp(words[i], "peer=", 5) == 0)
			with = words[i] + 5;
		if (strncmp(words[i], "cpu=", 4) == 0)
			only_cpu = atoi(words[i] + 4);
		if (strncmp(words[i], "marks=", 6) == 0 && !read_marks(words[i] + 6)) {
			fprintf(stderr, "worldswitch's plugin needs marks=FIRST-LAST\n");
			return 1;
		}
		if (strncmp(words[i], "point=", 6) == 0 && !read_point(words[i] + 6)) {
			fprintf(stderr, "worldswitch's plugin takes %d words point=LEVEL-ADDRESS\n",
				MAX_POINTS);
			return 1;
		}
		if (strncmp(words[i], "own-vmid=", 9) == 0)
			own_vmid = strtoull(words[i] + 9, NULL, 0);
		counts_only |= strcmp(words[i], "counts=on") == 0;
		is_stream |= strcmp(words[i], "stream=on") == 0;
	}
	if (!out) {
		fprintf(stderr, "worldswitch's plugin needs out=FILE\n");
		return 1;
	}
	snprintf(target, sizeof(target), "%s", info->target_name);
	is_arm = strcmp(target, "aarch64") == 0;
	if (!start(only_cpu, with)) {
		fprintf(stderr,
			"worldswitch's plugin can't start: there is no memory for it, or it says why above\n");
		return 1;
	}
	trace.marks = marks;
	if (strcmp(target, "x86_64") == 0)
		trace.outputs = OUTPUTS_PORTS;
	else if (strcmp(target, "riscv64") == 0)
		trace.outputs = OUTPUTS_WORDS;
	/* On ARM and RISC-V the bytes say it. */
	trace.sees_accesses = PLUGIN_API >= 3 && strcmp(target, "x86_64") == 0;
	subscribe(id);
	return 0;
}
