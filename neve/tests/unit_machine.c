/* Unit tests of the configuration, the VM's device tree, PSCI and system registers, on the host, under
 * ASan and UBSan (make -C neve test). */
#define _GNU_SOURCE /* memmem() */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/tree.h"
#include "core/arch.h"
#include "core/config.h"
#include "core/devices.h"
#include "core/guest_tree.h"
#include "cpu/registers.h"
#include "tree_maker.h"
#include "vm/psci.h"

/* ---- Configuration -------------------------------------------------------------------------- */

static struct maker maker;
static struct config config;
static char wrong[256];

static void add_module(const char *name, bool kernel, uint32_t address, const char *bootargs)
{
	begin_node(&maker, name);
	if (kernel)
		add_property(&maker, "compatible", "multiboot,module\0multiboot,kernel", 34);
	else
		add_property(&maker, "compatible", "multiboot,module\0multiboot,ramdisk", 35);
	CELLS(&maker, "reg", 0, address, 0, 0x1000);
	if (bootargs)
		add_text(&maker, "bootargs", bootargs);
	end_node(&maker);
}

/* Reads the configuration of a machine whose /chosen has what `modules` adds. */
static bool read_with(void (*modules)(void), const char *words)
{
	struct text text;
	uint32_t size;
	uint8_t *copy;
	bool good;

	begin_tree(&maker);
	begin_node(&maker, "");
	begin_node(&maker, "chosen");
	add_text(&maker, "bootargs", words);
	modules();
	end_node(&maker);
	begin_node(&maker, "module@0");
	end_node(&maker);
	end_node(&maker);
	size = end_tree(&maker);
	copy = malloc(size);
	memcpy(copy, maker.bytes, size);
	text_start(&text, wrong, sizeof(wrong));
	good = config_read(&config, words, copy, size, &text);
	free(copy);
	return good;
}

static void two_kernels(void)
{
	add_module("module@0x52000000", false, 0x52000000, NULL); /* as QEMU orders them */
	add_module("module@0x60000000", true, 0x60000000, "nonce=b");
	add_module("module@0x50000000", true, 0x50000000, "nonce=a");
}

static void lost_ramdisk(void)
{
	add_module("module@0x50000000", true, 0x50000000, "");
	add_module("module@0x40000000", false, 0x40000000, NULL);
}

static void five_kernels(void)
{
	for (uint32_t i = 1; i <= MAX_VMS + 1; i++)
		add_module("module@1", true, i << 24, "");
}

/* In one byte. */
static void overlapping_modules(void)
{
	add_module("module@50000fff", false, 0x50000fff, NULL);
	add_module("module@50000000", true, 0x50000000, "");
}

static void adjacent_modules(void)
{
	add_module("module@50001000", false, 0x50001000, NULL);
	add_module("module@50000000", true, 0x50000000, "");
}

static void too_many_modules(void)
{
	for (uint32_t i = 1; i <= MAX_MODULES + 1; i++)
		add_module("module@1", i % 2, i << 24, "");
}

static void modules_become_vms_by_address(void **state)
{
	(void)state;
	assert_true(read_with(two_kernels, "cpus=2,1 memory=64 stage2=4k"));
	assert_int_equal(config.vm_count, 2);
	assert_true(config.vms[0].kernel.start == 0x50000000 &&
		    config.vms[0].kernel.end == 0x50001000);
	assert_int_equal(config.vms[0].ramdisks[0].start, 0x52000000);
	assert_string_equal(config.vms[0].bootargs, "nonce=a");
	assert_int_equal(config.vms[1].ramdisks[0].start, 0);
	assert_string_equal(config.vms[1].bootargs, "nonce=b");
	assert_true(config.vms[0].cpus == 2 && config.vms[1].cpus == 1);
	assert_int_equal(config.vms[1].memory_bytes, 64 << 20);
	assert_int_equal(config.vms[1].stage2_bytes, 0x1000);
}

static void persistent_memory_is_the_first_vms(void **state)
{
	(void)state;
	assert_true(read_with(two_kernels, "pmem=0xa0000000+0x18c00000"));
	assert_true(config.vms[0].pmem.start == 0xa0000000 && config.vms[0].pmem.end == 0xb8c00000);
	assert_int_equal(config.vms[1].pmem.start, 0);
}

static void what_is_left_out_has_defaults(void **state)
{
	(void)state;
	assert_true(read_with(two_kernels, ""));
	assert_int_equal(config.vms[0].cpus, 1);
	assert_int_equal(config.vms[0].memory_bytes, 256 << 20);
	assert_int_equal(config.vms[0].stage2_bytes, 0x200000);
}

