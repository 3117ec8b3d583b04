/* Unit tests of the agent's pure parts (on the host, make -C lab/agent test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/reasons.h"
#include "counts.h"
#include "message.h"

#define WORKLOAD(name) "workload=" name "\nunits=10\nplace=client\nrun=work\n"
#define NATIVE	       "module=/a.ko x=1\nroot=/dev/pmem0\nrole=native\n"

static char buffer[1 << 16], why[256];
static struct config config;
static struct selection selection;

/* Reads a configuration; `why` is the error. */
static bool read_bytes(const char *text, size_t bytes)
{
	struct text error;

	assert_true(bytes <= sizeof(buffer));
	memcpy(buffer, text, bytes);
	text_start(&error, why, sizeof(why));
	return config_read(&config, buffer, bytes, &error) &&
	       config_add(&config, buffer, 0, &error);
}

static bool read_config(const char *text)
{
	return read_bytes(text, strlen(text));
}

static bool selects(const char *append)
{
	static char text[4096];
	struct text error;

	strcpy(text, NATIVE "append=");
	strcat(strcat(text, append), "\n" WORKLOAD("a") WORKLOAD("b") WORKLOAD("c"));
	assert_true(read_config(text));
	text_start(&error, why, sizeof(why));
	return selection_read(&selection, &config, &error);
}

static void a_configuration_is_read(void **state)
{
	(void)state;
	assert_true(read_config(
		"module=/a.ko x=1\nmodule=/b.ko\nroot=/dev/pmem0\nappend=x y\n"
		"role=host\nword=/usr/bin/q\nword=-m a=b,c\n" WORKLOAD(
			"one") "prepare=a; b=c\nserve=\nbeside=x=1; y &\nproof=p\nworkload=two\nplace=inside\n"
			       "units=0x10\nshorter=8\nrun=r\nworkload=three\nplace=client\nsteps=yes\n"
			       "units=1\nrun=r\n"));
	assert_int_equal(config.module_count, 2);
	assert_string_equal(config.modules[0], "/a.ko x=1");
	assert_string_equal(config.root, "/dev/pmem0");
	assert_string_equal(config.append, "x y");
	assert_int_equal(config.role, ROLE_HOST);
	assert_int_equal(config.word_count, 2);
	assert_string_equal(config.words[1], "-m a=b,c");
	assert_null(config.words[2]);
	assert_int_equal(config.workload_count, 3);
	assert_int_equal(config.queues, 1);
	assert_false(config.workloads[1].steps);
	assert_true(config.workloads[2].steps);
	assert_string_equal(config.workloads[0].prepare, "a; b=c");
	assert_null(config.workloads[0].serve);
	assert_string_equal(config.workloads[0].beside, "x=1; y &");
	assert_null(config.workloads[1].beside);
	assert_false(config.workloads[0].inside);
	assert_true(config.workloads[1].inside);
	assert_int_equal(config.workloads[1].units, 16);
	assert_int_equal(config.workloads[1].shorter, 8);
	assert_int_equal(config.workloads[2].shorter, 0);
	assert_ptr_equal(config_workload(&config, "two,", 3), &config.workloads[1]);
	assert_null(config_workload(&config, "tw", 2));
}

static void devices_are_read_with_what_serves_them(void **state)
{
	const struct requests *requests;

	(void)state;
	assert_true(read_config(
		"role=host\nroot=/x\nword=q\ndoorbell=0x9100000\nsetup=a; b=c\nserver=2 serve --it\nsocket=/s\n"
		"pin=1 CPU 0/KVM\npin=2 vhost-\n"
		"workload=d\nunits=3\nplace=inside\nrequests=disk /dev/x 8 busy\n"
		"workload=n\nunits=3\nplace=inside\nrequests=net 10.1.4.1 1\n"));
	assert_int_equal(config.doorbell, 0x9100000);
	assert_int_equal(config.setup_count, 1);
	assert_string_equal(config.setups[0], "a; b=c");
	assert_int_equal(config.server_count, 1);
	assert_int_equal(config.servers[0].cpu, 2);
	assert_string_equal(config.servers[0].what, "serve --it");
	assert_string_equal(config.sockets[0], "/s");
	assert_int_equal(config.pin_count, 2);
	assert_int_equal(config.pins[0].cpu, 1);
	assert_string_equal(config.pins[0].what, "CPU 0/KVM");
	requests = &config.workloads[0].requests;
	assert_int_equal(requests->kind, DEVICE_DISK);
	assert_string_equal(requests->device, "/dev/x");
	assert_int_equal(requests->depth, 8);
	assert_true(requests->busy);
	assert_null(config.workloads[0].run);
	requests = &config.workloads[1].requests;
	assert_int_equal(requests->kind, DEVICE_NET);
	assert_string_equal(requests->device, "10.1.4.1");
	assert_int_equal(requests->depth, 1);
	assert_false(requests->busy);
}

