/* Unit tests of the console, on the host, with a serial port that counts (make -C guest test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "console.h"
#include "posih.h"

static const struct uart port;
static char sent[512];
static unsigned sent_bytes, fault_after;

/* Another CPU faults once so many bytes were sent: its text is written meanwhile. */
void uart_send(const struct uart *uart, uint8_t byte)
{
	assert_ptr_equal(uart, &port);
	assert_true(sent_bytes < sizeof(sent) - 1);
	sent[sent_bytes++] = (char)byte;
	if (sent_bytes == fault_after)
		console_printf_aside("<CPU %u: %s at %lx>", 1u, "#UD", 0x1000ul);
}

unsigned uart_room(const struct uart *uart)
{
	(void)uart;
	return 16;
}

bool uart_is_idle(const struct uart *uart)
{
	(void)uart;
	return true;
}

uint64_t uart_scratch(const struct uart *uart)
{
	(void)uart;
	return 7;
}

uint64_t uart_bytes(const struct uart *uart)
{
	(void)uart;
	return 8;
}

static void a_cpu_that_faults_changes_nothing_of_what_another_sends(void **state)
{
	static const char aside[] = "<CPU 1: #UD at 1000>",
			  record[] = "@ws1 0 a record of 1 line\n";

	(void)state;
	console_use(&port);
	for (unsigned after = 1; after < sizeof(record); after++) {
		char rest[sizeof(sent)];
		char *at;

		memset(sent, 0, sizeof(sent));
		sent_bytes = 0;
		fault_after = after;
		console_printf("@ws1 0 a %s of %u line\n", "record", 1u);
		at = strstr(sent, aside);
		assert_ptr_equal(at, sent + after);
		strcpy(rest, at + strlen(aside));
		strcpy(at, rest);
		assert_string_equal(sent, record);
	}
	console_use(NULL);
}

static void text_aside_is_cut_where_it_does_not_fit(void **state)
{
	char long_text[300] = { 0 };

	(void)state;
	memset(long_text, 'x', sizeof(long_text) - 1);
	memset(sent, 0, sizeof(sent));
	sent_bytes = fault_after = 0;
	console_use(&port);
	console_printf_aside("%s", long_text);
	console_use(NULL);
	assert_int_equal(sent_bytes, 159);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cpu_that_faults_changes_nothing_of_what_another_sends),
		cmocka_unit_test(text_aside_is_cut_where_it_does_not_fit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
