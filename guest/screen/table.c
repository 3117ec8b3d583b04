/* The table that people read; see table.h. */
#include "guest/screen/table.h"

#include "common/console_printf.h"
#include "guest/screen/screen.h"

/* A cell of the screen's table: name, value right-aligned, a mark, and a blank. */
#define NAME_WIDTH   27
#define VALUE_WIDTH  10
#define CELL_WIDTH   40
/* The screen: head, unit, a blank line, rows, a blank line, status. */
#define FIRST_LINE   3
#define OTHER_LINES  5
#define PAGE_SECONDS 15

struct row {
	const char *name;
	const char *word;   /* instead of a value: "skip"; NULL: there is a value */
	const char *reason; /* of a skip; what failed */
	uint64_t thousandths;
	bool unproven;
};

static struct table_facts facts;
static struct screen screen;
static struct row *rows, running;
static size_t kept, room;
static uint64_t measured, skipped, failed;
static unsigned page; /* which part of the rows the screen shows */

/* ---- Numbers ------------------------------------------------------------------------------- */

static void sort(uint64_t *values, uint64_t count)
{
	for (uint64_t i = 1; i < count; i++) {
		uint64_t value = values[i], at = i;

		for (; at && values[at - 1] > value; at--)
			values[at] = values[at - 1];
		values[at] = value;
	}
}

static uint64_t mode_of(const uint64_t *sorted, uint64_t count)
{
	uint64_t best = 0, best_length = 0, length = 0;

	for (uint64_t i = 0; i < count; i++) {
		length = i && sorted[i] == sorted[i - 1] ? length + 1 : 1;
		if (length > best_length) {
			best_length = length;
			best = sorted[i];
		}
	}
	return best;
}

uint64_t table_cost(uint64_t *differences, uint64_t count, uint64_t iterations, bool mode)
{
	uint64_t twice;

	if (!count || !iterations)
		return 0;
	for (uint64_t i = 0; i < count; i++)
		if (differences[i] > INT64_MAX)
			differences[i] = 0;
	sort(differences, count);
	if (mode)
		twice = 2 * mode_of(differences, count);
	else
		twice = differences[(count - 1) / 2] + differences[count / 2];
	/* In two parts, as the product with the whole may not fit. */
	return twice / iterations * 500 + twice % iterations * 500 / iterations;
}

void table_number(struct text *out, uint64_t thousandths)
{
	uint64_t hundredths = (thousandths + 5) / 10, tenths = (thousandths + 50) / 100;
	uint64_t whole = thousandths / 1000 + (thousandths % 1000 >= 500), divisor = 1;

	if (!thousandths) {
		text_printf(out, "~0");
	} else if (thousandths < 1000) {
		text_printf(out, "0.%03lu", thousandths);
	} else if (hundredths < 1000) {
		text_printf(out, "%lu.%02lu", hundredths / 100, hundredths % 100);
	} else if (tenths < 1000) {
		text_printf(out, "%lu.%lu", tenths / 10, tenths % 10);
	} else {
		while (whole / divisor >= 1000)
			divisor *= 1000;
		text_printf(out, "%lu", whole / divisor);
		for (; divisor > 1; divisor /= 1000)
			text_printf(out, ",%03lu", whole % divisor / (divisor / 1000));
	}
}

/* ---- Lines --------------------------------------------------------------------------------- */

static void blanks(struct text *out, size_t up_to)
{
	while (out->used < up_to && !out->full)
		text_printf(out, " ");
}

/* Name, and value or word, right-aligned; then a mark. */
static void row_line(struct text *out, const struct row *row)
{
	char buffer[32];
	struct text value;

	text_start(&value, buffer, sizeof(buffer));
	if (row->word)
		text_printf(&value, "%s", row->word);
	else
		table_number(&value, row->thousandths);
	text_printf(out, "%s", row->name);
	blanks(out, NAME_WIDTH + VALUE_WIDTH - value.used);
	text_printf(out, "%s%s", buffer, row->unproven ? " ?" : "");
}

static void unit_line(struct text *out)
{
	uint64_t mhz = facts.unit_hz / 1000000;

	text_printf(out, "%s for one operation", facts.unit);
	if (mhz)
		text_printf(out, " (%lu.%03lu are 1 ns)", mhz / 1000, mhz % 1000);
	text_printf(out, "; ~0: cannot be told from zero; ?: unproven");
}

static void counts_line(struct text *out)
{
	text_printf(out, "%lu measured, %lu skipped, %lu failed", measured, skipped, failed);
}

/* ---- The screen ---------------------------------------------------------------------------- */

static unsigned body_lines(void)
{
	return screen.lines > OTHER_LINES ? screen.lines - OTHER_LINES : 0;
}

static unsigned rows_of_page(void)
{
	unsigned beside = screen.columns / CELL_WIDTH;

	return body_lines() * (beside ? beside : 1);
}

