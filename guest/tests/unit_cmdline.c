/* Unit tests of patterns and the command line (on the host, under ASan and UBSan, make -C guest test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/text.h"
#include "guest/core/regex.h"
#include "guest/core/cmdline.h"
#include "posih.h"

/* ---- regex --------------------------------------------------------------------------------- */

static void regex_known_answers(void **state)
{
	static const struct {
		const char *pattern, *text;
		bool matches;
	} rows[] = {
		{ "", "anything", true },
		{ "gdt", "sgdt", true },
		{ "^gdt", "sgdt", false },
		{ "^sgdt$", "sgdt", true },
		{ "^sgdt$", "sgdt2", false },
		{ "^(sgdt|sidt)$", "sidt", true },
		{ "^(sgdt|sidt)$", "sldt", false },
		{ "^s[gi]dt$", "sgdt", true },
		{ "^s[^gi]dt$", "sgdt", false },
		{ "^s[a-k]dt$", "sidt", true },
		{ "^s[a-k]dt$", "sldt", false },
		{ "^[]x]$", "]", true },
		{ "^[a\\]]$", "]", true },
		{ "^a*$", "", true },
		{ "^a*$", "aaaa", true },
		{ "^a*$", "aaab", false },
		{ "^a+$", "", false },
		{ "^ab?c$", "ac", true },
		{ "^ab?c$", "abbc", false },
		{ "^(ab)+$", "ababab", true },
		{ "^(ab)+$", "ababa", false },
		{ "^(a|b|)c$", "c", true },
		{ "set-page-table-(4k|2m)", "set-page-table-2m", true },
		{ "a.c", "abc", true },
		{ "a\\.c", "abc", false },
		{ "a\\.c", "a.c", true },
		{ "^$", "", true },
		{ "^$", "x", false },
		{ "x$", "xx", true },
		{ "$x", "x", false },
		{ "ipi|in$", "print", false },
		{ "ipi|in$", "in", true },
		{ "((((a))))", "a", true },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_true(regex_valid(rows[i].pattern));
		if (regex_search(rows[i].pattern, rows[i].text) != rows[i].matches)
			fail_msg("%s on %s", rows[i].pattern, rows[i].text);
	}
}

static void regex_refuses_what_is_wrong(void **state)
{
	static const char *const wrong[] = { "(", ")",	"(a",  "a)",	"[",  "[a",
					     "*", "+a", "a\\", "[z-a]", "(|", "[]" };

	(void)state;
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_false(regex_valid(wrong[i]));
		assert_false(regex_search(wrong[i], wrong[i]));
	}
}

static void regex_takes_linear_time(void **state)
{
	char pattern[200] = "^", text[100] = "";

	(void)state;
	/* (a?){30}a{30} on thirty a's: exponential for a backtracking matcher. */
	for (int i = 0; i < 30; i++)
		strcat(pattern, "a?");
	for (int i = 0; i < 30; i++) {
		strcat(pattern, "a");
		strcat(text, "a");
	}
	strcat(pattern, "$");
	assert_true(regex_search(pattern, text));
	assert_false(regex_search("^(a*)*b$", text));
	assert_true(regex_search("^(a*)*$", text));
}

static void regex_refuses_what_is_too_large(void **state)
{
	static char pattern[20000];

	(void)state;
	memset(pattern, 'a', sizeof(pattern) - 1);
	assert_false(regex_valid(pattern));
	memset(pattern, '(', 1000);
	pattern[1000] = 0;
	assert_false(regex_valid(pattern));
	assert_true(regex_search("a", "a")); /* and works again afterwards */
}

/* ---- command line -------------------------------------------------------------------------- */

static char storage[2048], unknown_buffer[256];

/* Limits of an x86_64 machine. */
static const struct cmdline_limits limits = {
	.tick_unit = "tsc_ticks",
	.port_max = 0xffff,
	.local_apic = true,
	.scratch_port = 0x3ff,
	.print_port = 0x2f8,
};

static struct params parse_for(const struct cmdline_limits *machine, const char *line)
{
	struct params params;
	struct text unknown;

	text_start(&unknown, unknown_buffer, sizeof(unknown_buffer));
	cmdline_defaults(&params, machine);
	cmdline_parse(line, &params, storage, sizeof(storage), &unknown);
	return params;
}

static struct params parse(const char *line)
{
	return parse_for(&limits, line);
}

static void cmdline_has_defaults(void **state)
{
	struct params params = parse("");

	(void)state;
	assert_int_equal(params.unit, UNIT_TIME);
	assert_int_equal(params.hypercall, HYPERCALL_NONE);
	assert_int_equal(params.page_bytes, 4096);
	assert_int_equal(params.ws_bytes, 2 << 20);
	assert_int_equal(params.in_port, 0x3ff);
	assert_int_equal(params.print_port, 0x2f8);
	assert_true(params.doorbell == PORT_NONE);
	assert_false(params.external);
	assert_false(params.xapic);
	assert_string_equal(params.bench, "");
	assert_string_equal(unknown_buffer, "");
}

