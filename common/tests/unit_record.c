/* Unit tests of records (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/crc32.h"
#include "common/record.h"

static struct record record;
static char line_bytes[MAX_RECORD_BYTES + 1];

static void a_record_is_one_line_with_its_sum(void **state)
{
	static const char body[] =
		"guest beef 7 41 {\"kind\":\"begin\",\"bench\":\"a\\\"b\",\"index\":3}";
	struct record_line line = { .nonce = 0xbeef, .sequence = 7 };
	char want[256];
	struct text text;

	(void)state;
	text_start(&text, want, sizeof(want));
	text_printf(&text, "@ws1 %08x %s\n", crc32(0, body, strlen(body)), body);
	assert_ptr_equal(record_start(&record, "begin"), &record.text);
	record_string(&record, "bench", "a\"b");
	record_u64(&record, "index", 3);
	assert_int_equal(record_finish(&record, "guest", &line, line_bytes), text.used);
	assert_string_equal(line_bytes, want);
	assert_int_equal(line.sequence, 8);
}

static void a_record_that_does_not_fit_leaves_a_gap(void **state)
{
	struct record_line line = { 0 };

	(void)state;
	record_start(&record, "result");
	record_key(&record, "run");
	while (!record.text.full)
		text_printf(&record.text, "1,");
	assert_int_equal(record_finish(&record, "guest", &line, line_bytes), 0);
	assert_int_equal(line.sequence, 1);
}

static void the_longest_record_fits_a_line(void **state)
{
	struct record_line line = { .nonce = UINT64_MAX, .sequence = UINT64_MAX };

	(void)state;
	record_start(&record, "result");
	while (record.text.used < record.text.size - 2)
		text_printf(&record.text, "1");
	assert_int_not_equal(record_finish(&record, "12345678", &line, line_bytes), 0);
	assert_int_equal(line_bytes[strlen(line_bytes) - 1], '\n');
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_record_is_one_line_with_its_sum),
		cmocka_unit_test(a_record_that_does_not_fit_leaves_a_gap),
		cmocka_unit_test(the_longest_record_fits_a_line),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
