/* Unit tests of console and serial port, with a PL011 that counts accesses (on the host, make -C common
 * test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "common/console_printf.h"
#include "common/device_io.h"
#include "common/pl011_registers.h"
#include "common/uart.h"

static const struct uart port = { .kind = UART_PL011, .base = 0x1000 };
static char sent[1024];
static unsigned sent_bytes, fault_after, looks, takes_bytes;
static uint8_t identification, line_status; /* of a 16550 */

static void port_is_new(void)
{
	memset(sent, 0, sizeof(sent));
	sent_bytes = fault_after = looks = 0;
	takes_bytes = sizeof(sent) - 1;
}

uint32_t mmio_read32(uint64_t address)
{
	looks++;
	switch (address - port.base) {
	case PL011_FLAGS:
		return sent_bytes < takes_bytes ? PL011_FLAG_EMPTY : PL011_FLAG_FULL;
	case PL011_LINE:
		return PL011_LINE_FIFO;
	}
	return 0;
}

/* After `fault_after` bytes, another CPU faults and writes its text. */
void mmio_write32(uint64_t address, uint32_t value)
{
	assert_int_equal(address, port.base + PL011_DATA);
	assert_true(sent_bytes < sizeof(sent) - 1);
	sent[sent_bytes++] = (char)value;
	if (sent_bytes == fault_after)
		console_printf("<CPU %u: %s at %lx>", 1u, "#UD", 0x1000ul);
}

uint8_t in8(uint64_t at)
{
	looks++;
	return at == 0x3fa ? identification : at == 0x3fd ? line_status : 0;
}

void out8(uint64_t at, uint8_t value)
{
	(void)at;
	(void)value;
}

void console_write(const char *text, size_t bytes)
{
	uart_write(&port, text, bytes);
}

static void a_cpu_that_faults_changes_nothing_of_what_another_sends(void **state)
{
	static const char aside[] = "<CPU 1: #UD at 1000>",
			  record[] = "@ws1 0 a record of 1 line\n";

	(void)state;
	for (unsigned after = 1; after < sizeof(record); after++) {
		char rest[sizeof(sent)];
		char *at;

		port_is_new();
		fault_after = after;
		console_printf("@ws1 0 a %s of %u line\n", "record", 1u);
		at = strstr(sent, aside);
		assert_ptr_equal(at, sent + after);
		strcpy(rest, at + strlen(aside));
		strcpy(at, rest);
		assert_string_equal(sent, record);
	}
}

static void text_is_cut_where_it_does_not_fit(void **state)
{
	char long_text[600] = { 0 };

	(void)state;
	port_is_new();
	memset(long_text, 'x', sizeof(long_text) - 1);
	console_printf("%s", long_text);
	assert_int_equal(sent_bytes, 511);
}

/* Otherwise each byte of a long text would wait for the full timeout again. */
static void a_port_that_takes_nothing_is_given_up(void **state)
{
	unsigned looks_for_ever;

	(void)state;
	port_is_new();
	takes_bytes = 0;
	assert_false(uart_write(&port, "x", 1));
	looks_for_ever = looks;
	port_is_new();
	takes_bytes = 16;
	assert_false(uart_write(&port, "0123456789abcdef0123456789abcdef", 32));
	assert_string_equal(sent, "0123456789abcdef");
	assert_in_range(looks, looks_for_ever, looks_for_ever + 2);
}

/* In a virtual machine each status read is an exit. */
static void a_fifo_is_filled_by_one_look(void **state)
{
	(void)state;
	port_is_new();
	assert_true(uart_write(&port, "0123456789abcdef", 16));
	assert_int_equal(looks, 2); /* has it a FIFO, and is it empty? */
}

/* A 16550's FIFO has 16 bytes. An older port, or one whose FIFOs are off, has room for one byte. */
static void a_16550_has_the_room_that_it_says(void **state)
{
	static const struct uart old = { .kind = UART_16550, .base = 0x3f8 };
	static const struct {
		uint8_t identification, status;
		unsigned room;
	} cases[] = { { 0xc1, 0x60, 16 }, { 0xc0, 0x20, 16 }, { 0x01, 0x60, 1 },
		      { 0x81, 0x60, 1 },  { 0xc1, 0x40, 0 },  { 0x01, 0x00, 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		identification = cases[i].identification;
		line_status = cases[i].status;
		assert_int_equal(uart_room(&old), cases[i].room);
	}
	identification = 0xc1;
	line_status = 0x60;
	port_is_new();
	assert_true(uart_write(&old, "0123456789abcdef", 16));
	assert_int_equal(looks, 2);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_that_faults_changes_nothing_of_what_another_sends),
		cmocka_unit_test(text_is_cut_where_it_does_not_fit),
		cmocka_unit_test(a_port_that_takes_nothing_is_given_up),
		cmocka_unit_test(a_fifo_is_filled_by_one_look),
		cmocka_unit_test(a_16550_has_the_room_that_it_says),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
