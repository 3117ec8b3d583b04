/* Unit tests of command lines (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/word.h"

static void a_line_is_words(void **state)
{
	const char *line = "  a=1 b  =x c==  d=";
	static const struct {
		const char *key, *value, *whole;
	} rows[] = {
		{ "a", "1", "a=1" }, { "b", "", "b" },	{ "", "x", "=x" },
		{ "c", "=", "c==" }, { "d", "", "d=" },
	};
	char buffer[16];
	struct word word;
	struct text text;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(word_next(&line, &word));
		assert_true(word_is(&word, rows[i].key));
		assert_true(word_value_is(&word, rows[i].value));
		text_start(&text, buffer, sizeof(buffer));
		word_put(&word, &text);
		assert_string_equal(buffer, rows[i].whole);
	}
	assert_false(word_next(&line, &word));
	line = "   ";
	assert_false(word_next(&line, &word));
}

static void a_key_is_not_its_beginning(void **state)
{
	const char *line = "cpus=2";
	struct word word;

	(void)state;
	assert_true(word_next(&line, &word));
	assert_false(word_is(&word, "cpu"));
	assert_false(word_is(&word, "cpus1"));
	assert_false(word_value_is(&word, "22"));
	assert_false(word_value_is(&word, ""));
}

static void a_number_keeps_its_limits(void **state)
{
	const char *line = "n=16 n=0x10 n=17 n=9 n= n=1x";
	uint64_t value = 0;
	struct word word;

	(void)state;
	for (unsigned i = 0; word_next(&line, &word); i++) {
		assert_int_equal(word_number(&word, 10, 16, &value), i < 2);
		assert_int_equal(value, 16);
	}
}

/* The last of a key counts, as in the guest. */
static void a_value_is_found(void **state)
{
	char value[5];

	(void)state;
	assert_true(word_find("nonce=ab doorbell=1 nonce=cd", "nonce", value, sizeof(value)));
	assert_string_equal(value, "cd");
	assert_true(word_find("xnonce=1 nonce=ab nonce2=c", "nonce", value, sizeof(value)));
	assert_string_equal(value, "ab");
	assert_false(word_find("annonce=ab nonce", "nonce", value, sizeof(value)));
	assert_true(word_find("  nonce=1234 ", "nonce", value, sizeof(value)));
	assert_true(word_find("nonce=", "nonce", value, sizeof(value)));
	assert_string_equal(value, "");
	assert_false(word_find("", "nonce", value, sizeof(value)));
	assert_true(word_find("nonce=12", "nonce", value, sizeof(value)));
	assert_false(word_find("nonce=34 nonce=12345", "nonce", value, sizeof(value)));
	assert_string_equal(value, "34");
}

static void a_nonce_is_hexadecimal(void **state)
{
	uint64_t nonce = 7;

	(void)state;
	assert_true(word_nonce("nonce=1 nonce=00c0ffee0000beef", &nonce));
	assert_true(nonce == 0x00c0ffee0000beef);
	nonce = 7;
	assert_false(word_nonce("nonce=10000000000000000", &nonce));
	assert_false(word_nonce("nonce=", &nonce));
	assert_false(word_nonce("nonce=0xa", &nonce));
	assert_false(word_nonce("", &nonce));
	assert_int_equal(nonce, 7);
}

static void a_file_name_is_no_word(void **state)
{
	(void)state;
	assert_string_equal(words_behind_name("guest.elf unit=insns a=b"), "unit=insns a=b");
	assert_string_equal(words_behind_name("/x/a=b/guest.elf  unit=insns"), "unit=insns");
	assert_string_equal(words_behind_name(" unit=insns a=b"), "unit=insns a=b");
	assert_string_equal(words_behind_name("unit= a=b"), "unit= a=b");
	assert_string_equal(words_behind_name("guest.elf"), "");
	assert_string_equal(words_behind_name(" "), "");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_line_is_words),
		cmocka_unit_test(a_key_is_not_its_beginning),
		cmocka_unit_test(a_number_keeps_its_limits),
		cmocka_unit_test(a_value_is_found),
		cmocka_unit_test(a_nonce_is_hexadecimal),
		cmocka_unit_test(a_file_name_is_no_word),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
