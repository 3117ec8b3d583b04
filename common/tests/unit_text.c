/* Unit tests of text and CRC (on the host, under ASan and UBSan, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/crc32.h"
#include "common/text.h"

/* ---- crc32 --------------------------------------------------------------------------------- */

static void crc32_known_answers(void **state)
{
	(void)state;
	/* The check value of CRC-32/ISO-HDLC, and more values from zlib. */
	assert_int_equal(crc32(0, "123456789", 9), 0xcbf43926);
	assert_int_equal(crc32(0, "", 0), 0);
	assert_int_equal(crc32(0, "a", 1), 0xe8b7be43);
	assert_int_equal(crc32(0, "The quick brown fox jumps over the lazy dog", 43), 0x414fa339);
}

static void crc32_goes_on_where_it_stopped(void **state)
{
	(void)state;
	for (size_t cut = 0; cut <= 9; cut++)
		assert_int_equal(crc32(crc32(0, "123456789", cut), &"123456789"[cut], 9 - cut),
				 0xcbf43926);
}

/* ---- format -------------------------------------------------------------------------------- */

#define assert_formats(want, ...)                          \
	do {                                               \
		char buffer[256], host[256];               \
		struct text out;                           \
		text_start(&out, buffer, sizeof(buffer));  \
		text_printf(&out, __VA_ARGS__);            \
		snprintf(host, sizeof(host), __VA_ARGS__); \
		assert_string_equal(buffer, want);         \
		assert_string_equal(buffer, host);         \
		assert_false(out.full);                    \
	} while (0)

static void format_agrees_with_the_c_library(void **state)
{
	(void)state;
	assert_formats("plain", "plain");
	assert_formats("0 4294967295", "%u %u", 0u, 4294967295u);
	assert_formats("18446744073709551615", "%lu", UINT64_MAX);
	assert_formats("ffffffffffffffff", "%lx", UINT64_MAX);
	assert_formats("-9223372036854775808", "%ld", INT64_MIN);
	assert_formats("-2147483648", "%d", INT32_MIN);
	assert_formats("0000002a", "%08x", 42u);
	assert_formats("-0000042", "%08d", -42);
	assert_formats("     -42", "%8d", -42);
	assert_formats("17", "%zu", (size_t)17);
	assert_formats("a string, c, 100%", "%s, %c, %d%%", "a string", 'c', 100);
}

static void format_cuts_and_says_so(void **state)
{
	char buffer[8];
	struct text out;

	(void)state;
	text_start(&out, buffer, sizeof(buffer));
	text_printf(&out, "%s", "1234567");
	assert_false(out.full);
	text_printf(&out, "8");
	assert_true(out.full);
	assert_string_equal(buffer, "1234567");
	assert_int_equal(out.used, 7);
}

static void format_survives_a_buffer_of_nothing(void **state)
{
	struct text out;

	(void)state;
	text_start(&out, NULL, 0);
	text_printf(&out, "something %lu", 1ul);
	assert_true(out.full);
	assert_int_equal(out.used, 0);
}

static void json_strings_are_ascii(void **state)
{
	char buffer[128];
	struct text out;

	(void)state;
	text_start(&out, buffer, sizeof(buffer));
	text_json_string(&out, "a\"b\\c\n\x1b[31m\x7f\xc3\xa9<b>");
	assert_string_equal(buffer, "\"a\\\"b\\\\c\\u000a\\u001b[31m\\u007f\\u00c3\\u00a9<b>\"");
}

static void numbers_are_read_whole_or_not(void **state)
{
	static const struct {
		const char *text;
		bool valid;
		uint64_t value;
	} rows[] = {
		{ "0", true, 0 },
		{ "18446744073709551615", true, UINT64_MAX },
		{ "18446744073709551616", false, 0 },
		{ "0xffffffffffffffff", true, UINT64_MAX },
		{ "0x10000000000000000", false, 0 },
		{ "0x3F8", true, 0x3f8 },
		{ "", false, 0 },
		{ "0x", false, 0 },
		{ "12a", false, 0 },
		{ "-1", false, 0 },
		{ " 1", false, 0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint64_t value = 0;

		assert_int_equal(parse_u64(rows[i].text, strlen(rows[i].text), &value),
				 rows[i].valid);
		assert_int_equal(value, rows[i].value);
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(crc32_known_answers),
		cmocka_unit_test(crc32_goes_on_where_it_stopped),
		cmocka_unit_test(format_agrees_with_the_c_library),
		cmocka_unit_test(format_cuts_and_says_so),
		cmocka_unit_test(format_survives_a_buffer_of_nothing),
		cmocka_unit_test(json_strings_are_ascii),
		cmocka_unit_test(numbers_are_read_whole_or_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
