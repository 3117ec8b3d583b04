/* Unit tests of the device tree reader (on the host, under ASan and UBSan, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/fdt.h"
#include "common/tree.h"
#include "tree_maker.h"

static struct maker maker;
static struct tree tree;

/* Reads a heap copy of exactly that size, so ASan reports any read past its end. */
static const char *read_copy(const uint8_t *bytes, uint32_t size)
{
	uint8_t *copy = malloc(size ? size : 1);
	const char *wrong;

	memcpy(copy, bytes, size);
	wrong = tree_read(&tree, copy, size);
	free(copy);
	return wrong;
}

static void a_machine_is_read(void **state)
{
	uint32_t size = make_machine(&maker);

	(void)state;
	assert_null(read_copy(maker.bytes, size));
	assert_string_equal(tree.bootargs, "bench=idle nonce=7");
	assert_int_equal(tree.ram_count, 2);
	assert_true(tree.ram[0].start == 0x40000000 && tree.ram[0].end == 0x50000000);
	assert_true(tree.ram[1].start == 0x800000000 && tree.ram[1].end == 0x820000000);
	assert_int_equal(tree.reserved_count, 2);
	assert_true(tree.reserved[0].start == 0x48000000 && tree.reserved[0].end == 0x48001000);
	assert_true(tree.reserved[1].start == 0x44000000 && tree.reserved[1].end == 0x44002000);
	assert_int_equal(tree.cpu_count, 2);
	assert_int_equal(tree.cpu_ids[1], 0x100);
	assert_int_equal(tree.psci, PSCI_SMC);
	assert_true(tree.has_timer && tree.timer_hz == 24000000);
}

static void the_interrupt_controller_is_read(void **state)
{
	uint32_t size = make_machine(&maker);

	(void)state;
	assert_null(read_copy(maker.bytes, size));
	assert_int_equal(tree.gic_version, 3);
	assert_true(tree.its == 0x8080000);
	assert_int_equal(tree.gic_distributor, 0x8000000);
	assert_int_equal(tree.redistributor_count, 2);
	assert_int_equal(tree.redistributors[0].start, 0x80a0000);
	assert_true(tree.redistributors[1].end == 0x100040000);
}

static void the_console_is_the_one_that_stdout_path_names(void **state)
{
	uint32_t size = make_machine(&maker);
	const struct uart *console;

	(void)state;
	assert_null(read_copy(maker.bytes, size));
	/* Neither the disabled one nor the one outside its bus's "ranges". */
	assert_int_equal(tree.uart_count, 2);
	console = &tree.uarts[tree.console];
	assert_int_equal(console->kind, UART_16550);
	assert_true(console->base == 0x310001000);
	assert_int_equal(console->shift, 2);
	assert_int_equal(console->width, 4);
	assert_int_equal(tree.uarts[0].kind, UART_PL011);
	assert_int_equal(tree.uart_intids[0], 33);
	assert_int_equal(tree.uart_intids[1], 0); /* its node has none */
}

static void gicv2_is_read(void **state)
{
	(void)state;
	begin_tree(&maker);
	begin_node(&maker, "");
	begin_node(&maker, "memory");
	add_text(&maker, "device_type", "memory");
	CELLS(&maker, "reg", 0, 0x1000, 0x1000); /* the default cell counts, 2 and 1 */
	end_node(&maker);
	begin_node(&maker, "gic");
	add_text(&maker, "compatible", "arm,gic-400");
	CELLS(&maker, "reg", 0, 0x100, 0x10, 0, 0x200, 0x10);
	end_node(&maker);
	begin_node(&maker, "hypervisor");
	add_property(&maker, "compatible", "xen,xen-4.20\0xen,xen", 21);
	end_node(&maker);
	end_node(&maker);
	assert_null(read_copy(maker.bytes, end_tree(&maker)));
	assert_int_equal(tree.gic_version, 2);
	assert_int_equal(tree.gic_cpu_interface, 0x200);
	assert_string_equal(tree.hypervisor, "xen,xen-4.20");
	assert_int_equal(tree.psci, PSCI_NONE);
	assert_int_equal(tree.uart_count, 0);
}

