/* Unit tests of the PL011 that guests see (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "common/pl011.h"

static char sent[16];

static uint64_t get(struct pl011 *port, uint64_t offset)
{
	uint64_t value = UINT64_MAX;

	pl011_read(port, offset, &value);
	return value;
}

static void keep(void *context, uint8_t byte)
{
	size_t *used = context;

	sent[(*used)++] = (char)byte;
}

static void it_sends_and_interrupts(void **state)
{
	size_t used = 0;
	struct pl011 port = { .send = keep, .context = &used };

	(void)state;
	assert_int_equal(get(&port, PL011_FLAGS), 0x90);
	pl011_write(&port, PL011_DATA, 'a');
	pl011_write(&port, PL011_DATA, 0x100 | 'b');
	assert_string_equal(sent, "ab");
	pl011_write(&port, PL011_CLEAR, PL011_INTERRUPTS);
	assert_false(pl011_line(&port));
	pl011_write(&port, PL011_MASK, PL011_SENT);
	pl011_write(&port, PL011_DATA, 'c');
	assert_true(pl011_line(&port));
	assert_int_equal(get(&port, PL011_MASKED), PL011_SENT);
	pl011_write(&port, PL011_CLEAR, PL011_SENT);
	assert_false(pl011_line(&port));
	pl011_write(&port, PL011_DATA, 'd');
	pl011_write(&port, PL011_MASK, 0);
	assert_false(pl011_line(&port));
	assert_int_equal(get(&port, PL011_RAW), PL011_SENT);
}

/* DDI 0183, 3.3.10: the mask only passes an interrupt on; a sent byte raises it. */
static void a_mask_makes_no_interrupt(void **state)
{
	struct pl011 port = { 0 };

	(void)state;
	pl011_write(&port, PL011_MASK, PL011_SENT);
	assert_false(pl011_line(&port));
	assert_int_equal(get(&port, PL011_RAW), 0);
	/* The mask of an interrupt that is never raised: the guest's scratch register. */
	pl011_write(&port, PL011_MASK, 0x80);
	assert_int_equal(get(&port, PL011_MASK), 0x80);
	assert_false(pl011_line(&port));
	pl011_write(&port, PL011_DATA, 'x'); /* discarded */
	assert_int_equal(get(&port, PL011_RAW), PL011_SENT);
	pl011_write(&port, PL011_MASK, PL011_SENT);
	assert_true(pl011_line(&port));
}

static void it_receives(void **state)
{
	struct pl011 port = { 0 };

	(void)state;
	pl011_write(&port, PL011_MASK, PL011_RECEIVED | PL011_WAITS);
	for (unsigned i = 0; i < PL011_FIFO + 3; i++)
		pl011_receive(&port, (uint8_t)i);
	assert_true(pl011_line(&port));
	assert_int_equal(get(&port, PL011_FLAGS), 0x80);
	for (unsigned i = 0; i < PL011_FIFO; i++)
		assert_int_equal(get(&port, PL011_DATA), (uint8_t)i);
	assert_int_equal(get(&port, PL011_DATA), 0);
	assert_false(pl011_line(&port));
}

static void registers_keep_the_bits_that_they_have(void **state)
{
	struct pl011 port = { 0 };

	(void)state;
	pl011_write(&port, PL011_CONTROL, UINT32_MAX);
	pl011_write(&port, PL011_LINE, UINT32_MAX);
	pl011_write(&port, PL011_LEVELS, UINT32_MAX);
	pl011_write(&port, PL011_DIVISOR_WHOLE, UINT32_MAX);
	pl011_write(&port, PL011_DIVISOR_PART, UINT32_MAX);
	assert_int_equal(get(&port, PL011_CONTROL), 0xffff);
	assert_int_equal(get(&port, PL011_LINE), 0xff);
	assert_int_equal(get(&port, PL011_LEVELS), 0x3f);
	assert_int_equal(get(&port, PL011_DIVISOR_WHOLE), 0xffff);
	assert_int_equal(get(&port, PL011_DIVISOR_PART), 0x3f);
	assert_int_equal(get(&port, 0x100), 0);
}

static void it_says_what_it_is(void **state)
{
	static const uint8_t identity[] = { 0x11, 0x10, 0x34, 0x00, 0x0d, 0xf0, 0x05, 0xb1 };
	struct pl011 port = { 0 };

	(void)state;
	for (unsigned i = 0; i < sizeof(identity); i++)
		assert_int_equal(get(&port, PL011_IDENTITY + 4 * i), identity[i]);
	assert_int_equal(get(&port, 0xffe), 0);
	assert_int_equal(get(&port, PL011_BYTES), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_sends_and_interrupts),
		cmocka_unit_test(a_mask_makes_no_interrupt),
		cmocka_unit_test(it_receives),
		cmocka_unit_test(registers_keep_the_bits_that_they_have),
		cmocka_unit_test(it_says_what_it_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