static void cmdline_takes_every_word(void **state)
{
	struct params params =
		parse("bench=^(in|out)$ samples=7 iters=9 page=1g ws=0x40000000 smp=64 unit=insns "
		      "hypercall=xen in=0xe9 out=235 print=none nonce=00ff pad=3 doorbell=0x510 "
		      "external=1 channel=5 channel-unpaged=6 answers=0x4000 answer=1 seed=77 "
		      "apic=xapic");

	(void)state;
	assert_string_equal(params.bench, "^(in|out)$");
	assert_int_equal(params.samples, 7);
	assert_int_equal(params.iters, 9);
	assert_int_equal(params.page_bytes, 1 << 30);
	assert_int_equal(params.ws_bytes, 1 << 30);
	assert_int_equal(params.smp, 64);
	assert_int_equal(params.unit, UNIT_INSNS);
	assert_int_equal(params.hypercall, HYPERCALL_XEN);
	assert_int_equal(params.in_port, 0xe9);
	assert_int_equal(params.out_port, 235);
	assert_true(params.print_port == PORT_NONE);
	assert_int_equal(params.nonce, 0xff);
	assert_int_equal(params.pad, 3);
	assert_int_equal(params.doorbell, 0x510);
	assert_int_equal(params.channel, 5);
	assert_int_equal(params.channel_unpaged, 6);
	assert_int_equal(params.answers, 0x4000);
	assert_true(params.answer);
	assert_int_equal(params.seed, 77);
	assert_null(params.rows);
	assert_memory_equal(parse("seed=1 rows=out,in smp=1").rows, "out,in ", 7);
	assert_true(parse("doorbell=9 doorbell=none").doorbell == PORT_NONE);
	assert_true(params.external);
	assert_true(params.xapic);
	assert_false(parse("apic=xapic apic=x2apic").xapic);
	assert_string_equal(unknown_buffer, "");
}

static void cmdline_names_what_it_cannot_use(void **state)
{
	struct params params = parse("  samples=0 samples=1025 page=3k colour=blue quiet smp=65 =x "
				     "nonce=11112222333344445 in=65536 samples=12 "
				     "doorbell=65536 external=2 channel=64 answers=0 answer=2 "
				     "rows= seed=-1 apic=x apic=");

	(void)state;
	assert_string_equal(unknown_buffer, "samples=0 samples=1025 page=3k colour=blue quiet "
					    "smp=65 =x nonce=11112222333344445 in=65536 "
					    "doorbell=65536 external=2 channel=64 "
					    "answers=0 answer=2 rows= seed=-1 apic=x apic=");
	assert_false(params.external);
	assert_false(params.xapic);
	assert_int_equal(params.samples, 12);
	assert_int_equal(params.nonce, 0);
	assert_true(params.doorbell == PORT_NONE);
}

static void cmdline_heeds_the_machines_limits(void **state)
{
	static const struct cmdline_limits arm = {
		.tick_unit = "cntvct_ticks",
		.port_max = (1ull << 48) - 1,
		.scratch_port = PORT_NONE,
		.print_port = PORT_NONE,
	};
	struct params params =
		parse_for(&arm, "unit=insns unit=cntvct_ticks in=0x9000038 unit=tsc_ticks");

	(void)state;
	assert_int_equal(params.unit, UNIT_TIME);
	assert_true(params.in_port == 0x9000038);
	assert_true(params.out_port == PORT_NONE && params.print_port == PORT_NONE);
	assert_string_equal(unknown_buffer, "unit=tsc_ticks");
	parse_for(&arm, "out=0x1000000000000 doorbell=0xffffffffffff");
	assert_string_equal(unknown_buffer, "out=0x1000000000000");
	assert_false(parse_for(&arm, "apic=xapic").xapic);
	assert_string_equal(unknown_buffer, "apic=xapic");
	parse("unit=cntvct_ticks");
	assert_string_equal(unknown_buffer, "unit=cntvct_ticks");
}

static void cmdline_runs_nothing_for_a_wrong_pattern(void **state)
{
	struct params params = parse("bench=(in");
	char line[3000] = "bench=";

	(void)state;
	assert_string_equal(unknown_buffer, "bench=(in");
	assert_false(regex_search(params.bench, "in"));
	memset(line + 6, 'a', 2900);
	params = parse(line);
	assert_false(regex_search(params.bench, "aaa"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(regex_known_answers),
		cmocka_unit_test(regex_refuses_what_is_wrong),
		cmocka_unit_test(regex_takes_linear_time),
		cmocka_unit_test(regex_refuses_what_is_too_large),
		cmocka_unit_test(cmdline_has_defaults),
		cmocka_unit_test(cmdline_takes_every_word),
		cmocka_unit_test(cmdline_names_what_it_cannot_use),
		cmocka_unit_test(cmdline_heeds_the_machines_limits),
		cmocka_unit_test(cmdline_runs_nothing_for_a_wrong_pattern),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