static void a_wrong_word_is_named(void **state)
{
	const char *const words[] = { "cpus=0",
				      "cpus=9",
				      "cpus=2,",
				      "cpus=",
				      "memory=70000",
				      "memory=64M",
				      "stage2=1g",
				      "colour=blue",
				      "cpus",
				      "=1",
				      "stage2=2m,4k",
				      "pmem=",
				      "pmem=0x1000",
				      "pmem=0x1000+",
				      "pmem=+0x1000",
				      "pmem=0x1001+0x1000",
				      "pmem=0x1000+0x800",
				      "pmem=0xfffffffffffff000+0x2000" };

	(void)state;
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++) {
		assert_false(read_with(two_kernels, words[i]));
		assert_non_null(strstr(wrong, words[i]));
	}
}

static void modules_that_cannot_be_run_are_explained(void **state)
{
	(void)state;
	assert_false(read_with(lost_ramdisk, ""));
	assert_non_null(strstr(wrong, "belongs to no kernel"));
	assert_false(read_with(five_kernels, ""));
	assert_non_null(strstr(wrong, "more than 4 kernels"));
	assert_false(read_with(too_many_modules, ""));
	assert_non_null(strstr(wrong, "more than 8"));
	assert_false(read_with(overlapping_modules, ""));
	assert_non_null(strstr(wrong, "the modules at 0x50000000 and 0x50000fff overlap"));
	assert_true(read_with(adjacent_modules, ""));
}

static void a_machine_without_modules_runs_nothing(void **state)
{
	uint32_t size = make_machine(&maker);
	struct text text;

	(void)state;
	text_start(&text, wrong, sizeof(wrong));
	assert_false(config_read(&config, "", maker.bytes, size, &text));
	assert_non_null(strstr(wrong, "no kernel to run"));
	text_start(&text, wrong, sizeof(wrong));
	assert_false(config_read(&config, "", maker.bytes, 30, &text));
	assert_non_null(strstr(wrong, "no room"));
}

/* ---- The VM's device tree ------------------------------------------------------------------- */

static void the_tree_says_what_the_machine_has(void **state)
{
	static struct tree tree;
	const struct memory_range ramdisks[MAX_RAMDISKS] = { { 0x42000000, 0x42001234 } };
	const struct guest_machine machine = {
		.cpus = 3,
		.ram = { 0x40000000, 0x50000000 },
		.pmem = { 0x60000000, 0x60200000 },
		.ramdisks = ramdisks,
		.redistributor_bytes = 3 * 0x20000,
		.bootargs = "bench=idle",
	};
	uint8_t *bytes = malloc(8192);
	uint32_t size = guest_tree_write(&machine, bytes, 8192);

	(void)state;
	assert_true(size && size < 8192);
	assert_null(tree_read(&tree, bytes, size));
	assert_string_equal(tree.bootargs, "bench=idle");
	assert_true(tree.ram[0].start == 0x40000000 && tree.ram[0].end == 0x50000000);
	assert_int_equal(tree.ram_count, 1); /* persistent memory is none */
	assert_non_null(memmem(bytes, size, "pmem-region", sizeof("pmem-region")));
	assert_true(tree.reserved[0].start == 0x42000000 && tree.reserved[0].end == 0x42001234);
	assert_int_equal(tree.cpu_count, 3);
	assert_int_equal(tree.cpu_ids[2], 2);
	assert_int_equal(tree.gic_version, 3);
	assert_int_equal(tree.gic_distributor, GUEST_GICD);
	assert_int_equal(tree.redistributors[0].end, GUEST_GICR + 3 * 0x20000);
	assert_int_equal(tree.uart_count, 2);
	assert_int_equal(tree.uart_intids[tree.console], GUEST_UART_INTID);
	assert_true(tree.uarts[tree.console].base == GUEST_UART);
	assert_int_equal(tree.psci, PSCI_HVC);
	assert_true(tree.has_timer);
	assert_string_equal(tree.hypervisor, "neve,neve-0.1");
	free(bytes);
}

static void a_tree_that_does_not_fit_is_none(void **state)
{
	const struct memory_range ramdisks[MAX_RAMDISKS] = { { 0, 0 } };
	const struct guest_machine machine = { .cpus = 1, .ramdisks = ramdisks, .bootargs = "" };

	(void)state;
	for (uint32_t room = 0; room < 1500; room++) {
		uint8_t *bytes = malloc(room ? room : 1);
		uint32_t size = guest_tree_write(&machine, bytes, room);

		assert_true(size <= room);
		free(bytes);
	}
}

/* ---- PSCI ----------------------------------------------------------------------------------- */

static struct psci psci;

static struct psci_result call(unsigned self, uint64_t function, uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t x[4] = { function, a, b, c };

	return psci_call(&psci, self, x);
}

