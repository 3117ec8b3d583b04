/* Unit tests of what the agent reads of the kernel's traces (on the host, make -C lab/agent test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "idle.h"
#include "steps.h"

/* Lines as Linux 6.12 writes them (kernel/trace/trace_output.c); the names of tasks are anything. */
#define HEAD "# tracer: nop\n#\n#           TASK-PID     CPU#  |||||  TIMESTAMP  FUNCTION\n"
#define QUEUED(time) \
	"         netperf-345     [000] b.... " time ": net_dev_queue: dev=br0 skbaddr=1 len=67\n"
#define RECEIVED(time)                               \
	" a: [000] 7: b c-31      [001] ..s1. " time \
	": netif_receive_skb: dev=br0 skbaddr=1 len=53\n"

static const char *read_trace(struct passes *passes, const char *trace, bool of_client)
{
	return steps_read(passes, trace, strlen(trace), of_client);
}

static void packets_of_a_trace_take_turns(void **state)
{
	static const char two[] = HEAD QUEUED("100") RECEIVED("140") QUEUED("160") RECEIVED("230");
	struct passes passes;

	(void)state;
	assert_null(read_trace(&passes, two, true));
	assert_int_equal(passes.count, 2);
	assert_int_equal(passes.requests, 260);
	assert_int_equal(passes.replies, 370);
	assert_int_equal(passes.first, 100);
	assert_int_equal(passes.last, 230);
	assert_string_equal(read_trace(&passes, two, false),
			    "requests and replies do not take turns");
	assert_null(read_trace(&passes, RECEIVED("1") QUEUED("2"), false));
	assert_int_equal(passes.replies, 2);
	assert_null(read_trace(&passes, HEAD, true));
	assert_int_equal(passes.count, 0);
	assert_string_equal(read_trace(&passes, QUEUED("1"), true),
			    "the last request has no reply");
	assert_string_equal(read_trace(&passes, QUEUED("x"), true),
			    "a line of the trace has no time");
	assert_string_equal(read_trace(&passes, "CPU:0 [LOST 12 EVENTS]\n", true),
			    "the trace has lost events");
}

static void sums_are_told_as_words(void **state)
{
	static const char *const rows[] = { "", "1 2", "1 2 3 4", "1 2 x", "1 2 3=x", "1 -2 3" };
	struct passes passes = { .count = 3, .requests = UINT64_MAX, .replies = 7 }, back;
	char words[80];
	struct text out;

	(void)state;
	text_start(&out, words, sizeof(words));
	steps_put(&passes, &out);
	assert_true(steps_take(&back, words));
	assert_memory_equal(&back, &passes, sizeof(back));
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(steps_take(&back, rows[i]));
}

/* Two transactions: (100, 140) and (160, 230) on the bridge; in the VM (1110, 1125) and (1165, 1190), on a clock
 * that is 1000 ahead. */
static void steps_are_differences_of_sums(void **state)
{
	static const struct passes client = { 2, 260, 370, 100, 230 };
	static const struct passes server = { .count = 2, .requests = 2275, .replies = 2315 };
	static const struct passes behind = { .count = 2, .requests = 255, .replies = 295 };
	struct steps steps;

	(void)state;
	assert_null(steps_native(&steps, &client, 2));
	assert_int_equal(steps.ticks[RECV_TO_SEND], 110);
	assert_int_equal(steps.ticks[SEND_TO_RECV], 20);
	assert_null(steps_in_vm(&steps, &client, &server, 1000, 2));
	assert_int_equal(steps.ticks[RECV_TO_SEND], 0);
	assert_int_equal(steps.ticks[RECV_TO_VM_RECV], 15);
	assert_int_equal(steps.ticks[VM_RECV_TO_VM_SEND], 40);
	assert_int_equal(steps.ticks[VM_SEND_TO_SEND], 55);
	assert_int_equal(steps.ticks[SEND_TO_RECV], 20);
	assert_null(steps_in_vm(&steps, &client, &behind, (uint64_t)-10, 2));
	assert_int_equal(steps.ticks[RECV_TO_VM_RECV], 15);
	assert_int_equal(steps.ticks[VM_RECV_TO_VM_SEND], 40);
}

