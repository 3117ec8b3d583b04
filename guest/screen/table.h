/*
 * The table that people read: each row when it was measured, on the screen, and all of them at the end, on the
 * console. It implements the middle of core/show.h; without table_start() that does nothing.
 */
#ifndef TABLE_H
#define TABLE_H

#include "guest/core/show.h"
#include "guest/screen/frame_buffer.h"

/* What the head of the table says. Strings must stay valid. */
struct table_facts {
	const char *head;  /* what was measured: one line */
	const char *unit;  /* of the values: "ticks of the TSC" */
	uint64_t unit_hz;  /* so many units are a second; 0: unknown, or no time */
	bool take_mode;	   /* a row's value is the mode of its samples, else their median */
	uint64_t selected; /* how many rows will run */
};

/* Begins the table. `memory` is kept, for the rows; those for which there is none are only counted. */
void table_start(const struct table_facts *facts, const struct frame_buffer *screen, void *memory,
		 size_t memory_bytes);

/* Is there a screen on which somebody could read it? */
bool table_has_screen(void);
/* Shows how long the machine stays on, and of a table that is longer than the screen another part every 15 s. */
void table_stays(uint64_t seconds_left);

/* ---- Pure, and declared for tests ---------------------------------------------------------- */

/* The cost of one operation in thousandths of the unit: the mode (the lowest of several) or the median of the
 * differences, over the iterations. Negative ones count as 0. The differences are sorted. */
uint64_t table_cost(uint64_t *differences, uint64_t count, uint64_t iterations, bool mode);

/* A cost with three digits or more: "~0" (nothing left), "0.583", "29.5", "215,357". */
void table_number(struct text *out, uint64_t thousandths);

#endif
