/* Unit tests of vmm's aarch64 parts that need no /dev/kvm (on the host, under ASan and UBSan, make -C vmm
 * test). The guest's own reader reads back the device tree. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <arch/board.h>
#include "vmm/options.h"

#include <cmocka.h> /* last but one: fail() is a macro there */
#define RAM_BYTES 0x300000
#include "virt_machine.h"

/* ---- device tree ---------------------------------------------------------------------------- */

static const struct machine_tree machine = { .cpus = 20,
					     .gic_version = 3,
					     .has_its = true,
					     .memory_bytes = 5ull << 30,
					     .initrd = 0x48000000,
					     .initrd_bytes = 0x1234,
					     .command_line = "bench=idle nonce=7" };

static void the_guest_finds_what_the_monitor_has(void **state)
{
	(void)state;
	tree_read_back(&machine);
	assert_string_equal(tree.bootargs, "bench=idle nonce=7");
	assert_int_equal(tree.ram_count, 1);
	assert_true(tree.ram[0].start == RAM && tree.ram[0].end == RAM + (5ull << 30));
	assert_true(tree.reserved[0].start == 0x48000000 && tree.reserved[0].end == 0x48001234);
	assert_int_equal(tree.cpu_count, 20);
	assert_int_equal(tree.cpu_ids[15], 15);
	assert_int_equal(tree.cpu_ids[16], 0x100);
	assert_int_equal(tree.psci, PSCI_HVC);
	assert_true(tree.has_timer);
	assert_int_equal(tree.uart_count, 2);
	assert_true(tree.uarts[tree.console].base == UART0);
	assert_int_equal(tree.gic_version, 3);
	assert_true(tree.its == 0x08080000);
	assert_true(tree.redistributors[0].end == GIC_REDISTRIBUTORS + 20 * 0x20000);
}

/* Whether the tree has this property, as its words. */
static bool has_words(size_t size, const uint32_t *words, size_t count)
{
	for (size_t at = 0; at + count * sizeof(*words) <= size; at += sizeof(*words)) {
		size_t same = 0;

		while (same < count &&
		       memcmp(bytes + at + same * sizeof(*words),
			      &(uint32_t){ __builtin_bswap32(words[same]) }, sizeof(*words)) == 0)
			same++;
		if (same == count)
			return true;
	}
	return false;
}

static void persistent_memory_is_told_if_there_is_some(void **state)
{
	static const uint32_t reg[] = { 1, 0x80000000, 0, 0x18c00000 };
	struct machine_tree other = machine;
	size_t size;

	(void)state;
	size = tree_write(bytes, sizeof(bytes), &other);
	assert_false(has_words(size, reg, 4));
	other.pmem = 0x180000000;
	other.pmem_bytes = 0x18c00000;
	size = tree_write(bytes, sizeof(bytes), &other);
	assert_true(has_words(size, reg, 4));
	assert_non_null(memmem(bytes, size, "pmem-region", sizeof("pmem-region")));
	/* It is no memory. */
	tree_read_back(&other);
	assert_int_equal(tree.ram_count, 1);
}

static void version_2_and_virtual_el2_are_told(void **state)
{
	const struct machine_tree other = { .cpus = 1,
					    .gic_version = 2,
					    .el2 = true,
					    .memory_bytes = 16 << 20,
					    .command_line = "" };

	(void)state;
	tree_read_back(&other);
	assert_int_equal(tree.gic_version, 2);
	assert_true(tree.gic_cpu_interface == GIC_CPU_INTERFACE);
	assert_true(tree.its == 0);
	assert_int_equal(tree.psci, PSCI_SMC);
	assert_int_equal(tree.reserved_count, 0);
}

static void a_tree_that_does_not_fit_is_none(void **state)
{
	(void)state;
	tree_fits_or_is_none(&machine);
}

/* ---- Xen and its domains --------------------------------------------------------------------- */

static const struct domains domains = { .bytes = 0xf000,
					.parameters = "console=dtuart",
					.answers = true };

static bool has_text(size_t size, const char *text)
{
	return memmem(bytes, size, text, strlen(text) + 1);
}

