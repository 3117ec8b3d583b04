/* Unit tests of what only guest.mb2 has: Multiboot2, the screen, the table (on the host, under ASan and UBSan). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "guest/platform/multiboot2.h"
#include "guest/screen/font.h"
#include "guest/screen/screen.h"
#include "guest/screen/table.h"
#include "guest/tests/multiboot2_maker.h"

/* ---- Multiboot2 ---------------------------------------------------------------------------- */

static const struct screen_tag usual = {
	.address = 0x80000000,
	.pitch = 4096,
	.width = 1024,
	.height = 768,
	.bits = 32,
	.kind = 1,
	.colours = { 16, 8, 8, 8, 0, 8 },
};

static struct frame_buffer screen_of(const struct screen_tag *tag, uint32_t bytes)
{
	struct multiboot2 info;
	struct list list;

	list_start(&list);
	list_tag(&list, 8, tag, bytes);
	list_end(&list);
	multiboot2_read(list.bytes, &info);
	return info.screen;
}

static void all_tags_are_read(void **state)
{
	struct multiboot2_memory map[] = { { 0x100000, 0x700000, 1, 0 },
					   { 0xfee00000, 0x1000, 2, 0 } };
	uint8_t memory[8 + sizeof(map)] = { 24 }, old[20] = "RSD PTR old", new[36] = "RSD PTR new";
	struct multiboot2 info;
	struct list list;

	(void)state;
	memcpy(memory + 8, map, sizeof(map));
	for (unsigned new_first = 0; new_first < 2; new_first++) {
		list_start(&list);
		list_tag(&list, 77, "unknown", 7);
		list_tag(&list, 1, "bench=in", 9);
		if (new_first)
			list_tag(&list, 15, new, sizeof(new));
		list_tag(&list, 14, old, sizeof(old));
		if (!new_first)
			list_tag(&list, 15, new, sizeof(new));
		list_tag(&list, 6, memory, sizeof(memory));
		list_tag(&list, 8, &usual, sizeof(usual));
		list_end(&list);
		list_tag(&list, 1, "behind the end", 15);
		multiboot2_read(list.bytes, &info);
		assert_string_equal(info.cmdline, "bench=in");
		assert_memory_equal(info.rsdp, new, sizeof(new));
		assert_int_equal(info.memory_count, 2);
		assert_int_equal(multiboot2_memory_at(&info, 1).start, 0xfee00000);
		assert_int_equal(multiboot2_memory_at(&info, 1).type, 2);
		assert_int_equal(info.screen.address, 0x80000000);
		assert_int_equal(info.screen.white, 0xffffff);
	}
}

static void an_old_root_pointer_has_no_xsdt(void **state)
{
	uint8_t old[36], none[16] = { 0 };
	struct multiboot2 info;
	struct list list;

	(void)state;
	memset(old, 0xee, sizeof(old));
	list_start(&list);
	list_tag(&list, 14, old, sizeof(old)); /* longer than it should be */
	list_end(&list);
	multiboot2_read(list.bytes, &info);
	assert_true(info.has_rsdp);
	assert_memory_equal(info.rsdp, old, 20);
	assert_memory_equal(info.rsdp + 20, none, 16);
}

static void impossible_sizes_are_refused(void **state)
{
	static const uint32_t sizes[] = { 0, 7, 4000, UINT32_MAX, UINT32_MAX - 7 };
	struct multiboot2 info;
	struct list list;
	uint32_t huge = MULTIBOOT2_MAX_BYTES + 1;

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		list_start(&list);
		list_tag(&list, 1, "bench=in", 9);
		memcpy(list.bytes + list.used + 4, &sizes[i], 4);
		list.bytes[list.used] = 6;
		list.used += 8;
		list_tag(&list, 15, "RSD PTR behind what can't be passed over", 36);
		list_end(&list);
		multiboot2_read(list.bytes, &info);
		assert_non_null(info.cmdline);
		assert_false(info.has_rsdp);
		assert_int_equal(info.memory_count, 0);
	}
	memcpy(list.bytes, &huge, 4);
	multiboot2_read(list.bytes, &info);
	assert_null(info.cmdline);

	list_start(&list);
	list_tag(&list, 1, "no end", 6);
	list_tag(&list, 15, "RSD PTR but too short", 21);
	list_tag(&list, 6, "\x17\0\0\0\0\0\0\0 entries of 23 bytes are too short", 40);
	list_end(&list);
	multiboot2_read(list.bytes, &info);
	assert_null(info.cmdline);
	assert_false(info.has_rsdp);
	assert_int_equal(info.memory_count, 0);
}