static void cpus_go_on_and_off(void **state)
{
	struct psci_result result;

	(void)state;
	psci_init(&psci, 2);
	assert_int_equal(call(0, 0xc4000004, 1, 0, 0).value, 1); /* off */
	result = call(0, 0xc4000003, 1, 0x40080000, 77);
	assert_int_equal(result.action, PSCI_START);
	assert_true(result.cpu == 1 && result.entry == 0x40080000 && result.context == 77);
	assert_int_equal((int64_t)call(0, 0xc4000003, 1, 0x40080000, 77).value, -4);
	assert_int_equal((int64_t)call(0, 0xc4000003, 2, 0x40080000, 77).value, -2);
	assert_int_equal((int64_t)call(0, 0xc4000003, 1ull << 32, 0, 0).value, -2);
	assert_int_equal(call(0, 0xc4000004, 1, 0, 0).value, 0); /* on */
	assert_int_equal(call(1, 0x84000002, 0, 0, 0).action, PSCI_CPU_STOPS);
	/* The call with 32-bit arguments ignores their upper half. */
	assert_int_equal(call(0, 0x84000003, 1ull << 32 | 1, 1ull << 32 | 0x40000000, 0).entry,
			 0x40000000);
}

static void versions_and_features_are_told(void **state)
{
	(void)state;
	psci_init(&psci, 1);
	assert_int_equal(call(0, 0x84000000, 0, 0, 0).value, 0x10001);
	assert_int_equal(call(0, 0x80000000, 0, 0, 0).value, 0x10001);
	assert_int_equal(call(0, 0x8400000a, 0xc4000003, 0, 0).value, 0);
	assert_int_equal((int64_t)call(0, 0x8400000a, 0x8400000f, 0, 0).value, -1);
	assert_int_equal((int64_t)call(0, 0x4b000000, 0, 0, 0).value, -1);
	assert_int_equal(call(0, 0x84000008, 0, 0, 0).action, PSCI_OFF);
	assert_int_equal(call(0, 0x84000009, 0, 0, 0).action, PSCI_RESET);
	assert_int_equal(call(0, 0xc4000001, 0, 0, 0).action, PSCI_STANDBY);
	/* Bits above the lower 32 of a function number are ignored. */
	assert_int_equal(call(0, 0xffffffff84000008, 0, 0, 0).action, PSCI_OFF);
}

static void a_hypervisors_ramdisks_are_its_modules(void **state)
{
	const struct memory_range ramdisks[MAX_RAMDISKS] = { { 0x42000000, 0x42001234 },
							     { 0x44000000, 0x44005678 } };
	const struct guest_machine machine = {
		.cpus = 1,
		.ram = { 0x40000000, 0x50000000 },
		.ramdisks = ramdisks,
		.redistributor_bytes = 0x20000,
		.bootargs = "cpus=1 nest=nv2 -- cpus=1 -- bench=idle",
		.hypervisor = true,
	};
	static struct tree tree;
	uint8_t *bytes = malloc(8192);
	uint32_t size = guest_tree_write(&machine, bytes, 8192);
	struct text text;

	(void)state;
	text_start(&text, wrong, sizeof(wrong));
	assert_null(tree_read(&tree, bytes, size));
	assert_int_equal(tree.psci, PSCI_SMC);
	assert_string_equal(tree.bootargs, "cpus=1 nest=nv2");
	assert_true(config_read(&config, tree.bootargs, bytes, size, &text));
	assert_int_equal(config.vm_count, 1);
	assert_int_equal(config.vms[0].nest, MECHANISM_NV2);
	assert_string_equal(config.vms[0].bootargs, "cpus=1 -- bench=idle");
	assert_true(config.vms[0].kernel.end == 0x42001234);
	assert_int_equal(tree.reserved_count, 0); /* it is no initial RAM disk of Linux */
	assert_int_equal(config.vms[0].ramdisks[0].end, 0x44005678);
	free(bytes);
}

/* ---- System registers ----------------------------------------------------------------------- */

/* The row of virtual EL2's register for a name of EL1: SCTLR_EL1, SCTLR_EL2; NULL if there is none. */
static const struct register_row *own_register(const char *name)
{
	size_t stem = strlen(name) - 1;

	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		if (strncmp(register_rows[i].name, name, stem) == 0 &&
		    strcmp(register_rows[i].name + stem, "2") == 0)
			return &register_rows[i];
	return NULL;
}

/* Both worlds, L1's and L2's, run with the hardware's EL1 registers. So each register of L2 has L1's own value while L1
 * runs, and none is left to L2. */
