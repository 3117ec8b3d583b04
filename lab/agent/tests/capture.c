/* Unit tests of how a host's agent takes transactions apart (on the host, make -C lab/agent test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "host/fit.h"
#include "host/packets.h"
#include "host/took.h"

enum kind { UDP, TCP, TCP_OPTIONS };

/* Of TCP's next packet. */
static unsigned char sequence;

/* A packet with so many bytes of data; 14 bytes of Ethernet, 20 of IPv4. */
static const unsigned char *packet(enum kind kind, unsigned data)
{
	static const unsigned header[] = { [UDP] = 8, [TCP] = 20, [TCP_OPTIONS] = 32 };
	static unsigned char bytes[62];

	memset(bytes, 0, sizeof(bytes));
	bytes[12] = 8; /* Ethernet's type: IPv4 */
	bytes[14] = 0x45;
	bytes[17] = (unsigned char)(20 + header[kind] + data);
	bytes[23] = kind == UDP ? 17 : 6;
	bytes[41] = sequence++;
	if (kind != UDP)
		bytes[46] = (unsigned char)(header[kind] / 4 << 4);
	return bytes;
}

static void packets_with_one_byte_of_data_take_turns(void **state)
{
	struct packets packets;

	(void)state;
	packets_start(&packets, true, 1000);
	/* The connection, and replies alone, are no transactions. */
	assert_null(packets_take(&packets, packet(TCP_OPTIONS, 0), 62, true, 1001));
	assert_null(packets_take(&packets, packet(TCP_OPTIONS, 100), 62, false, 1002));
	assert_null(packets_take(&packets, packet(TCP_OPTIONS, 1), 62, true, 1100));
	assert_null(packets_take(&packets, packet(TCP_OPTIONS, 0), 62, false, 1120));
	assert_null(packets_take(&packets, packet(TCP_OPTIONS, 1), 62, false, 1140));
	assert_null(packets_take(&packets, packet(TCP, 1), 62, true, 1160));
	assert_string_equal(packets_end(&packets), "the last request has no reply");
	assert_null(packets_take(&packets, packet(UDP, 1), 43, false, 1230));
	assert_null(packets_end(&packets));
	assert_int_equal(packets.passes.count, 2);
	assert_int_equal(packets.passes.requests, 260);
	assert_int_equal(packets.passes.replies, 370);
	assert_int_equal(packets.passes.first, 1100);
	assert_int_equal(packets.passes.last, 1230);
	assert_string_equal(packets_take(&packets, packet(TCP, 1), 62, false, 1240),
			    "requests and replies do not take turns");
}

static void what_is_sent_once_more_is_no_transaction(void **state)
{
	struct packets packets;

	(void)state;
	packets_start(&packets, true, 0);
	assert_null(packets_take(&packets, packet(TCP, 1), 62, true, 1));
	sequence--;
	assert_null(packets_take(&packets, packet(TCP, 1), 62, true, 2));
	assert_null(packets_take(&packets, packet(TCP, 1), 62, false, 4));
	sequence -= 2;
	/* The reply was on its way. */
	assert_null(packets_take(&packets, packet(TCP, 1), 62, true, 8));
	assert_null(packets_end(&packets));
	assert_int_equal(packets.passes.count, 1);
	assert_int_equal(packets.passes.requests, 1);
	/* UDP has no numbers. */
	assert_null(packets_take(&packets, packet(UDP, 1), 43, true, 16));
	assert_non_null(packets_take(&packets, packet(UDP, 1), 43, true, 32));
}

static void a_server_s_requests_come_in(void **state)
{
	struct packets packets;

	(void)state;
	packets_start(&packets, false, 0);
	assert_null(packets_take(&packets, packet(TCP, 1), 62, false, 5));
	assert_null(packets_take(&packets, packet(TCP, 1), 62, true, 8));
	assert_int_equal(packets.passes.requests, 5);
	assert_int_equal(packets.passes.replies, 8);
}