static void impossible_screens_are_refused(void **state)
{
	struct screen_tag tag = usual;

	(void)state;
	assert_int_equal(screen_of(&tag, sizeof(tag)).pixel_bytes, 4);
	assert_int_equal(screen_of(&tag, 24).address, 0); /* no colours */
#define REFUSED(change)                                                    \
	do {                                                               \
		tag = usual;                                               \
		change;                                                    \
		assert_int_equal(screen_of(&tag, sizeof(tag)).address, 0); \
	} while (0)
	REFUSED(tag.address = 0);
	REFUSED(tag.address = 0x90000);
	REFUSED(tag.address = UINT64_MAX - 4096);
	REFUSED(tag.address = 64ull << 40);
	REFUSED(tag.pitch = 4095);
	REFUSED(tag.pitch = UINT32_MAX);
	REFUSED(tag.width = 0);
	REFUSED(tag.width = 0x40000001);
	REFUSED(tag.height = 0);
	REFUSED(tag.height = UINT32_MAX);
	REFUSED(tag.bits = 8);
	REFUSED(tag.bits = 33);
	REFUSED(tag.kind = 0);
	REFUSED(tag.kind = 3);
	REFUSED(memset(tag.colours, 0xff, 6));
	REFUSED(tag.kind = 2); /* text outside the VGA's memory */
	tag = (struct screen_tag){
		.address = 0xb8000, .pitch = 160, .width = 80, .height = 25, .bits = 16, .kind = 2
	};
	assert_true(screen_of(&tag, 23).text);
	tag.height = 1000;
	assert_int_equal(screen_of(&tag, 24).address, 0);
}

/* ---- The screen ---------------------------------------------------------------------------- */

/* Draws "A" at line 1, column 1 of 2 by 3 characters, and reads it back pixel by pixel. Sanitizers and the bytes
 * behind each line find what is drawn elsewhere. */
static void draws_with(uint32_t pixel_bytes, uint32_t white)
{
	uint32_t pitch = 2 * FONT_WIDTH * pixel_bytes + 12, height = 3 * FONT_HEIGHT + 5;
	uint8_t *memory = malloc((size_t)pitch * height);
	struct frame_buffer buffer = {
		.address = (uint64_t)memory,
		.pitch = pitch,
		.width = 2 * FONT_WIDTH + 2,
		.height = height,
		.pixel_bytes = pixel_bytes,
		.white = white,
	};
	struct screen screen;

	memset(memory, 0xaa, (size_t)pitch * height);
	screen_open(&screen, &buffer);
	assert_int_equal(screen.columns, 2);
	assert_int_equal(screen.lines, 3);
	screen_write(&screen, 1, 1, "ABC", 3);
	screen_write(&screen, 3, 0, "ABC", 3);
	screen_write(&screen, 0, 2, "ABC", 3);
	for (uint32_t y = 0; y < 3 * FONT_HEIGHT; y++) {
		for (uint32_t x = 0; x < 2 * FONT_WIDTH; x++) {
			bool cell = y / FONT_HEIGHT == 1 && x / FONT_WIDTH == 1;
			bool lit = cell && font_line('A', y % FONT_HEIGHT) << x % FONT_WIDTH & 0x80;
			uint32_t pixel = 0;

			memcpy(&pixel, memory + y * pitch + x * pixel_bytes, pixel_bytes);
			assert_int_equal(pixel, lit ? white : 0);
		}
		for (uint32_t i = 2 * FONT_WIDTH * pixel_bytes; i < pitch; i++)
			assert_int_equal(memory[y * pitch + i], 0xaa);
	}
	free(memory);
}

static void draws_pixels_of_all_sizes(void **state)
{
	(void)state;
	draws_with(4, 0xffffff);
	draws_with(3, 0xffffff);
	draws_with(2, 0xffff);
	draws_with(2, 0x7fff);
}

/* On a screen of many pixels each pixel of the font is several. */
static void enlarges(void **state)
{
	enum { WIDTH = 3 * FONT_WIDTH, HEIGHT = 2160, SCALE = 3 };
	uint8_t *memory = calloc((size_t)WIDTH * HEIGHT, 4);
	struct frame_buffer buffer = { (uint64_t)memory, 4 * WIDTH, WIDTH, HEIGHT, 4,
				       0xffffff,	 false };
	struct screen screen;

	(void)state;
	screen_open(&screen, &buffer);
	assert_int_equal(screen.columns, 1);
	assert_int_equal(screen.lines, HEIGHT / FONT_HEIGHT / SCALE);
	screen_write(&screen, 0, 0, "g", 1);
	for (unsigned y = 0; y < SCALE * FONT_HEIGHT; y++)
		for (unsigned x = 0; x < WIDTH; x++)
			assert_int_equal(!!memory[4 * (y * WIDTH + x)],
					 font_line('g', y / SCALE) << x / SCALE >> 7 & 1);
	free(memory);
}

