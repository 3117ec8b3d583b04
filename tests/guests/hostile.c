/*
 * Rows that try to crash a monitor, one way each (tests/e2e/vmm.bats). Built into a guest of their own by
 * EXTRA_BENCH. The monitor must report what happened, and end or go on.
 */
#include "row.h"
#include "tests/guests/wrong_text.h"

/* Interrupts are always off on the first CPU. */
TIMED_LOOP(hostile_spin, "9:\tjmp 9b");
ROW(hostile_spin, "hostile-spin", .run = hostile_spin_run);

static struct table_register no_table;
TIMED_LOOP(hostile_triple, "lidt (%rsi)\n\tud2");

static bool init_triple(struct bench_run *run)
{
	run->operand = &no_table;
	return true;
}
ROW(hostile_triple, "hostile-triple", .init = init_triple, .run = hostile_triple_run);

/* The same at an unmapped address: the monitor can't read the code there. */
TIMED_LOOP(hostile_astray, "lidt (%rsi)\n\tmovabs $0x600000000000, %rax\n\tjmp *%rax");
ROW(hostile_astray, "hostile-astray", .init = init_triple, .run = hostile_astray_run);

/* Guest-physical addresses below 4 GiB without device and memory. */
#define NOWHERE 0xd0000000

static enum check check_beyond(struct bench_run *run)
{
	uint32_t seen = mmio_read32(NOWHERE);

	mmio_write32(NOWHERE + 0x1000000, 1);
	mmio_write32(NOWHERE + 0xffe, 1);
	bench_note(run, "it reads as %x", seen);
	return seen == 0xffffffff ? CHECK_PROVED : CHECK_FAILED;
}
ROW(hostile_beyond, "hostile-beyond", .check = check_beyond);

/* A jump to an address without memory. */
TIMED_LOOP(hostile_fetch, "mov $0xd0000000, %eax\n\tjmp *%rax");
ROW(hostile_fetch, "hostile-fetch", .run = hostile_fetch_run);

static enum check check_flood(struct bench_run *run)
{
	for (unsigned i = 0; i < 1000000; i++)
		console_write("flood flood flood flood flood flood flood flood flood flood\n", 60);
	bench_note(run, "60 MB were written");
	return CHECK_PROVED;
}
ROW(hostile_flood, "hostile-flood", .check = check_flood);

/* Ports without a device: bytes, and string instructions. */
static enum check check_ports(struct bench_run *run)
{
	char bytes[64];
	char *to = bytes;
	uint64_t count = sizeof(bytes);

	for (unsigned port = 0x1000; port < 0x1010; port++)
		out8((uint16_t)port, in8((uint16_t)port));
	__asm__ volatile("rep insb" : "+D"(to), "+c"(count) : "d"(0x1000) : "memory");
	bench_note(run, "they read as %x", (uint8_t)bytes[63]);
	return in8(0x1000) == 0xff && bytes[0] == -1 && bytes[63] == -1 ? CHECK_PROVED
									: CHECK_FAILED;
}
ROW(hostile_ports, "hostile-ports", .check = check_ports);

/* The doorbell with notes at addresses without memory, across the end of memory, and invalid ones; and with a
 * name that is not terminated. */
static struct bell_note note;

static void ring(const struct bench_run *run, uint64_t at)
{
	uint16_t port = (uint16_t)run->params->doorbell;

	__asm__ volatile("outl %0, %1" : : "a"((uint32_t)at), "Nd"(port) : "memory");
}

/* A line between two rings, whose exits the monitor then reports. */
static void write_line_between_rings(const struct bench_run *run)
{
	note = (struct bell_note){ .magic = BELL_MAGIC, .kind = BELL_BEGIN, .bench = "line" };
	ring(run, (uint64_t)&note);
	console_printf("a line of several dozen bytes, which is one exit to the monitor\n");
	note.kind = BELL_END;
	note.iterations = note.samples = 1;
	ring(run, (uint64_t)&note);
}

static enum check check_bell(struct bench_run *run)
{
	if (run->params->doorbell == PORT_NONE)
		return CHECK_UNPROVEN;
	ring(run, NOWHERE);
	ring(run, 0xffffffff);
	ring(run, memory_bytes());
	for (unsigned i = 0; i < sizeof(note.bench); i++)
		note.bench[i] = i % 2 ? '"' : (char)0x9b;
	note.iterations = note.samples = note.index = UINT64_MAX;
	for (note.magic = 0x31425356; note.magic < 0x31425359; note.magic++)
		for (note.kind = 0; note.kind < 4; note.kind++)
			ring(run, (uint64_t)&note);
	out8((uint16_t)run->params->doorbell, 0xff);
	bench_note(run, "the bell was rung in wrong ways");
	write_line_between_rings(run);
	return takes_no_wrong_text(run, NOWHERE, memory_bytes(), ring) ? CHECK_PROVED
								       : CHECK_FAILED;
}
ROW(hostile_bell, "hostile-bell", .check = check_bell);
