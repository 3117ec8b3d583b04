/* Unit tests of vmm's riscv64 parts that need no /dev/kvm (on the host, under ASan and UBSan, make -C vmm
 * test). The guest's own readers read back the device tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <arch/board.h>
#include "common/fdt.h"
#include "common/harts.h"

#include <cmocka.h> /* last but one: fail() is a macro there */
#define RAM_BYTES 0x400000
#include "virt_machine.h"

/* KVM's numbers (enum KVM_RISCV_ISA_EXT_ID). */
#define SSTC	       8
#define SSAIA	       14
#define ZICSR	       20
#define LETTER(letter) (1ull << ((letter) - 'a'))
#define IMAC	       (LETTER('i') | LETTER('m') | LETTER('a') | LETTER('c'))

/* ---- names of extensions -------------------------------------------------------------------- */

#define HART                                                                        \
	{                                                                           \
		.timebase_hz = 10000000, .letters = IMAC, .extensions[SSTC] = true, \
		.extensions[ZICSR] = true, .satp_mode = 9, .cboz_bytes = 64,        \
	}

static void extensions_have_the_names_of_the_bindings(void **state)
{
	static const char list[] = "i\0m\0a\0c\0sstc\0zicsr";
	char text[ISA_BYTES];
	struct hart hart = HART;

	(void)state;
	assert_int_equal(isa_string(&hart, text), sizeof("rv64imac_sstc_zicsr"));
	assert_string_equal(text, "rv64imac_sstc_zicsr");
	assert_int_equal(isa_list(&hart, text), sizeof(list));
	assert_memory_equal(text, list, sizeof(list));
	/* Letters are not in the alphabet's order. KVM knows them by numbers too. */
	hart.letters |= LETTER('f') | LETTER('d') | LETTER('v');
	hart.extensions[0] = hart.extensions[SSAIA] = true;
	isa_string(&hart, text);
	assert_string_equal(text, "rv64imafdcv_sstc_ssaia_zicsr");
}

static void all_extensions_fit(void **state)
{
	char text[ISA_BYTES];
	struct hart all = { .letters = ~0ull };

	(void)state;
	memset(all.extensions, true, sizeof(all.extensions));
	assert_true(isa_string(&all, text) < ISA_BYTES - 1);
	assert_non_null(strstr(text, "_zicfiss"));
	assert_true(isa_list(&all, text) < ISA_BYTES - 1);
}

/* ---- device tree ---------------------------------------------------------------------------- */

static struct harts harts;

static const struct machine_tree machine = { .cpus = 20,
					     .hart = HART,
					     .sources = 96,
					     .ids = 255,
					     .memory_bytes = 5ull << 30,
					     .initrd = 0x88000000,
					     .initrd_bytes = 0x1234,
					     .command_line = "bench=idle nonce=7" };

static void read_back(const struct machine_tree *of)
{
	harts_read(&harts, bytes, tree_read_back(of));
}

static void the_guest_finds_what_the_monitor_has(void **state)
{
	(void)state;
	read_back(&machine);
	assert_string_equal(tree.bootargs, "bench=idle nonce=7");
	assert_int_equal(tree.ram_count, 1);
	assert_true(tree.ram[0].start == RAM && tree.ram[0].end == RAM + (5ull << 30));
	assert_true(tree.reserved[0].start == 0x88000000 && tree.reserved[0].end == 0x88001234);
	assert_int_equal(tree.uart_count, 2);
	assert_int_equal(tree.uarts[0].kind, UART_16550);
	assert_int_equal(tree.uarts[0].shift, 0);
	assert_int_equal(tree.uarts[0].width, 1);
	assert_true(tree.uarts[tree.console].base == UART0);
	assert_int_equal(harts.count, 20);
	assert_int_equal(harts.ids[19], 19);
	assert_int_equal(harts.clock_hz, 10000000);
	assert_true(harts.has_sstc);
	assert_true(harts.aplic == APLIC && harts.imsic == IMSIC && !harts.plic);
	assert_int_equal(harts.imsic_stride, 0x1000);
}