static void requests_and_places_must_be_whole(void **state)
{
	static const char *const requests[] = {
		"",	    "disk",	     "disk /x",		"disk /x 0",	   "disk /x 65",
		"tape x 1", "disk /x 1 bus", "disk /x 1 busy ", "disk  /x 1 busy", "disk /x -1",
	};
	static const char *const places[] = { "", "2", "2 ", "64 x", "x y", " 2 x", "-1 x" };
	static char text[2 * MAX_SERVER_BYTES];

	(void)state;
	for (size_t i = 0; i < sizeof(requests) / sizeof(requests[0]); i++) {
		strcpy(text, NATIVE "workload=a\nunits=1\nplace=inside\nrequests=");
		assert_false(read_config(strcat(strcat(text, requests[i]), "\n")));
		assert_non_null(strstr(why, "line 7: requests= must be disk|net DEVICE DEPTH"));
	}
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		strcpy(text, i % 2 ? "pin=" : "server=");
		assert_false(read_config(strcat(strcat(text, places[i]), "\n")));
		assert_string_equal(why, "line 1: a CPU must be first, then a command or a thread");
	}
	strcpy(text, "server=1 ");
	memset(text + strlen(text), 'x', MAX_SERVER_BYTES + 1);
	assert_false(read_config(strcat(text, "\n")));
	assert_false(read_config(NATIVE "workload=a\nunits=1\nplace=client\nrequests=net 1 1\n"));
	assert_string_equal(why, "workload a has no line place=inside, which requests= needs");
}