static void nodes_are_found_by_path(void **state)
{
	uint32_t size = make_machine(&maker);
	struct fdt_walk found;
	struct fdt fdt;

	(void)state;
	assert_null(fdt_open(&fdt, maker.bytes, size));
	assert_int_not_equal(fdt_node(&fdt, "/", 1), 0);
	assert_int_not_equal(fdt_node(&fdt, "/memory", 7), 0);
	assert_int_equal(fdt_node(&fdt, "/memory", 7), fdt_node(&fdt, "/memory@40000000", 16));
	assert_int_equal(fdt_node(&fdt, "/memory@5", 9), 0);
	assert_int_equal(fdt_node(&fdt, "/serial@1000", 12), 0);
	assert_int_equal(fdt_node(&fdt, "chosen", 6), 0);
	assert_int_equal(fdt_node(&fdt, "/chosen/x", 9), 0);
	assert_true(fdt_property(&fdt, fdt_node(&fdt, "/soc/serial", 11), "reg-shift", &found));
	assert_int_equal(fdt_cells(found.value, 1), 2);
	assert_false(fdt_property(&fdt, fdt_node(&fdt, "/soc", 4), "reg-shift", &found));
	assert_false(fdt_property(&fdt, 0, "reg", &found));
}

/* A tree cut anywhere is refused, and nothing past its end is read. */
static void a_cut_tree_is_refused(void **state)
{
	uint32_t size = make_machine(&maker);

	(void)state;
	for (uint32_t cut = 0; cut < size; cut++) {
		assert_non_null(read_copy(maker.bytes, cut));
		if (cut < TREE_HEADER_BYTES)
			continue;
		put_word(&maker, 4, cut); /* the header's size matches the cut */
		assert_non_null(read_copy(maker.bytes, cut));
		put_word(&maker, 4, size);
	}
}

static void what_was_found_before_the_break_is_kept(void **state)
{
	uint32_t size = make_machine(&maker);
	uint32_t end = TREE_HEADER_BYTES + (uint32_t)fdt_cells(maker.bytes + 36, 1);

	(void)state;
	put_word(&maker, end - 4, 0x77);
	assert_string_equal(
		read_copy(maker.bytes, size),
		"the device tree breaks off, or holds something that is no device tree");
	assert_int_equal(tree.uart_count, 2);
	assert_int_equal(tree.psci, PSCI_SMC);
}

static void wrong_headers_are_named(void **state)
{
	uint32_t size = make_machine(&maker);

	(void)state;
	put_word(&maker, 0, 0xd00dfeee);
	assert_string_equal(read_copy(maker.bytes, size),
			    "what is there does not begin as a device tree does");
	make_machine(&maker);
	put_word(&maker, 24, 18);
	assert_string_equal(read_copy(maker.bytes, size),
			    "the device tree has a version that is not known here");
	make_machine(&maker);
	put_word(&maker, 8, 0xfffffffc);
	assert_string_equal(read_copy(maker.bytes, size),
			    "the device tree's blocks do not lie inside of it");
	begin_tree(&maker);
	begin_node(&maker, "");
	end_node(&maker);
	assert_string_equal(read_copy(maker.bytes, end_tree(&maker)),
			    "the device tree has no memory in it");
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_machine_is_read),
		cmocka_unit_test(the_interrupt_controller_is_read),
		cmocka_unit_test(the_console_is_the_one_that_stdout_path_names),
		cmocka_unit_test(gicv2_is_read),
		cmocka_unit_test(nodes_are_found_by_path),
		cmocka_unit_test(a_cut_tree_is_refused),
		cmocka_unit_test(what_was_found_before_the_break_is_kept),
		cmocka_unit_test(wrong_headers_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
