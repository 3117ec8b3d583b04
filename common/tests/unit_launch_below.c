/* Unit tests of how a first process in a VM gets its launch (on the host, make -C common test). The monitor below is
 * the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/bell_note.h"
#include "common/launch.h"
#include "common/launch_below.h"
#include "common/physical.h"
#include "common/ring.h"

#define DOORBELL 0x510

char launch_lines[MAX_LAUNCH_BYTES];

static const char *given; /* by the monitor below; NULL: it knows no such ring */
static struct bell_note told;
static unsigned rings;
static bool waited, saved, knows_address;

char *launch_wait(bool saves)
{
	waited = true;
	saved = saves;
	return strcpy(launch_lines, "own\n");
}

bool physical_address(const void *data, uint64_t *physical)
{
	*physical = (uint64_t)data;
	return knows_address;
}

const char *ring_below(uint64_t where, uint64_t at)
{
	struct bell_note *note = (void *)at;

	assert_int_equal(where, DOORBELL);
	assert_int_equal(note->magic, BELL_MAGIC);
	rings++;
	if (note->kind == BELL_LAUNCH) {
		told = *note;
	} else if (given) {
		assert_int_equal(note->kind, BELL_ASK);
		saved = note->samples;
		strncpy(note->bench, given + note->index, sizeof(note->bench));
	}
	return NULL;
}

static char *ask(const char *lines, bool saves)
{
	const char *failed;
	char *got;

	given = lines;
	rings = 0;
	waited = saved = false;
	knows_address = true;
	got = launch_ask(DOORBELL, saves, &failed);
	assert_null(failed);
	return got;
}

static void lines_come_in_parts(void **state)
{
	static char lines[2 * MAX_LAUNCH_BYTES];

	(void)state;
	for (size_t bytes = 1; bytes < 200; bytes++) {
		memset(lines, 'x', bytes);
		assert_string_equal(ask(lines, bytes % 2), lines);
		assert_int_equal(rings, bytes / sizeof(told.bench) + 1);
		assert_true(saved == bytes % 2 && !waited);
	}
	/* What is too long is cut, not written behind the buffer. */
	memset(lines, 'x', sizeof(lines) - 1);
	assert_in_range(strlen(ask(lines, true)), MAX_LAUNCH_BYTES - 2 * sizeof(told.bench),
			MAX_LAUNCH_BYTES - 1);
}

static void a_monitor_without_lines_stops_nothing(void **state)
{
	(void)state;
	for (unsigned known = 0; known < 2; known++) {
		assert_string_equal(ask(known ? "" : NULL, true), "own\n");
		assert_true(waited && saved && rings == 1);
	}
}

static void the_launch_is_told(void **state)
{
	(void)state;
	knows_address = true;
	assert_null(launch_tell(DOORBELL, 0xab12, "insns"));
	assert_int_equal(told.index, 0xab12);
	assert_string_equal(told.bench, "insns");
}

static void a_note_without_an_address_is_an_error(void **state)
{
	const char *failed = NULL;

	(void)state;
	knows_address = false;
	assert_null(launch_ask(DOORBELL, true, &failed));
	assert_non_null(failed);
	assert_non_null(launch_tell(DOORBELL, 1, "insns"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(lines_come_in_parts),
		cmocka_unit_test(a_monitor_without_lines_stops_nothing),
		cmocka_unit_test(the_launch_is_told),
		cmocka_unit_test(a_note_without_an_address_is_an_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