static void nonsense_is_refused_by_its_line(void **state)
{
	static const char *const rows[][2] = {
		{ "", "it has no line role=" },
		{ "x\n", "line 1: it is no KEY=VALUE" },
		{ "root=/x", "line 1: it has no newline at its end" },
		{ "root=/x\nrole=king\n", "line 2: role= must be native, host or guest" },
		{ "colour=blue\n", "line 1: no line begins so before the first workload=" },
		{ "run=x\n", "line 1: no line begins so before the first workload=" },
		{ "workload=a\ncolour=x\n", "line 2: no line begins so" },
		{ "workload=A\n", "line 1: the name of a workload has 1 to 64 of a-z 0-9 - _" },
		{ "workload=\n", "line 1: the name of a workload has 1 to 64 of a-z 0-9 - _" },
		{ "workload=a\nworkload=a\n", "line 2: two workloads have the same name" },
		{ "workload=a\nunits=0\n", "line 2: units= must be a number from 1" },
		{ "workload=a\nunits=-1\n", "line 2: units= must be a number from 1" },
		{ "workload=a\nshorter=0\n", "line 2: shorter= must be a number from 1" },
		{ NATIVE "workload=a\nunits=2\nshorter=2\nplace=inside\nrun=x\n",
		  "workload a has no line units= with more than shorter=" },
		{ "workload=a\nplace=moon\n", "line 2: place= must be client or inside" },
		{ "workload=a\nsteps=no\n", "line 2: steps= must be yes" },
		{ "queues=0\n", "line 1: queues= must be a number from 1 to 64" },
		{ "doorbell=0\n", "line 1: doorbell= must be a multiple of 8" },
		{ "doorbell=0x9100004\n", "line 1: doorbell= must be a multiple of 8" },
		{ "queues=65\n", "line 1: queues= must be a number from 1 to 64" },
		{ NATIVE "workload=a\nunits=1\nplace=inside\nrun=x\nsteps=yes\n",
		  "workload a has no line place=client, which steps= needs" },
		{ "role=native\n", "it has no line root=" },
		{ "role=host\nroot=/x\n",
		  "it has no line word=, the command that starts the guest" },
		{ "role=native\nroot=/x\n", "it has no line workload=" },
		{ NATIVE "workload=a\n", "workload a has no line units=" },
		{ NATIVE "workload=a\nunits=1\n", "workload a has no line place=" },
		{ NATIVE "workload=a\nunits=1\nplace=inside\n", "workload a has no line run=" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(read_config(rows[i][0]));
		assert_string_equal(why, rows[i][1]);
	}
	assert_false(read_bytes("root=\0x\n", 8));
	assert_string_equal(why, "line 1: it has a byte of 0");
}

static void there_is_a_limit_to_all_lists(void **state)
{
	static const struct {
		const char *line;
		unsigned most;
	} rows[] = { { "module=x\n", MAX_MODULES }, { "word=x\n", MAX_WORDS },
		     { "setup=x\n", MAX_SETUPS },   { "server=0 x\n", MAX_SERVERS },
		     { "socket=x\n", MAX_SOCKETS }, { "pin=0 x\n", MAX_PINS } };
	static char text[MAX_WORDS * 16];

	(void)state;
	for (unsigned kind = 0; kind < sizeof(rows) / sizeof(rows[0]); kind++) {
		text[0] = '\0';
		for (unsigned i = 0; i <= rows[kind].most; i++)
			strcat(text, rows[kind].line);
		assert_false(read_config(text));
		assert_non_null(strstr(why, "too many lines of this kind"));
	}
}

/* What a launch adds to a machine's configuration. */
static void files_and_workloads_come_with_a_launch(void **state)
{
	static char launch[] =
		"append=x\nfile=a.c\ntext=int\ta;\ntext=\ntext=  b=c\nfile=none\n" WORKLOAD("one");
	static char more[] = "file=again\ntext=z\n";
	struct text error;

	(void)state;
	text_start(&error, why, sizeof(why));
	strcpy(buffer, NATIVE);
	assert_true(config_read(&config, buffer, strlen(buffer), &error));
	assert_int_equal(config.workload_count, 0);
	assert_true(config_add(&config, launch, strlen(launch), &error));
	assert_string_equal(config.append, "x");
	assert_int_equal(config.workload_count, 1);
	assert_int_equal(config.file_count, 2);
	assert_string_equal(config.files[0].name, "a.c");
	assert_int_equal(config.files[0].bytes, 14);
	assert_memory_equal(config.files[0].text, "int\ta;\n\n  b=c\n", 14);
	assert_string_equal(config.files[1].name, "none");
	assert_int_equal(config.files[1].bytes, 0);
	assert_true(config_add(&config, more, strlen(more), &error));
	assert_memory_equal(config.files[2].text, "z\n", 2);
}

static void files_have_plain_names(void **state)
{
	static const char *const rows[][2] = {
		{ "text=x\n", "line 1: text= must come after file=" },
		{ "file=\n", NULL },
		{ "file=..\n", NULL },
		{ "file=a/b\n", NULL },
		{ "file=.x\n", NULL },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(read_config(rows[i][0]));
		assert_non_null(
			strstr(why, rows[i][1] ? rows[i][1] : "line 1: the name of a file has"));
	}
}

static void rows_are_selected_in_their_order(void **state)
{
	(void)state;
	assert_true(selects("rows=c,a unit=insns smp=1 hypercall=none nonce=ab12 seed=7 pad=17"));
	assert_int_equal(selection.count, 2);
	assert_string_equal(selection.rows[0]->name, "c");
	assert_string_equal(selection.rows[1]->name, "a");
	assert_true(selection.insns);
	assert_int_equal(selection.nonce, 0xab12);
	assert_int_equal(selection.seed, 7);
	assert_int_equal(selection.pad, 17);
	assert_int_equal(selection.samples, 1);
	assert_true(selects("bench=^(b)$ unit=tsc_ticks samples=0 colour=blue"));
	assert_int_equal(selection.count, 1);
	assert_string_equal(selection.rows[0]->name, "b");
	assert_false(selection.insns);
	assert_int_equal(selection.samples, 1);
	assert_true(selects("bench=^(a|b|c)$ samples=64"));
	assert_int_equal(selection.count, 3);
	assert_int_equal(selection.samples, 64);
}

static void rows_that_are_not_there_are_refused(void **state)
{
	static const char *const rows[] = { "rows=d",	    "rows=a,,b",  "rows=a,a",
					    "bench=^(a.)$", "bench=^()$", "" };
	static const char *const forms[] = { "bench=a", "bench=^(a)", "bench=", "bench=^($" };

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		assert_false(selects(rows[i]));
		assert_non_null(strstr(why, "append= selects"));
	}
	for (size_t i = 0; i < sizeof(forms) / sizeof(forms[0]); i++) {
		assert_false(selects(forms[i]));
		assert_string_equal(why, "bench= in append= must be ^(NAME|NAME...)$");
	}
}

static void a_counter_is_a_number_and_a_newline(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(counts_number("123\n", 4, &value));
	assert_int_equal(value, 123);
	assert_true(counts_number("0", 1, &value));
	assert_false(counts_number("", 0, &value));
	assert_false(counts_number("1 2\n", 4, &value));
	assert_false(counts_number("-1\n", 3, &value));
	assert_false(counts_number("99999999999999999999\n", 21, &value));
}