static void steps_that_make_no_sense_are_refused(void **state)
{
	static const struct passes client = { 2, 260, 370, 100, 230 };
	static const struct passes one = { .count = 1, .requests = 1110, .replies = 1125 };
	static const struct passes server = { .count = 2, .requests = 2275, .replies = 2315 };
	struct steps steps;

	(void)state;
	assert_string_equal(steps_native(&steps, &client, 3),
			    "the bridge has not seen one request for each transaction");
	assert_string_equal(steps_in_vm(&steps, &client, &one, 1000, 2),
			    "the VM has not seen one request for each transaction");
	assert_string_equal(steps_in_vm(&steps, &client, &server, 500, 2),
			    "the VM's clock is not the host's");
	for (unsigned i = 0; i < STEP_NAMES; i++)
		assert_true(strstr(steps_name((enum step_name)i), "-to-"));
}

static struct idle idle;

/* Takes the lines of a trace of two CPUs. */
static bool take_all(const char *text)
{
	idle_begin(&idle, 2);
	while (*text) {
		const char *newline = strchr(text, '\n');

		if (!idle_take(&idle, text, (size_t)(newline - text)))
			return false;
		text = newline + 1;
	}
	return true;
}

static void all_cpus_are_idle_until_one_is_interrupted(void **state)
{
	/* As Linux 6.12 writes it. */
	static const char text[] =
		"# tracer: nop\n#\n# entries-in-buffer/entries-written: 5/5   #P:2\n#\n"
		"          <idle>-0       [000] d..1. 100: cpu_idle: state=1 cpu_id=0\n"
		"          <idle>-0       [001] d..1. 110: cpu_idle: state=1 cpu_id=1\n"
		"          <idle>-0       [001] d.h1. 125: reschedule_entry: vector=253\n"
		"          <idle>-0       [001] d..1. 130: cpu_idle: state=4294967295 cpu_id=1\n"
		"     a b [2]-77      [001] d..1. 140: cpu_idle: state=4294967295 cpu_id=1\n";
	static const char again[] =
		"   <idle>-0       [001] d..1. 200: cpu_idle: state=1 cpu_id=1\n"
		"   <idle>-0       [000] d..1. 210: cpu_idle: state=2 cpu_id=0\n"
		"   <idle>-0       [000] d..1. 217: cpu_idle: state=4294967295 cpu_id=0\n";

	(void)state;
	assert_false(take_all(text));
	assert_int_equal(idle.ticks, 15);
	assert_true(take_all(again));
	assert_int_equal(idle.ticks, 7);
}

static void a_trace_with_events_missing_is_refused(void **state)
{
	static const char *const rows[] = {
		"CPU:1 [LOST 12 EVENTS]\n",
		"# entries-in-buffer/entries-written: 5/17   #P:2\n",
		"# entries-in-buffer/entries-written: 5\n",
		"<idle>-0 [002] d..1. 1: cpu_idle: state=1 cpu_id=2\n",
		"<idle>-0 [001] d..1. x: cpu_idle: state=1 cpu_id=1\n",
		"<idle>-0 [001] d..1.\n",
		"<idle>-0 [001\n",
		"a [000] f 5: cpu_idle: state=1\na [001] f 6: cpu_idle: state=1\na [001] f 4: x\n",
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		assert_false(take_all(rows[i]));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_of_a_trace_take_turns),
		cmocka_unit_test(sums_are_told_as_words),
		cmocka_unit_test(steps_are_differences_of_sums),
		cmocka_unit_test(steps_that_make_no_sense_are_refused),
		cmocka_unit_test(all_cpus_are_idle_until_one_is_interrupted),
		cmocka_unit_test(a_trace_with_events_missing_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