static void writes_text(void **state)
{
	uint8_t memory[2 * 8] = { 0 };
	struct frame_buffer buffer = { (uint64_t)memory, 8, 4, 2, 0, 0, true };
	struct screen screen;

	(void)state;
	screen_open(&screen, &buffer);
	screen_write(&screen, 1, 2, "xyz", 2);
	assert_memory_equal(memory, " \7 \7 \7 \7 \7 \7x\7y\7", sizeof(memory));
	screen_write(&screen, 1, 2, "", 1);
	assert_memory_equal(memory, " \7 \7 \7 \7 \7 \7 \7y\7", sizeof(memory));
}

static void without_a_screen_nothing_is_drawn(void **state)
{
	struct frame_buffer none = { 0 };
	struct screen screen;

	(void)state;
	screen_open(&screen, &none);
	screen_write(&screen, 0, 0, "x", 1);
	assert_int_equal(screen.lines, 0);
}

/* Each glyph but the blank has pixels, no two are alike, and none touches the cell's left or right edge. */
static void glyphs_differ(void **state)
{
	uint8_t cells[FONT_LAST + 1][FONT_HEIGHT];

	(void)state;
	for (int c = FONT_FIRST; c <= FONT_LAST; c++) {
		for (unsigned line = 0; line < FONT_HEIGHT; line++) {
			cells[c][line] = font_line((char)c, line);
			assert_int_equal(cells[c][line] & 0x80, 0);
		}
		for (int other = FONT_FIRST; other < c; other++)
			assert_memory_not_equal(cells[c], cells[other], FONT_HEIGHT);
	}
	assert_int_equal(font_line('\n', 4), font_line('?', 4));
	assert_int_equal(font_line((char)0xff, 4), font_line('?', 4));
}

/* ---- The table ----------------------------------------------------------------------------- */

static void costs(void **state)
{
	uint64_t odd[] = { 300, 100, 200 }, even[] = { 40, 10, 30, 20 }, few[] = { 7, 9, 8, 9, 8 };
	uint64_t negative[] = { (uint64_t)-5, (uint64_t)-1, 3 }, large[] = { 1ull << 50 };

	(void)state;
	assert_int_equal(table_cost(odd, 3, 1, false), 200000);
	assert_int_equal(table_cost(even, 4, 10, false), 2500);
	assert_int_equal(table_cost(few, 5, 1, true), 8000);
	assert_int_equal(table_cost(negative, 3, 1, false), 0);
	assert_int_equal(table_cost(large, 1, 1, false), 1000ull << 50);
	assert_int_equal(table_cost(odd, 0, 1, false), 0);
	assert_int_equal(table_cost(odd, 3, 0, false), 0);
}