static bool find(const char *path, const char *name, struct fdt_walk *found)
{
	struct fdt fdt;

	assert_null(fdt_open(&fdt, bytes, sizeof(bytes)));
	return fdt_property(&fdt, fdt_node(&fdt, path, (uint32_t)strlen(path)), name, found);
}

/* The property of a node, which must be there. */
static struct fdt_walk property(const char *path, const char *name)
{
	struct fdt_walk found;

	assert_true(find(path, name, &found));
	return found;
}

static uint64_t cell(const char *path, const char *name, uint32_t index)
{
	struct fdt_walk found = property(path, name);

	assert_true(found.length >= 4 * (index + 1));
	return fdt_cells(found.value + 4 * index, 1);
}

static const char *text_of(const char *node, const char *name)
{
	return (const char *)property(node, name).value;
}

static void harts_are_as_kvm_says(void **state)
{
	struct machine_tree other = machine;

	(void)state;
	read_back(&machine);
	assert_string_equal(text_of("/cpus/cpu@13", "riscv,isa"), "rv64imac_sstc_zicsr");
	assert_string_equal(text_of("/cpus/cpu@13", "riscv,isa-base"), "rv64i");
	assert_string_equal(text_of("/cpus/cpu@13", "mmu-type"), "riscv,sv48");
	assert_int_equal(cell("/cpus/cpu@13", "riscv,cboz-block-size", 0), 64);
	other.hart.satp_mode = 10;
	read_back(&other);
	assert_string_equal(text_of("/cpus/cpu@0", "mmu-type"), "riscv,sv57");
	other.hart.satp_mode = 0; /* KVM does not say */
	read_back(&other);
	assert_string_equal(text_of("/cpus/cpu@0", "mmu-type"), "riscv,sv39");
}

/* An IMSIC raises interrupt 9 of its hart. The APLIC writes to the IMSICs, and has the serial port's line. */
static void interrupts_are_connected(void **state)
{
	static const char imsics[] = "/interrupt-controller@28000000";
	static const char aplic[] = "/interrupt-controller@d000000";

	(void)state;
	read_back(&machine);
	assert_int_equal(property(imsics, "interrupts-extended").length, 20 * 8);
	assert_int_equal(cell(imsics, "interrupts-extended", 2 * 19),
			 cell("/cpus/cpu@13/interrupt-controller", "phandle", 0));
	assert_int_equal(cell(imsics, "interrupts-extended", 2 * 19 + 1), 9);
	assert_int_equal(cell(imsics, "reg", 3), 20 * 0x1000);
	assert_int_equal(cell(imsics, "riscv,num-ids", 0), 255);
	assert_int_equal(cell(aplic, "msi-parent", 0), cell(imsics, "phandle", 0));
	assert_int_equal(cell(aplic, "riscv,num-sources", 0), 96);
	assert_int_equal(cell("/serial@10000000", "interrupt-parent", 0),
			 cell(aplic, "phandle", 0));
	assert_int_equal(cell("/serial@10000000", "interrupts", 0), UART0_SOURCE);
}

static void without_an_interrupt_controller_there_is_none(void **state)
{
	struct machine_tree other = machine;
	struct fdt_walk found;

	(void)state;
	other.sources = other.ids = 0;
	read_back(&other);
	assert_true(!harts.aplic && !harts.imsic);
	assert_false(find("/serial@10000000", "interrupts", &found));
	assert_int_equal(tree.uart_count, 2);
}

static void persistent_memory_is_told_if_there_is_some(void **state)
{
	struct machine_tree other = machine;

	(void)state;
	other.pmem = 0x1c0000000;
	other.pmem_bytes = 0x18c00000;
	read_back(&other);
	assert_int_equal(cell("/pmem@1c0000000", "reg", 0), 1);
	assert_int_equal(cell("/pmem@1c0000000", "reg", 3), 0x18c00000);
	/* It is no memory. */
	assert_int_equal(tree.ram_count, 1);
}

