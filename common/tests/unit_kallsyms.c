/* Unit tests of a kernel's symbols (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/crc32.h"
#include "common/kallsyms.h"

/* What is printed of a text; free() it. */
static char *printed(const char *kallsyms)
{
	char *text = strdup(kallsyms), *out = NULL;
	struct symbol *symbols = calloc(kallsyms_most(text), sizeof(*symbols));
	size_t bytes;
	FILE *to = open_memstream(&out, &bytes);

	kallsyms_print(symbols, kallsyms_read(text, symbols), to);
	fclose(to);
	free(symbols);
	free(text);
	return out;
}

static void prints(const char *kallsyms, unsigned count, const char *lines)
{
	char want[512], *out = printed(kallsyms);

	snprintf(want, sizeof(want), "@symbols begin\n%s@symbols end %u %08x\n", lines, count,
		 crc32(0, lines, strlen(lines)));
	assert_string_equal(out, want);
	free(out);
}

static void only_code_is_printed_by_distances(void **state)
{
	(void)state;
	prints("ffffffff81000000 T _stext\n"
	       "ffffffff81000040 t do_it.isra.0\n"
	       "ffffffff82000000 D data\n"
	       "0000000000000010 A percpu\n"
	       "ffffffff81000140 W weak\n",
	       3, "ffffffff81000000 T _stext\n40 t do_it.isra.0\n100 W weak\n");
}

static void modules_come_in_the_order_of_addresses(void **state)
{
	(void)state;
	prints("ffffffff81000000 T _stext\n"
	       "ffffffffc0002000 t b\t[kvm_amd]\n"
	       "ffffffffc0001000 w a\t[kvm]\n",
	       3, "ffffffff81000000 T _stext\n3f001000 w a [kvm]\n1000 t b [kvm_amd]\n");
}

static void names_of_one_address_stay_in_order(void **state)
{
	(void)state;
	prints("10 T memcpy\n10 W __memcpy\n10 t a\n", 3, "10 T memcpy\n0 W __memcpy\n0 t a\n");
}

static void other_lines_are_passed_over(void **state)
{
	static const char *const lines[] = { "",	"\n",	     "x",	  "10",
					     "10 ",	"10 t",	     "10 t ",	  "g0 t a",
					     " t a\n",	"10 tt a",   "10 t $x\n", "10\nt a",
					     "10 t\ta", "10 t \t[m]" };

	(void)state;
	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		prints(lines[i], 0, "");
}

static void a_line_without_a_newline_counts(void **state)
{
	(void)state;
	prints("10 t a", 1, "10 t a\n");
	prints("10 t a\t[", 1, "10 t a []\n");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_code_is_printed_by_distances),
		cmocka_unit_test(modules_come_in_the_order_of_addresses),
		cmocka_unit_test(names_of_one_address_stay_in_order),
		cmocka_unit_test(other_lines_are_passed_over),
		cmocka_unit_test(a_line_without_a_newline_counts),
	};

	return cmocka_run_group_tests_name("symbols", tests, NULL, NULL);
}