static void xen_finds_its_domains(void **state)
{
	static const uint32_t first[] = { 0, 0x4c000000, 0, 0xf000 };
	static const uint32_t second[] = { 0, 0x4d000000, 0, 0xf000 };
	static const uint32_t memory_kib[] = { 0, ((5 << 10) - 448) << 10 };
	/* Each end of a channel names its own port and the other end. */
	static const uint32_t channels[][2] = {
		{ 10, 0x20a }, { 10, 0x10a }, { 11, 0x10b }, { 31, 0x21f }, { 63, 0x13f }
	};
	struct machine_tree xen = machine;
	size_t size;

	(void)state;
	xen.el2 = true;
	xen.initrd_bytes = 0;
	xen.domains = &domains;
	size = tree_write(bytes, sizeof(bytes), &xen);
	assert_int_not_equal(size, 0);
	assert_null(tree_read(&tree, bytes, (uint32_t)size));
	assert_int_equal(tree.psci, PSCI_SMC);
	assert_int_equal(tree.cpu_count, 20);
	assert_true(has_text(size, "console=dtuart"));
	assert_true(has_text(size, "/uart@9000000"));
	assert_true(has_text(size, "bench=idle nonce=7 channel=10"));
	assert_true(has_text(size, "hypercall=xen channel=10 answer=1"));
	assert_true(has_words(size, first, 4));
	assert_true(has_words(size, second, 4));
	assert_true(has_words(size, memory_kib, 2));
	for (size_t i = 0; i < sizeof(channels) / sizeof(channels[0]); i++)
		assert_true(has_words(size, channels[i], 2));
	assert_false(has_words(size, (const uint32_t[]){ 12, 0x20c }, 2));
}

static void a_kernel_of_others_is_the_only_domain(void **state)
{
	const struct domains one = { .bytes = 0xf000, .parameters = "" };
	struct machine_tree xen = machine;
	size_t size;

	(void)state;
	xen.domains = &one;
	size = tree_write(bytes, sizeof(bytes), &xen);
	assert_true(has_text(size, "bench=idle nonce=7"));
	assert_true(has_text(size, "domU1"));
	assert_false(has_text(size, "domU2"));
	assert_false(has_words(size, (const uint32_t[]){ 10, 0x20a }, 2));
}

static void a_tree_of_xen_that_does_not_fit_is_none(void **state)
{
	struct machine_tree xen = machine;
	size_t size;

	(void)state;
	xen.domains = &domains;
	size = tree_write(bytes, sizeof(bytes), &xen);
	for (size_t most = 0; most < size; most += 97)
		assert_int_equal(tree_write(bytes, most, &xen), 0);
	assert_int_equal(tree_write(bytes, size, &xen), size);
}

/* ---- arm64 Image ---------------------------------------------------------------------------- */

struct image {
	uint32_t code[2];
	uint64_t text_offset, image_bytes, flags, reserved[3];
	uint32_t magic, pe, note[3];
	char name[12];
};

static struct image good(void)
{
	return (struct image){ .text_offset = 0x1000,
			       .image_bytes = 0x20000,
			       .flags = 0xa,
			       .magic = 0x644d5241,
			       .note = { 12, 0, 1 },
			       .name = "worldswitch" };
}

static void an_image_is_loaded_where_it_wants(void **state)
{
	struct image image = good();

	(void)state;
	assert_true(load(&image, sizeof(image)));
	assert_true(kernel.entry == RAM + 0x1000 && kernel.end == RAM + 0x21000);
	assert_true(kernel.worldswitch);
	assert_memory_equal(ram + 0x1000, &image, sizeof(image));
	image.name[0] = 'W';
	assert_true(load(&image, sizeof(image)) && !kernel.worldswitch);
	assert_true(load(&image, 64) && !kernel.worldswitch);
	image.image_bytes = 0; /* before Linux 3.17 */
	assert_true(load(&image, sizeof(image)));
	assert_true(kernel.entry == RAM + 0x80000 &&
		    kernel.end == kernel.entry + sizeof(image) + 0x200000);
}

/* Only the header's sizes matter: memory up to the images of the domains is mapped, but not touched. */
#define XEN_RAM (640ull << 20)

