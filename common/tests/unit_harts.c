/* Unit tests of the reader of RISC-V harts (on the host, under ASan and UBSan, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include <cmocka.h>

#include "common/harts.h"
#include "tree_maker.h"

#define MACHINE_LEVEL	 11
#define SUPERVISOR_LEVEL 9

static struct maker maker;

/* Reads a heap copy of exactly that size, so ASan reports any read past its end. */
static struct harts read_copy(uint32_t size)
{
	uint8_t *copy = malloc(size);
	struct harts harts;

	memcpy(copy, maker.bytes, size);
	harts_read(&harts, copy, size);
	free(copy);
	return harts;
}

/* The first is the firmware's own, without an MMU. */
static void add_cpus(const char *isa_property, const char *isa, uint32_t bytes)
{
	begin_node(&maker, "cpus");
	CELLS(&maker, "timebase-frequency", 10000000);
	begin_node(&maker, "cpu@0");
	add_text(&maker, "device_type", "cpu");
	CELLS(&maker, "reg", 0);
	add_text(&maker, "status", "disabled");
	end_node(&maker);
	for (uint32_t i = 0; i < 2; i++) {
		begin_node(&maker, i ? "cpu@4" : "cpu@3");
		add_text(&maker, "device_type", "cpu");
		CELLS(&maker, "reg", 3 + i);
		add_property(&maker, isa_property, isa, bytes);
		begin_node(&maker, "interrupt-controller");
		CELLS(&maker, "phandle", 1 + i);
		end_node(&maker);
		end_node(&maker);
	}
	end_node(&maker);
}

static void add_imsics(uint32_t address, uint32_t level, uint32_t phandle)
{
	begin_node(&maker, "interrupt-controller@0");
	add_text(&maker, "compatible", "riscv,imsics");
	CELLS(&maker, "reg", 0, address, 0, 0x4000);
	CELLS(&maker, "interrupts-extended", 1, level, 2, level);
	CELLS(&maker, "phandle", phandle);
	if (level == SUPERVISOR_LEVEL)
		CELLS(&maker, "riscv,guest-index-bits", 1);
	end_node(&maker);
}

static void add_aplic(uint32_t address, uint32_t parent)
{
	begin_node(&maker, "interrupt-controller@1");
	add_text(&maker, "compatible", "riscv,aplic");
	CELLS(&maker, "reg", 0, address, 0, 0x8000);
	CELLS(&maker, "msi-parent", parent);
	end_node(&maker);
}

/* As QEMU's virt describes itself with aia=aplic-imsic: controllers of machine level too, and the APLICs before
 * the IMSICs that they name. */
static void aia_is_read(void **state)
{
	struct harts harts;

	(void)state;
	begin_tree(&maker);
	begin_node(&maker, "");
	add_cpus("riscv,isa", "rv64imac_zicsr_sstc_svadu", 26);
	begin_node(&maker, "soc");
	add_aplic(0xc000000, 8);
	add_aplic(0xd000000, 9);
	add_imsics(0x24000000, MACHINE_LEVEL, 8);
	add_imsics(0x28000000, SUPERVISOR_LEVEL, 9);
	end_node(&maker);
	end_node(&maker);
	harts = read_copy(end_tree(&maker));
	assert_int_equal(harts.count, 2);
	assert_int_equal(harts.ids[0], 3);
	assert_int_equal(harts.ids[1], 4);
	assert_int_equal(harts.pages[0], 1);
	assert_int_equal(harts.pages[1], 2);
	assert_int_equal(harts.clock_hz, 10000000);
	assert_true(harts.has_sstc);
	assert_int_equal(harts.plic, 0);
	assert_int_equal(harts.aplic, 0xd000000);
	assert_int_equal(harts.imsic, 0x28000000);
	assert_int_equal(harts.imsic_stride, 0x2000);
}

static void a_plic_is_read(void **state)
{
	struct harts harts;

	(void)state;
	begin_tree(&maker);
	begin_node(&maker, "");
	add_cpus("riscv,isa", "rv64imac_sst_sstcx", 19);
	begin_node(&maker, "plic@c000000");
	add_property(&maker, "compatible", "sifive,plic-1.0.0\0riscv,plic0", 30);
	CELLS(&maker, "reg", 0, 0xc000000, 0, 0x600000);
	end_node(&maker);
	end_node(&maker);
	harts = read_copy(end_tree(&maker));
	assert_false(harts.has_sstc);
	assert_int_equal(harts.plic, 0xc000000);
	assert_int_equal(harts.imsic, 0);
	assert_int_equal(harts.aplic, 0);
}

static void extensions_may_be_a_list(void **state)
{
	(void)state;
	begin_tree(&maker);
	begin_node(&maker, "");
	add_cpus("riscv,isa-extensions", "zicsr\0sstc", 11);
	end_node(&maker);
	assert_true(read_copy(end_tree(&maker)).has_sstc);
}

static void another_machine_has_none_of_these_controllers(void **state)
{
	struct harts harts;

	(void)state;
	harts = read_copy(make_machine(&maker));
	assert_int_equal(harts.clock_hz, 0);
	assert_int_equal(harts.plic, 0);
	assert_int_equal(harts.imsic, 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(aia_is_read),
		cmocka_unit_test(a_plic_is_read),
		cmocka_unit_test(extensions_may_be_a_list),
		cmocka_unit_test(another_machine_has_none_of_these_controllers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