static void each_register_of_a_nested_vm_has_an_owner_while_its_hypervisor_runs(void **state)
{
	unsigned debug = 0;

	(void)state;
	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		const struct register_row *row = &register_rows[i], *own = own_register(row->name);

		if (row->nest == NEST_DEBUG)
			debug++; /* load_l1() clears it, nested_eret() loads L1's: tests/rules_el2.c */
		/* CPACR_EL1 has CPTR_EL2's value (nested_cpacr()), SP_EL1 has sp_el2. */
		if (row->nest != NEST_VM || i == REG_CPACR_EL1 || i == REG_SP_EL1)
			continue;
		assert_non_null(own);
		assert_true(own->nest == NEST_REDIRECT || own->nest == NEST_REDIRECT_VHE ||
			    own->nest == NEST_TRANSLATED);
	}
	assert_int_equal(debug, 1);
	assert_int_equal(register_rows[REG_MDSCR_EL1].nest, NEST_DEBUG);
}

/* With FEAT_NV2 L1's accesses to such a register go to its page: the hardware has what L2, or we, left there. */
static void what_is_in_the_deferred_page_is_not_shared_by_both_worlds(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REGISTER_COUNT; i++)
		if (register_rows[i].page)
			assert_int_not_equal(register_rows[i].nest, NEST_DIRECT);
}

static void each_row_is_found_by_its_own_encoding(void **state)
{
	(void)state;
	for (unsigned i = 0; i < REGISTER_COUNT; i++) {
		assert_int_equal(register_find(register_rows[i].encoding), i);
		assert_int_equal(register_rows[i].encoding & ~ENCODING_MASK, 0);
		if (register_rows[i].class == CLASS_IDENTITY)
			assert_true(register_identifies(register_rows[i].encoding));
	}
	assert_int_equal(register_find(ENCODING(3u, 4u, 1u, 1u, 0u)), REG_HCR_EL2);
	assert_true(register_identifies(ENCODING(3u, 0u, 0u, 4u, 4u)));	 /* ID_AA64ZFR0_EL1 */
	assert_false(register_identifies(ENCODING(3u, 0u, 0u, 0u, 5u))); /* MPIDR_EL1 */
	assert_false(register_identifies(ENCODING(3u, 1u, 0u, 4u, 0u)));
}

static void a_vm_is_not_told_of_what_it_does_not_have(void **state)
{
	(void)state;
	/* EL0 to EL3 with AArch32, SVE, RAS, GIC registers. */
	assert_int_equal(
		register_identity(REG_ID_AA64PFR0_EL1, 0x0000000111112222, IDENTITY_VM, false),
		0x1110011);
	assert_int_equal(
		register_identity(REG_ID_AA64MMFR0_EL1, 0x0000000000001125, IDENTITY_VM, false),
		0x1121);
	assert_int_equal(register_identity(REG_ID_AA64MMFR0_EL1, 0, IDENTITY_VM, false), 0);
	assert_int_equal(register_identity(REG_ID_AA64MMFR2_EL1, FIELD(24) | 1, IDENTITY_VM, false),
			 1); /* NV */
	assert_int_equal(register_identity(REG_ID_AA64DFR0_EL1, 0xf106, IDENTITY_VM, false),
			 0xf006); /* PMU, trace */
}

/* ---- Devices -------------------------------------------------------------------------------- */

static void an_access_must_lie_in_one_device(void **state)
{
	struct devices devices = { .count = 0 };
	const struct device row = { .first = 0x1000, .count = 0x10 };

	(void)state;
	assert_true(devices_add(&devices, &row));
	assert_non_null(devices_find(&devices, 0x1008, 8));
	assert_null(devices_find(&devices, 0x100c, 8));
	assert_null(devices_find(&devices, 0x1010, 1));
	assert_null(devices_find(&devices, 0xfff, 1));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(modules_become_vms_by_address),
		cmocka_unit_test(persistent_memory_is_the_first_vms),
		cmocka_unit_test(what_is_left_out_has_defaults),
		cmocka_unit_test(a_wrong_word_is_named),
		cmocka_unit_test(modules_that_cannot_be_run_are_explained),
		cmocka_unit_test(a_machine_without_modules_runs_nothing),
		cmocka_unit_test(the_tree_says_what_the_machine_has),
		cmocka_unit_test(a_hypervisors_ramdisks_are_its_modules),
		cmocka_unit_test(a_tree_that_does_not_fit_is_none),
		cmocka_unit_test(cpus_go_on_and_off),
		cmocka_unit_test(versions_and_features_are_told),
		cmocka_unit_test(
			each_register_of_a_nested_vm_has_an_owner_while_its_hypervisor_runs),
		cmocka_unit_test(what_is_in_the_deferred_page_is_not_shared_by_both_worlds),
		cmocka_unit_test(each_row_is_found_by_its_own_encoding),
		cmocka_unit_test(a_vm_is_not_told_of_what_it_does_not_have),
		cmocka_unit_test(an_access_must_lie_in_one_device),
	};

	return cmocka_run_group_tests_name("neve: machine", tests, NULL, NULL);
}