static void other_packets_are_none(void **state)
{
	unsigned char other[62];
	struct packets packets;

	(void)state;
	packets_start(&packets, true, 0);
	for (size_t bytes = 0; bytes < 54; bytes++)
		assert_null(packets_take(&packets, packet(TCP, 1), bytes, true, 1));
	memcpy(other, packet(TCP, 1), sizeof(other));
	other[12] = 0x86; /* no IPv4 */
	assert_null(packets_take(&packets, other, 62, true, 1));
	memcpy(other, packet(TCP, 1), sizeof(other));
	other[23] = 1; /* ICMP */
	assert_null(packets_take(&packets, other, 62, true, 1));
	assert_int_equal(packets.passes.count, 0);
}

#define HOST_BASE UINT64_C(1700000000000000000)
#define VM_BASE	  UINT64_C(1600000000000000000)

/* At `ns` of the VM's clock, which is 20 ppm slow: a round trip that is longer by `late` on its way back. */
static struct round_trip trip(uint64_t ns, uint64_t late)
{
	uint64_t host = HOST_BASE + 7000 + ns + ns / 50000;

	return (struct round_trip){ host - 200, host + 200 + late, VM_BASE + ns };
}

/* Two sessions, of which the second begins a second later. Most round trips were held up on their way. */
static unsigned sessions(struct round_trip trips[200])
{
	for (unsigned i = 0; i < 100; i++) {
		trips[i] = trip(i * 1000, i % 3 ? 1000000 : i % 5);
		trips[100 + i] = trip(1000000000 + i * 1000, i % 4 ? 50000 : i % 5);
	}
	assert_int_equal(fit_keep(trips, 100), 34);
	memmove(trips + 34, trips + 100, 100 * sizeof(*trips));
	assert_int_equal(fit_keep(trips + 34, 100), 25);
	return 34 + 25;
}

static void a_time_of_the_vm_is_one_of_the_host(void **state)
{
	struct round_trip trips[200];
	struct fit fit;
	uint64_t sum;
	int64_t off;

	(void)state;
	assert_null(fit_line(&fit, trips, sessions(trips), VM_BASE));
	assert_int_equal(fit.bound_ns, 203);
	/* Two times in the middle, half a second after the begin and 100 ns more. */
	sum = fit_sum(&fit, 500000000 + 500000100, 2);
	off = (int64_t)(sum - 2 * (HOST_BASE + 7000) - 1000020100);
	assert_true(off >= -6 && off <= 6);
}

static void clocks_that_are_set_are_no_clocks(void **state)
{
	struct round_trip trips[200];
	unsigned count = sessions(trips);
	struct fit fit;

	(void)state;
	for (unsigned i = 34; i < count; i++)
		trips[i].there += 20000000;
	assert_string_equal(fit_line(&fit, trips, count, VM_BASE), "a clock was set meanwhile");
	count = sessions(trips);
	trips[3].there += 5000;
	assert_string_equal(fit_line(&fit, trips, count, VM_BASE),
			    "the clocks of host and VM do not run alike");
	assert_non_null(fit_line(&fit, trips, 0, VM_BASE));
}

static void a_program_says_how_long_it_took(void **state)
{
	static const char *const wrong[] = {
		"took 0 ns",  "took ns",    "took  ns",
		"took -5 ns", "took 1 ns ", "took 1.5 ns",
		"took 5 us",  "took ",	    "took 99999999999999999999999 ns"
	};
	uint64_t ns;

	(void)state;
	assert_true(took_read("took 123 ns", 1000, &ns));
	assert_int_equal(ns, 123);
	/* It can't be more than all that was measured. */
	assert_true(took_read("took 1001 ns", 1000, &ns));
	assert_int_equal(ns, 0);
	for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
		assert_true(took_read(wrong[i], 1000, &ns));
		assert_int_equal(ns, 0);
	}
	assert_false(took_read("", 1000, &ns));
	assert_false(took_read("it took 5 ns", 1000, &ns));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packets_with_one_byte_of_data_take_turns),
		cmocka_unit_test(what_is_sent_once_more_is_no_transaction),
		cmocka_unit_test(a_server_s_requests_come_in),
		cmocka_unit_test(other_packets_are_none),
		cmocka_unit_test(a_time_of_the_vm_is_one_of_the_host),
		cmocka_unit_test(clocks_that_are_set_are_no_clocks),
		cmocka_unit_test(a_program_says_how_long_it_took),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