static void a_number_may_be_negative_or_the_first_of_several(void **state)
{
	uint64_t value;

	(void)state;
	assert_true(counts_signed("-12\n", 4, &value));
	assert_int_equal(value, (uint64_t)-12);
	assert_true(counts_signed("12\n", 3, &value));
	assert_int_equal(value, 12);
	assert_false(counts_signed("-", 1, &value));
	assert_false(counts_signed("--1\n", 4, &value));
	assert_false(counts_signed("", 0, &value));
	assert_true(counts_first("120 3 4\n", 8, &value));
	assert_int_equal(value, 120);
	assert_false(counts_first("120", 3, &value));
	assert_false(counts_first(" 120 3\n", 7, &value));
	assert_false(counts_first("", 0, &value));
}

static void idle_time_is_summed_over_cpus(void **state)
{
	/* As Linux 6.12 writes it (kernel/time/timer_list.c). */
	static const char text[] = "  .tick_stopped   : 0\n"
				   "  .idle_sleeptime : 1500 nsecs\n"
				   "  .iowait_sleeptime: 20 nsecs\n"
				   "  .idle_sleeptime : 3 nsecs\n"
				   "  .idle_sleeptimes: 3 nsecs\n"
				   "  .idle_sleeptime : x nsecs\n";
	static const char large[] = ".idle_sleeptime : 18446744073709551615 nsecs\n"
				    ".idle_sleeptime : 1 nsecs\n";
	uint64_t idle_ns;

	(void)state;
	assert_true(counts_idle_ns(text, strlen(text), &idle_ns));
	assert_int_equal(idle_ns, 1523);
	assert_false(counts_idle_ns("", 0, &idle_ns));
	assert_false(counts_idle_ns(large, strlen(large), &idle_ns));
}

static void exits_are_read_by_reason(void **state)
{
	/* As Linux 6.12 writes it (kernel/trace/trace_events_hist.c). */
	static const char text[] =
		"# event histogram\n#\n# trigger info: hist:keys=exit_reason:vals=hitcount:"
		"sort=exit_reason:size=2048 [active]\n#\n\n"
		"{ exit_reason:         96 } hitcount:         43\n"
		"{ exit_reason:       1024 } hitcount:       2008\n\n"
		"Totals:\n    Hits: 2051\n    Entries: 2\n    Dropped: 0\n";
	static const char *const cut[] = { "{ exit_reason: 1", "{ exit_reason: x } hitcount: 1",
					   "{ exit_reason: 1 } hitcount:" };
	char name[64];
	struct text out;
	struct reasons reasons;

	(void)state;
	assert_true(reasons_parse(text, strlen(text), &reasons));
	assert_int_equal(reasons.count, 2);
	assert_int_equal(reasons.rows[0].count, 43);
	assert_int_equal(reasons.rows[1].code, 0x400);
	for (size_t i = 0; i < sizeof(cut) / sizeof(cut[0]); i++)
		assert_false(reasons_parse(cut[i], strlen(cut[i]), &reasons));
	text_start(&out, name, sizeof(name));
	reasons_name(0x400, &out);
	text_printf(&out, " ");
	reasons_name(0x13, &out);
	text_printf(&out, " ");
	reasons_name(0x999, &out);
	assert_string_equal(name, "npf write_cr3 code_999");
	reasons_of_vmx = true;
	text_start(&out, name, sizeof(name));
	for (uint64_t code = 1; code <= 49; code += 12) {
		reasons_name(code, &out);
		text_printf(&out, " ");
	}
	reasons_of_vmx = false;
	assert_string_equal(name, "interrupt invd code_19 code_25 ept_misconfig ");
}

static void reasons_are_subtracted_by_their_code(void **state)
{
	struct reasons all = { .rows = { { 0x60, 5 }, { 0x78, 9 }, { 0x400, 2 } }, .count = 3 };
	struct reasons own = { .rows = { { 0x78, 4 }, { 0x400, 3 }, { 0x7b, 1 } }, .count = 3 };

	(void)state;
	reasons_subtract(&all, &own);
	assert_int_equal(all.count, 3);
	assert_int_equal(all.rows[0].count, 5);
	assert_int_equal(all.rows[1].count, 5);
	assert_int_equal(all.rows[2].count, 0);
}

static bool read_message(struct message *message, const char *line)
{
	return message_read(message, line, strlen(line));
}