static void draw_row(size_t index)
{
	size_t place = index % rows_of_page();
	char buffer[CELL_WIDTH];
	struct text cell;

	text_start(&cell, buffer, sizeof(buffer));
	row_line(&cell, &rows[index]);
	screen_write(&screen, FIRST_LINE + (unsigned)(place % body_lines()),
		     (unsigned)(place / body_lines()) * CELL_WIDTH, buffer, CELL_WIDTH);
}

static void draw_page(unsigned which)
{
	size_t from = (size_t)which * rows_of_page();

	page = which;
	screen_clear(&screen, FIRST_LINE, FIRST_LINE + body_lines());
	for (size_t i = from; i < kept && i < from + rows_of_page(); i++)
		draw_row(i);
}

static void draw_line(unsigned line, const char *text)
{
	screen_write(&screen, line, 0, text, screen.columns);
}

bool table_has_screen(void)
{
	return body_lines() > 0;
}

static void draw_status(const char *text)
{
	if (table_has_screen())
		draw_line(screen.lines - 1, text);
}

/* ---- The table ----------------------------------------------------------------------------- */

void table_start(const struct table_facts *of, const struct frame_buffer *buffer, void *memory,
		 size_t memory_bytes)
{
	char line[256];
	struct text text;

	facts = *of;
	rows = memory;
	room = memory_bytes / sizeof(*rows);
	kept = 0;
	measured = skipped = failed = 0;
	page = 0;
	screen_open(&screen, buffer);
	draw_line(0, facts.head);
	text_start(&text, line, sizeof(line));
	unit_line(&text);
	draw_line(1, line);
}

void show_row(const char *name)
{
	char buffer[128];
	struct text text;

	if (!rows)
		return;
	running = (struct row){ .name = name };
	text_start(&text, buffer, sizeof(buffer));
	text_printf(&text, "%lu of %lu: %s", measured + skipped + failed + 1, facts.selected, name);
	draw_status(buffer);
}

/* The row's end. */
static void keep(void)
{
	struct row row = running;

	running.name = NULL;
	if (kept == room)
		return;
	rows[kept++] = row;
	if (!table_has_screen())
		return;
	if ((kept - 1) / rows_of_page() == page)
		draw_row(kept - 1);
	else
		draw_page((unsigned)((kept - 1) / rows_of_page()));
}

void show_measured(uint64_t *run, const uint64_t *control, uint64_t count, uint64_t iterations,
		   const char *verdict)
{
	if (!rows)
		return;
	if (text_equal(verdict, "failed")) {
		show_failed("its check: see the note in the record");
		return;
	}
	for (uint64_t i = 0; i < count; i++)
		run[i] -= control[i];
	running.thousandths = table_cost(run, count, iterations, facts.take_mode);
	running.unproven = !text_equal(verdict, "proved");
	measured++;
	keep();
}

void show_skipped(const char *reason)
{
	if (!rows)
		return;
	running.word = "skip";
	running.reason = reason;
	skipped++;
	keep();
}

/* After a row's end, which left its name out of `running`, it is the cleanup that failed. */
void show_failed(const char *what)
{
	if (!rows)
		return;
	failed++;
	if (!running.name) {
		measured--;
		if (kept == room)
			return;
		running = rows[--kept];
	}
	running.word = "failed";
	running.reason = what;
	keep();
}

void show_end(void)
{
	char buffer[256];
	struct text line;

	if (!rows)
		return;
	text_start(&line, buffer, sizeof(buffer));
	unit_line(&line);
	console_printf("\n%s\n%s\n\n", facts.head, buffer);
	for (size_t i = 0; i < kept; i++) {
		text_start(&line, buffer, sizeof(buffer));
		row_line(&line, &rows[i]);
		if (rows[i].reason)
			text_printf(&line, "  %s", rows[i].reason);
		console_printf("%s\n", buffer);
	}
	text_start(&line, buffer, sizeof(buffer));
	counts_line(&line);
	console_printf("\n%s\n", buffer);
	draw_status(buffer);
}

void show_stopped(const struct fault *fault)
{
	char buffer[128];
	struct text line;

	if (!rows)
		return;
	text_start(&line, buffer, sizeof(buffer));
	text_printf(&line, "stopped by an exception: %s at 0x%lx, after ", fault->name, fault->ip);
	counts_line(&line);
	draw_status(buffer);
}

void table_stays(uint64_t seconds_left)
{
	char buffer[128];
	struct text line;
	size_t pages;

	if (!table_has_screen())
		return;
	pages = kept ? (kept - 1) / rows_of_page() + 1 : 1;
	if (pages > 1 && seconds_left % PAGE_SECONDS == 0)
		draw_page((page + 1) % (unsigned)pages);
	text_start(&line, buffer, sizeof(buffer));
	counts_line(&line);
	text_printf(&line, ". Power off in %lu s", seconds_left);
	draw_status(buffer);
}