static void numbers(void **state)
{
	static const struct {
		uint64_t thousandths;
		const char *text;
	} rows[] = {
		{ 0, "~0" },
		{ 1, "0.001" },
		{ 583, "0.583" },
		{ 999, "0.999" },
		{ 1000, "1.00" },
		{ 9876, "9.88" },
		{ 9994, "9.99" },
		{ 9995, "10.0" },
		{ 29549, "29.5" },
		{ 99949, "99.9" },
		{ 99950, "100" },
		{ 168499, "168" },
		{ 999500, "1,000" },
		{ 215357000, "215,357" },
		{ 20873100000, "20,873,100" },
		{ 1000005000, "1,000,005" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		char buffer[32];
		struct text text;

		text_start(&text, buffer, sizeof(buffer));
		table_number(&text, rows[i].thousandths);
		assert_string_equal(buffer, rows[i].text);
	}
}

static char said[4096];

void console_write(const char *text, size_t bytes)
{
	assert_true(strlen(said) + bytes < sizeof(said));
	strncat(said, text, bytes);
}

#define COLUMNS 90
#define LINES	7
static uint8_t cells[LINES][COLUMNS][2];

/* What a line of the text screen says, without the blanks at its end. */
static const char *line_of_screen(unsigned line)
{
	static char text[COLUMNS + 1];
	int last = -1;

	for (int i = 0; i < COLUMNS; i++) {
		text[i] = (char)cells[line][i][0];
		if (text[i] != ' ')
			last = i;
	}
	text[last + 1] = 0;
	return text;
}

static void measured(const char *name, uint64_t ticks, const char *verdict)
{
	uint64_t run[3] = { ticks + 5, ticks + 5, ticks + 5 }, control[3] = { 5, 5, 5 };

	show_row(name);
	show_measured(run, control, 3, 1, verdict);
}

static void table_on_screen_and_console(void **state)
{
	struct table_facts facts = {
		.head = "a machine", .unit = "tsc_ticks", .unit_hz = 2596000000, .selected = 6
	};
	struct frame_buffer buffer = { (uint64_t)cells, 2 * COLUMNS, COLUMNS, LINES, 0, 0, true };
	uint64_t memory[512];

	(void)state;
	said[0] = 0;
	measured("ignored", 1, "proved"); /* before the start */
	table_start(&facts, &buffer, memory, sizeof(memory));
	assert_string_equal(line_of_screen(0), "a machine");
	assert_string_equal(
		line_of_screen(1),
		"tsc_ticks for one operation (2.596 are 1 ns); ~0: cannot be told from zero; ?: unproven");
	measured("in", 1234, "proved");
	show_row("cpuid");
	assert_string_equal(line_of_screen(LINES - 1), "2 of 6: cpuid");
	measured("cpuid", 70, "unproven");
	show_row("hypercall");
	show_skipped("nobody answers");
	measured("out", 3, "failed");
	/* Two lines of two columns. */
	assert_string_equal(
		line_of_screen(3),
		"in                              1,234   hypercall                        skip");
	assert_string_equal(
		line_of_screen(4),
		"cpuid                            70.0 ? out                            failed");
	/* A page is full. */
	measured("idle", 0, "proved");
	assert_string_equal(line_of_screen(3), "idle                               ~0");
	assert_string_equal(line_of_screen(4), "");
	/* Its cleanup raises an exception. */
	measured("print", 9, "proved");
	show_failed("#GP");
	assert_string_equal(line_of_screen(4), "print                          failed");
	show_end();
	assert_string_equal(line_of_screen(LINES - 1), "3 measured, 1 skipped, 2 failed");
	assert_non_null(strstr(said, "\na machine\ntsc_ticks for one operation"));
	assert_non_null(strstr(
		said,
		"\n\nin                              1,234\ncpuid                            70.0 ?\n"
		"hypercall                        skip  nobody answers\n"
		"out                            failed  its check: see the note in the record\n"));
	assert_non_null(strstr(
		said,
		"print                          failed  #GP\n\n3 measured, 1 skipped, 2 failed\n"));
	/* The other page comes every 15 s. */
	table_stays(31);
	assert_string_equal(line_of_screen(LINES - 1),
			    "3 measured, 1 skipped, 2 failed. Power off in 31 s");
	assert_memory_equal(line_of_screen(3), "idle ", 5);
	table_stays(30);
	assert_memory_equal(line_of_screen(3), "in ", 3);
	table_stays(15);
	assert_memory_equal(line_of_screen(3), "idle ", 5);
	show_stopped(&(struct fault){ .name = "#PF", .ip = 0x1234 });
	assert_memory_equal(line_of_screen(LINES - 1),
			    "stopped by an exception: #PF at 0x1234, after 3 ", 48);
}

static void more_rows_than_memory(void **state)
{
	struct table_facts facts = { .head = "", .unit = "instructions", .take_mode = true };
	struct frame_buffer none = { 0 };
	uint64_t memory[10]; /* two rows */

	(void)state;
	said[0] = 0;
	table_start(&facts, &none, memory, sizeof(memory));
	for (unsigned i = 0; i < 5; i++)
		measured("row", 10, "proved");
	show_failed("#GP");
	show_end();
	assert_non_null(strstr(
		said,
		"\n\nrow                              10.0\nrow                              10.0\n\n"
		"4 measured, 0 skipped, 1 failed\n"));
	assert_false(table_has_screen());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(all_tags_are_read),
		cmocka_unit_test(an_old_root_pointer_has_no_xsdt),
		cmocka_unit_test(impossible_sizes_are_refused),
		cmocka_unit_test(impossible_screens_are_refused),
		cmocka_unit_test(draws_pixels_of_all_sizes),
		cmocka_unit_test(enlarges),
		cmocka_unit_test(writes_text),
		cmocka_unit_test(without_a_screen_nothing_is_drawn),
		cmocka_unit_test(glyphs_differ),
		cmocka_unit_test(costs),
		cmocka_unit_test(numbers),
		cmocka_unit_test(table_on_screen_and_console),
		cmocka_unit_test(more_rows_than_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