static const char *write_xen(const void *image, size_t size)
{
	static char path[] = "/tmp/vmm-unit-xen-XXXXXX";
	int fd;

	strcpy(path + sizeof(path) - 7, "XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0);
	assert_int_equal(write(fd, image, size), size);
	close(fd);
	return path;
}

static bool load_xen(const struct image *guest, const struct image *xen, const struct memory *to)
{
	const char *path = write_xen(xen, sizeof(*xen));
	bool done;

	kernel = (struct kernel){ .xen = path };
	done = xen_load((const uint8_t *)guest, sizeof(*guest), to, &kernel);
	unlink(path);
	return done;
}

static void xen_and_the_images_of_its_domains_are_loaded(void **state)
{
	struct memory large = { .regions = { { .guest = RAM, .bytes = XEN_RAM } },
				.count = 1,
				.bytes = XEN_RAM };
	struct image guest = good(), xen = good();
	uint8_t *base;

	(void)state;
	assert_true(memory_map(&large, false));
	base = large.regions[0].host;
	xen.text_offset = 0;
	xen.name[0] = 'X';
	assert_true(load_xen(&guest, &xen, &large));
	assert_true(kernel.entry == RAM && kernel.end == RAM + 0x20000);
	assert_true(kernel.worldswitch && kernel.domain_bytes == sizeof(guest));
	assert_memory_equal(base, &xen, sizeof(xen));
	assert_memory_equal(base + (192 << 20), &guest, sizeof(guest));
	assert_memory_equal(base + (208 << 20), &guest, sizeof(guest));
	guest.name[0] = 'W';
	assert_true(load_xen(&guest, &xen, &large) && !kernel.worldswitch);

	guest.magic++;
	assert_false(load_xen(&guest, &xen, &large));
	assert_null(strstr(error_text, "xen="));
	guest.magic--;
	xen.magic++;
	assert_false(load_xen(&guest, &xen, &large));
	assert_non_null(strstr(error_text, "xen=/tmp/vmm-unit-xen-"));
	assert_non_null(strstr(error_text, "no arm64 Image"));
	xen.magic--;
	xen.image_bytes = 192 << 20;
	assert_false(load_xen(&guest, &xen, &large));
	assert_non_null(strstr(error_text, "no room"));
	xen.image_bytes = 0x20000;
	large.bytes = 600ull << 20;
	assert_false(load_xen(&guest, &xen, &large));
	assert_string_equal(error_text, "Xen and its domains need at least memory=608");
	kernel = (struct kernel){ .xen = "/nowhere" };
	large.bytes = XEN_RAM;
	assert_false(xen_load((const uint8_t *)&guest, sizeof(guest), &large, &kernel));
	assert_non_null(strstr(error_text, "xen=/nowhere: "));
	munmap(large.base, XEN_RAM);
}

static void what_is_no_image_is_refused(void **state)
{
	struct image image = good();

	(void)state;
	for (size_t size = 0; size < 64; size++)
		assert_false(load(&image, size));
	image.magic++;
	assert_false(load(&image, sizeof(image)));
	assert_non_null(strstr(error_text, "no arm64 Image"));
	image = good();
	image.flags |= 1;
	assert_false(load(&image, sizeof(image)));
	for (uint64_t wrong = 0x200000; wrong; wrong <<= 1) {
		image = good();
		image.text_offset = wrong;
		assert_false(load(&image, sizeof(image)));
		image = good();
		image.image_bytes = wrong + 0x100000;
		assert_false(load(&image, sizeof(image)));
	}
}

static void a_flat_program_is_loaded_where_qemu_does_if_asked_for(void **state)
{
	static uint8_t program[0x100001] = { 1, 2, 3 };

	(void)state;
	kernel.flat = true;
	assert_true(image_load(program, 3, &memory, &kernel));
	assert_true(kernel.entry == RAM + 0x80000 && !kernel.worldswitch);
	assert_memory_equal(ram + 0x80000, program, 3);
	/* The program may use half of the memory. */
	assert_true(kernel.end == RAM + sizeof(ram) / 2);
	kernel.flat = true;
	assert_true(image_load(program, sizeof(program) - 1, &memory, &kernel));
	for (unsigned i = 0; i < 2; i++) {
		kernel.flat = true;
		assert_false(image_load(program, i * sizeof(program), &memory, &kernel));
		assert_non_null(strstr(error_text, "raise memory="));
	}
	kernel.flat = false;
	assert_false(image_load(program, 100, &memory, &kernel));
	assert_non_null(strstr(error_text, "flat"));
}

/* ---- configuration ------------------------------------------------------------------------- */

static bool takes(struct config *config, const char *lines)
{
	config_defaults(config);
	return config_text(config, lines, strlen(lines)) && config_check(config);
}

static void a_vm_is_protected_if_asked_for(void **state)
{
	static struct config config;

	(void)state;
	assert_true(takes(&config, "kernel=/guest.img\n"));
	assert_false(config_protects(&config));
	assert_true(takes(&config, "kernel=/guest.img\nprotected\nflat\n"));
	assert_true(config_protects(&config));
	assert_true(config.flat);
	assert_false(takes(&config, "kernel=/guest.img\nprotected=1\n"));
	assert_string_equal(error_text, "line 2: protected takes no value");
}

static void a_device_of_the_host_is_named_by_its_address(void **state)
{
	static struct config config;

	(void)state;
	assert_true(takes(&config, "kernel=/guest.img\n"));
	assert_string_equal(config.assign, "");
	assert_true(takes(&config, "kernel=/guest.img\nassign=0000:00:01.0\n"));
	assert_string_equal(config.assign, "0000:00:01.0");
	assert_false(takes(&config, "kernel=/guest.img\nassign\n"));
	assert_non_null(strstr(error_text, "assign needs a value"));
	assert_false(takes(&config, "kernel=/guest.img\nassign=0000:00:01.0\nprotected\n"));
	assert_string_equal(error_text, "assign= excludes protected and xen=: leave one out");
	assert_false(takes(&config, "kernel=/guest.img\nassign=0000:00:01.0\nxen=/xen.img\n"));
}

static void xen_is_at_a_virtual_el2_without_vhe(void **state)
{
	static struct config config;

	(void)state;
	assert_true(takes(&config, "kernel=/guest.img\n"));
	assert_int_equal(config_el2(&config), EL2_NONE);
	assert_true(takes(&config, "kernel=/guest.img\nel2\n"));
	assert_int_equal(config_el2(&config), EL2_VHE);
	assert_true(takes(&config, "kernel=/guest.img\nel2-no-vhe\n"));
	assert_int_equal(config_el2(&config), EL2_NO_VHE);
	assert_true(takes(&config, "kernel=/guest.img\nel2\nxen=/xen.img\nxen-append=a=b c\n"));
	assert_int_equal(config_el2(&config), EL2_NO_VHE);
	assert_string_equal(config.xen_append, "a=b c");
	assert_false(takes(&config, "kernel=/guest.img\nxen-append=a\n"));
	assert_string_equal(error_text, "xen-append= needs xen=");
	assert_false(takes(&config, "kernel=/guest.img\nxen=/xen.img\ninitrd=/initrd\n"));
	assert_string_equal(error_text, "xen= excludes initrd=, pmem=, flat and protected");
	assert_false(takes(&config, "kernel=/guest.img\nxen=/xen.img\nprotected\n"));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_guest_finds_what_the_monitor_has),
		cmocka_unit_test(persistent_memory_is_told_if_there_is_some),
		cmocka_unit_test(version_2_and_virtual_el2_are_told),
		cmocka_unit_test(a_tree_that_does_not_fit_is_none),
		cmocka_unit_test(xen_finds_its_domains),
		cmocka_unit_test(a_kernel_of_others_is_the_only_domain),
		cmocka_unit_test(a_tree_of_xen_that_does_not_fit_is_none),
		cmocka_unit_test(an_image_is_loaded_where_it_wants),
		cmocka_unit_test(xen_and_the_images_of_its_domains_are_loaded),
		cmocka_unit_test(what_is_no_image_is_refused),
		cmocka_unit_test(a_flat_program_is_loaded_where_qemu_does_if_asked_for),
		cmocka_unit_test(a_vm_is_protected_if_asked_for),
		cmocka_unit_test(a_device_of_the_host_is_named_by_its_address),
		cmocka_unit_test(xen_is_at_a_virtual_el2_without_vhe),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