static void the_largest_machine_fits(void **state)
{
	struct machine_tree largest = machine;

	(void)state;
	largest.cpus = 64;
	largest.hart.letters = ~0ull;
	largest.hart.cbom_bytes = largest.hart.cbop_bytes = 64;
	memset(largest.hart.extensions, true, sizeof(largest.hart.extensions));
	largest.pmem = 0x1c0000000;
	largest.pmem_bytes = 0x18c00000;
	read_back(&largest);
	assert_int_equal(harts.count, 64);
}

static void a_tree_that_does_not_fit_is_none(void **state)
{
	struct machine_tree small = machine;

	(void)state;
	small.cpus = 2;
	tree_fits_or_is_none(&small);
}

/* ---- RISC-V Image --------------------------------------------------------------------------- */

struct image {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags;
	uint32_t version, reserved[3];
	char old_magic[8];
	uint32_t magic, pe, note[3];
	char name[12];
};

static struct image good(void)
{
	return (struct image){ .text_offset = 0x200000,
			       .image_bytes = 0x20000,
			       .version = 2,
			       .old_magic = "RISCV",
			       .magic = 0x05435352,
			       .note = { 12, 0, 1 },
			       .name = "worldswitch" };
}

static void an_image_is_loaded_where_it_wants(void **state)
{
	struct image image = good();

	(void)state;
	assert_true(load(&image, sizeof(image)));
	assert_true(kernel.entry == RAM + 0x200000 && kernel.end == RAM + 0x220000);
	assert_true(kernel.worldswitch);
	assert_memory_equal(ram + 0x200000, &image, sizeof(image));
	image.name[0] = 'W';
	assert_true(load(&image, sizeof(image)) && !kernel.worldswitch);
	assert_true(load(&image, 64) && !kernel.worldswitch);
	image.text_offset = 0;
	image.image_bytes = 1; /* less than the file has */
	assert_true(load(&image, sizeof(image)));
	assert_true(kernel.entry == RAM && kernel.end == RAM + sizeof(image));
}

static void what_is_no_image_is_refused(void **state)
{
	struct image image = good();

	(void)state;
	for (size_t size = 0; size < 64; size++)
		assert_false(load(&image, size));
	image.magic++;
	assert_false(load(&image, sizeof(image)));
	assert_non_null(strstr(error_text, "not a RISC-V Image"));
	image = good();
	image.flags |= 1;
	assert_false(load(&image, sizeof(image)));
	image = good();
	image.image_bytes = 0;
	assert_false(load(&image, sizeof(image)));
	image = good();
	image.text_offset = 0x201000;
	assert_false(load(&image, sizeof(image)));
	for (uint64_t wrong = 0x400000; wrong; wrong <<= 1) {
		image = good();
		image.text_offset = wrong;
		assert_false(load(&image, sizeof(image)));
		image = good();
		image.image_bytes = wrong;
		assert_false(load(&image, sizeof(image)));
	}
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(extensions_have_the_names_of_the_bindings),
		cmocka_unit_test(all_extensions_fit),
		cmocka_unit_test(the_guest_finds_what_the_monitor_has),
		cmocka_unit_test(harts_are_as_kvm_says),
		cmocka_unit_test(interrupts_are_connected),
		cmocka_unit_test(without_an_interrupt_controller_there_is_none),
		cmocka_unit_test(persistent_memory_is_told_if_there_is_some),
		cmocka_unit_test(the_largest_machine_fits),
		cmocka_unit_test(a_tree_that_does_not_fit_is_none),
		cmocka_unit_test(an_image_is_loaded_where_it_wants),
		cmocka_unit_test(what_is_no_image_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
