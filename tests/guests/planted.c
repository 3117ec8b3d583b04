/*
 * Rows that go wrong on purpose, one way each (tests/e2e/planted.bats). Built into a guest of
 * their own by EXTRA_BENCH: the `plant-*` rows follow the suite's rows, and each may affect only
 * itself.
 */
#include "common/crc32.h"
#include "common/text.h"
#include "row.h"

/* ---- Exceptions, hangs and resets in the timed loop ------------------------------------------ */

TIMED_LOOP(plant_ud, "ud2");
ROW(plant_ud, "plant-ud", .run = plant_ud_run);

/* A non-canonical address. */
TIMED_LOOP(plant_gp, "movabs $0x8000000000000000, %rax\n\tmov (%rax), %rax");
ROW(plant_gp, "plant-gp", .run = plant_gp_run);

/* An unmapped address. */
TIMED_LOOP(plant_pf, "movabs $0x123456789000, %rax\n\tmov (%rax), %rax");
ROW(plant_pf, "plant-pf", .run = plant_pf_run);

TIMED_LOOP(plant_loop, "9:\tjmp 9b");
ROW(plant_loop, "plant-loop", .run = plant_loop_run);

/* No table of exception handlers, and an exception. */
static struct table_register no_table;
TIMED_LOOP(plant_triple, "lidt (%rsi)\n\tud2");

static bool init_triple(struct bench_run *run)
{
	run->operand = &no_table;
	return true;
}
ROW(plant_triple, "plant-triple", .init = init_triple, .run = plant_triple_run);

/* ---- Spoiled record lines -------------------------------------------------------------------- */

/* Writes a record line that is valid except for what the caller spoils. */
static void forged(const struct bench_run *run, uint64_t nonce, uint32_t crc_spoiler, bool half)
{
	static const char object[] =
		"{\"kind\":\"result\",\"bench\":\"sgdt\",\"part\":1,\"parts\":1,"
		"\"iterations\":1,\"cpus\":1,\"check\":\"proved\",\"note\":\"\","
		"\"run\":[666666],\"control\":[0]}";
	char line[512];
	struct text text;
	uint32_t crc;

	(void)run;
	text_start(&text, line, sizeof(line));
	text_printf(&text, "guest %lx 9999 %zu %s", nonce, sizeof(object) - 1, object);
	crc = crc32(0, line, text.used) ^ crc_spoiler;
	console_printf("@ws1 %08x ", crc);
	console_write(line, half ? text.used / 2 : text.used);
	console_write("\n", 1);
}

static enum check check_garbage(struct bench_run *run)
{
	for (unsigned i = 0; i < 512; i++) {
		char byte = (char)(i * 37);

		console_write(&byte, 1);
	}
	console_write("@ws1 @ws1 00000000 guest\n@ws1\n", 30);
	console_write("no newline at the end: ", 23);
	bench_note(run, "garbage was written");
	return CHECK_PROVED;
}
ROW(plant_garbage, "plant-garbage", .check = check_garbage);

static enum check check_cut(struct bench_run *run)
{
	forged(run, run->params->nonce, 0, true);
	bench_note(run, "a record was cut in half");
	return CHECK_PROVED;
}
ROW(plant_cut, "plant-cut", .check = check_cut);

static enum check check_crc(struct bench_run *run)
{
	forged(run, run->params->nonce, 1, false);
	bench_note(run, "a record with a wrong CRC was written");
	return CHECK_PROVED;
}
ROW(plant_crc, "plant-crc", .check = check_crc);

static enum check check_stale(struct bench_run *run)
{
	forged(run, run->params->nonce ^ 1, 0, false);
	bench_note(run, "a record of another launch was written");
	return CHECK_PROVED;
}
ROW(plant_stale, "plant-stale", .check = check_stale);

/* Loses its own result: the serial port loops back to itself (MCR bit 4) until cleanup. */
#define COM1_MODEM 0x3fc

static enum check check_lost(struct bench_run *run)
{
	bench_note(run, "nobody will read this");
	(void)serial_port_drained(0x3f8);
	out8(COM1_MODEM, 0x13);
	return CHECK_PROVED;
}

static void cleanup_lost(struct bench_run *run)
{
	(void)run;
	out8(COM1_MODEM, 0x03);
}
ROW(plant_lost, "plant-lost", .check = check_lost, .cleanup = cleanup_lost);

/* Far more than any runner accepts. */
static enum check check_flood(struct bench_run *run)
{
	for (unsigned i = 0; i < 1000000; i++)
		console_write("flood flood flood flood flood flood flood flood flood flood\n", 60);
	bench_note(run, "60 MB were written");
	return CHECK_PROVED;
}
ROW(plant_flood, "plant-flood", .check = check_flood);

/* ---- Hostile strings -------------------------------------------------------------------------- */

static enum check check_strings(struct bench_run *run)
{
	console_write("\x1b[2J\x1b]0;title\x07 console text with escapes\n", 43);
	bench_note(run, "\x1b[31mred\x1b[0m <script>alert(1)</script> | `code` \x9b"
			"2J =1+1");
	return CHECK_PROVED;
}
ROW(plant_strings, "plant-strings", .check = check_strings);

static const char *needs_strings(const struct params *params)
{
	(void)params;
	return "\x1b[2J<img src=x onerror=alert(1)>";
}
ROW(plant_skip, "plant-skip", .needs = needs_strings);

/* ---- A check that fails ----------------------------------------------------------------------- */

static enum check check_fails(struct bench_run *run)
{
	bench_note(run, "the event did not take place");
	return CHECK_FAILED;
}
ROW(plant_check, "plant-check", .check = check_fails);