static void messages_are_read_as_they_were_written(void **state)
{
	static const struct message rows[] = {
		{ .kind = MESSAGE_READY,
		  .cpus = 2,
		  .memory_bytes = 99,
		  .name = "KVM",
		  .text = "a CPU" },
		{ .kind = MESSAGE_LINE, .number = 2, .text = " text=\t100 % \xc3\xa4 " },
		{ .kind = MESSAGE_LINE, .number = 2 },
		{ .kind = MESSAGE_PART, .number = 2, .text = "run=a" },
		{ .kind = MESSAGE_DO,
		  .number = 3,
		  .phase = PHASE_MEASURE,
		  .units = 2000,
		  .pad = 17,
		  .name = "tcp-rr" },
		{ .kind = MESSAGE_DO, .number = 3, .phase = PHASE_CLEAN, .name = NO_WORKLOAD },
		{ .kind = MESSAGE_BEGIN, .number = 4 },
		{ .kind = MESSAGE_END, .number = 4, .ticks = UINT64_MAX },
		{ .kind = MESSAGE_GO, .number = 5 },
		{ .kind = MESSAGE_DONE, .number = 5, .status = 127, .text = "sh: a=b: not found" },
		{ .kind = MESSAGE_DONE, .number = 5, .status = STATUS_LIMIT },
		{ .kind = MESSAGE_OFF },
	};
	char line[MAX_MESSAGE + 1];
	struct message message;
	struct text text;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		text_start(&text, line, sizeof(line));
		message_write(&rows[i], &text);
		assert_false(text.full);
		assert_int_equal(line[text.used - 1], '\n');
		assert_true(message_read(&message, line, text.used - 1));
		assert_memory_equal(&message, &rows[i], sizeof(message));
	}
}

static void a_long_text_is_cut_and_stays_printable(void **state)
{
	struct message message = { .kind = MESSAGE_DONE }, back;
	char line[MAX_MESSAGE + 1];
	struct text text;

	(void)state;
	memset(message.text, '\xff', sizeof(message.text) - 1);
	message.text[0] = 'a';
	text_start(&text, line, sizeof(line));
	message_write(&message, &text);
	assert_false(text.full);
	assert_true(message_read(&back, line, text.used - 1));
	assert_int_equal(strlen(back.text), 300);
	assert_memory_equal(back.text, "a???", 4);
}

static void other_lines_are_no_messages(void **state)
{
	static const char *const rows[] = {
		"",
		" ",
		"hello",
		"do",
		"do 1",
		"do 1 dance x 0",
		"do 1 run x 0",
		"do 1 run x 0 0 0",
		"do 1 run aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa 0 0",
		"begin",
		"begin x",
		"begin 1 2",
		"end 1",
		"end 1 -2",
		"end 1 99999999999999999999",
		"go",
		"done 1",
		"done 1 x",
		"done 1 18446744073709551615",
		"off 1",
		"ready 65 1 x y",
		"ready 1 x x",
		"line",
		"line 1 %",
		"line 1 %1",
		"line 1 %zz",
		"line 1 %00",
		"line 1 %0a",
		"go 1\t",
		"go 1\r",
		"go \x80",
	};
	static char longest[MAX_MESSAGE + 1];
	struct message message;

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(read_message(&message, rows[i]));
	memset(longest, ' ', MAX_MESSAGE);
	memcpy(longest, "go 1", 4);
	assert_false(read_message(&message, longest));
	longest[MAX_MESSAGE - 1] = '\0';
	assert_true(read_message(&message, longest));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_configuration_is_read),
		cmocka_unit_test(devices_are_read_with_what_serves_them),
		cmocka_unit_test(requests_and_places_must_be_whole),
		cmocka_unit_test(nonsense_is_refused_by_its_line),
		cmocka_unit_test(there_is_a_limit_to_all_lists),
		cmocka_unit_test(files_and_workloads_come_with_a_launch),
		cmocka_unit_test(files_have_plain_names),
		cmocka_unit_test(rows_are_selected_in_their_order),
		cmocka_unit_test(rows_that_are_not_there_are_refused),
		cmocka_unit_test(a_counter_is_a_number_and_a_newline),
		cmocka_unit_test(a_number_may_be_negative_or_the_first_of_several),
		cmocka_unit_test(idle_time_is_summed_over_cpus),
		cmocka_unit_test(exits_are_read_by_reason),
		cmocka_unit_test(reasons_are_subtracted_by_their_code),
		cmocka_unit_test(messages_are_read_as_they_were_written),
		cmocka_unit_test(a_long_text_is_cut_and_stays_printable),
		cmocka_unit_test(other_lines_are_no_messages),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
