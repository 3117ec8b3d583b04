/* Unit tests of vmm's parts that need no /dev/kvm (under ASan and UBSan, make -C vmm test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "vmm/line_out.h"
#include "vmm/options.h"
#include "vmm/device_table.h"
#include "kernel_maker.h"
#include <arch/board.h>
#include "common/crc32.h"
#include "common/multiboot.h"

#include <cmocka.h> /* last: fail() is a macro there */

#define LOWEST 0x1000

/* ---- memory and loader --------------------------------------------------------------------- */

static uint8_t ram[0x8000], high_ram[0x1000];

/* Two regions with a hole between, as a guest with more than 3 GiB has. */
static const struct memory memory = {
	.regions = { { .guest = 0, .bytes = sizeof(ram), .host = ram },
		     { .guest = 0x100000000, .bytes = sizeof(high_ram), .host = high_ram } },
	.count = 2,
};

static void memory_is_only_what_lies_wholly_in_a_region(void **state)
{
	(void)state;
	assert_ptr_equal(memory_at(&memory, 0, 1), ram);
	assert_ptr_equal(memory_at(&memory, 0, sizeof(ram)), ram);
	assert_ptr_equal(memory_at(&memory, sizeof(ram) - 1, 1), ram + sizeof(ram) - 1);
	assert_ptr_equal(memory_at(&memory, 0x100000010, 8), high_ram + 0x10);
	assert_null(memory_at(&memory, 0, sizeof(ram) + 1));
	assert_null(memory_at(&memory, sizeof(ram), 1));
	assert_null(memory_at(&memory, 0xffffffff, 2));
	assert_null(memory_at(&memory, UINT64_MAX, 1));
	assert_null(memory_at(&memory, 0x100000010, UINT64_MAX));
}

static struct elf_file file;
static struct kernel kernel;

static bool load(void)
{
	uint8_t *exact; /* exact size, so ASan reports reads past its end */
	bool done;

	elf_finish(&file);
	exact = malloc(file.used);
	assert_non_null(exact);
	memcpy(exact, file.bytes, file.used);
	done = elf_load(exact, file.used, EM_X86_64, EM_386, LOWEST, &memory, &kernel);
	free(exact);
	return done;
}

/* A kernel with code at 0x2000 and both notes. */
static void make_good(void)
{
	uint32_t entry = 0x2004;
	uint8_t notes[128];
	size_t bytes;

	elf_make(&file);
	elf_add(&file, PT_LOAD, 0x2000, "code", 4, 0x100);
	bytes = elf_note(notes, "GNU", 18, &entry, 4);
	bytes += elf_note(notes + bytes, "Xen", 18, &entry, 4);
	bytes += elf_note(notes + bytes, "worldswitch", 1, NULL, 0);
	elf_add(&file, PT_NOTE, 0, notes, bytes, bytes);
}

static void loader_loads_a_kernel(void **state)
{
	(void)state;
	memset(ram, 0, sizeof(ram));
	make_good();
	elf_add(&file, PT_LOAD, 0x100000000, "high", 4, 4);
	assert_true(load());
	assert_int_equal(kernel.entry, 0x2004);
	assert_true(kernel.worldswitch);
	assert_int_equal(kernel.end, 0x100000004);
	assert_memory_equal(ram + 0x2000, "code\0\0", 6);
	assert_memory_equal(high_ram, "high", 4);
}

static void loader_zeroes_what_overlaps(void **state)
{
	(void)state;
	make_good();
	elf_add(&file, PT_LOAD, 0x2001, "", 0, 2);
	assert_true(load());
	assert_memory_equal(ram + 0x2000, "c\0\0e", 4);
}

static void loader_knows_strangers(void **state)
{
	uint8_t notes[64];
	size_t bytes = elf_note(notes, "worldswitchy", 1, NULL, 0);

	(void)state;
	elf_make(&file);
	elf_add(&file, PT_LOAD, 0x2000, "code", 4, 4);
	elf_add(&file, PT_NOTE, 0, notes, bytes, bytes);
	assert_true(load());
	assert_false(kernel.worldswitch);
	assert_int_equal(kernel.entry, 0);
}

#define assert_refused(wanted)                               \
	do {                                                 \
		assert_false(load());                        \
		if (!strstr(error_text, wanted))             \
			fail_msg("it said: %s", error_text); \
	} while (0)

/* The same kernel as a 32-bit file (GRUB for Xen is one). */
static void loader_loads_a_32_bit_kernel(void **state)
{
	uint32_t entry = 0x2004;
	uint8_t bytes[512] = { 0 };
	Elf32_Ehdr header = { .e_type = ET_EXEC,
			      .e_machine = EM_386,
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf32_Phdr),
			      .e_phnum = 2 };
	Elf32_Phdr segments[2] = { { .p_type = PT_LOAD,
				     .p_offset = 200,
				     .p_paddr = 0x2000,
				     .p_filesz = 4,
				     .p_memsz = 8 },
				   { .p_type = PT_NOTE, .p_offset = 204 } };

	(void)state;
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(bytes + 200, "code", 4);
	segments[1].p_filesz = (Elf32_Word)elf_note(bytes + 204, "Xen", 18, &entry, 4);
	memcpy(bytes, &header, sizeof(header));
	memcpy(bytes + sizeof(header), segments, sizeof(segments));
	memset(ram, 0, sizeof(ram));
	assert_true(elf_load(bytes, sizeof(bytes), EM_X86_64, EM_386, LOWEST, &memory, &kernel));
	assert_int_equal(kernel.entry, 0x2004);
	assert_int_equal(kernel.end, 0x2008);
	assert_memory_equal(ram + 0x2000, "code", 4);
	header.e_machine = EM_ARM;
	memcpy(bytes, &header, sizeof(header));
	assert_false(elf_load(bytes, sizeof(bytes), EM_X86_64, EM_386, LOWEST, &memory, &kernel));
}

static void loader_refuses_bad_headers(void **state)
{
	(void)state;
	make_good();
	file.header.e_ident[0] = 0;
	assert_refused("no ELF");
	make_good();
	file.header.e_ident[EI_CLASS] = ELFCLASS32;
	assert_refused("another machine");
	make_good();
	file.header.e_ident[EI_DATA] = ELFDATA2MSB;
	assert_refused("little-endian");
	make_good();
	file.header.e_machine = EM_AARCH64;
	assert_refused("another machine");
	make_good();
	file.header.e_type = ET_REL;
	assert_refused("no program");
	make_good();
	file.header.e_phentsize = 32;
	assert_refused("table of segments");
	make_good();
	file.header.e_phnum = 65;
	assert_refused("table of segments");
	make_good();
	file.header.e_phoff = file.used - 8;
	assert_refused("outside the file");
	make_good();
	file.header.e_phoff = UINT64_MAX - 8;
	assert_refused("outside the file");
	make_good();
	file.used = sizeof(Elf64_Ehdr) - 1;
	assert_refused("no ELF");
	make_good();
	file.segments[0].p_type = PT_NULL;
	assert_refused("nothing to load");
}

static void loader_refuses_bad_segments(void **state)
{
	(void)state;
	make_good();
	file.segments[0].p_offset = UINT64_MAX;
	assert_refused("outside the file");
	make_good();
	file.segments[0].p_filesz = file.used;
	file.segments[0].p_memsz = file.used;
	assert_refused("outside the file");
	make_good();
	file.segments[0].p_memsz = 3;
	assert_refused("outside the file");
	make_good();
	file.segments[0].p_paddr = LOWEST - 1;
	assert_refused("does not fit");
	make_good();
	file.segments[0].p_paddr = sizeof(ram) - 0xff;
	assert_refused("does not fit");
	make_good();
	file.segments[0].p_paddr = UINT64_MAX - 3;
	assert_refused("does not fit");
	make_good();
	file.segments[0].p_memsz = UINT64_MAX;
	assert_refused("does not fit");
}

static void loader_survives_bad_notes(void **state)
{
	Elf64_Nhdr note = { .n_namesz = UINT32_MAX, .n_descsz = UINT32_MAX, .n_type = 18 };
	uint8_t notes[64];
	size_t bytes;

	(void)state;
	make_good();
	file.segments[1].p_filesz = UINT64_MAX;
	assert_true(load());
	assert_int_equal(kernel.entry, 0);
	make_good();
	elf_add(&file, PT_NOTE, 0, &note, sizeof(note), sizeof(note));
	assert_true(load());
	elf_make(&file);
	elf_add(&file, PT_LOAD, 0x2000, "code", 4, 4);
	bytes = elf_note(notes, "Xen", 18, "abcd", 4); /* its value is truncated */
	elf_add(&file, PT_NOTE, 0, notes, bytes - 4, bytes - 4);
	assert_true(load());
	assert_int_equal(kernel.entry, 0);
	elf_make(&file);
	elf_add(&file, PT_LOAD, 0x2000, "code", 4, 4);
	bytes = elf_note(notes, "Xen", 18, "ab", 2); /* too short to be an address */
	elf_add(&file, PT_NOTE, 0, notes, bytes, bytes);
	assert_true(load());
	assert_int_equal(kernel.entry, 0);
}

/* ---- bzImage ------------------------------------------------------------------------------- */

#define LINUX_AT    0x100000
#define LINUX_BYTES 0x400000

static uint8_t linux_ram[LINUX_BYTES];
static const struct memory linux_memory = {
	.regions = { { .guest = 0, .bytes = LINUX_BYTES, .host = linux_ram } }, .count = 1
};
static struct bzimage bzimage;

/* A kernel of 4 bytes after one sector of real-mode code. */
static void make_bzimage(void)
{
	bzimage_make(&bzimage);
	bzimage.header->kernel_alignment = 0x10000;
	bzimage.header->pref_address = 0x180000;
	bzimage.header->init_size = 0x1000;
	bzimage.header->initrd_addr_max = 0x37ffff;
}

static bool load_bzimage(size_t cut)
{
	size_t bytes = sizeof(bzimage.bytes) - cut;
	uint8_t *exact = malloc(bytes); /* exact size, so ASan reports reads past its end */
	bool done;

	assert_non_null(exact);
	memcpy(exact, bzimage.bytes, bytes);
	done = bzimage_load(exact, bytes, &linux_memory, &kernel);
	free(exact);
	return done;
}

static void bzimages_are_loaded(void **state)
{
	(void)state;
	make_bzimage();
	assert_true(load_bzimage(0));
	assert_memory_equal(linux_ram + LINUX_AT, "code", 4);
	assert_int_equal(kernel.entry, LINUX_AT);
	assert_int_equal(kernel.end, 0x181000);
	assert_int_equal(kernel.initrd_end, 0x380000);
	assert_false(kernel.worldswitch);
	assert_non_null(kernel.setup);
	bzimage.header->pref_address = 0; /* then it runs at its load address, aligned up */
	assert_true(load_bzimage(0));
	assert_int_equal(kernel.end, 0x111000);
	bzimage.header->init_size = 0;
	bzimage.header->kernel_alignment = 0;
	assert_true(load_bzimage(0));
	assert_int_equal(kernel.end, LINUX_AT + 4);
}

static void bzimages_with_bad_headers_are_refused(void **state)
{
	(void)state;
	make_bzimage();
	for (size_t cut = 4; cut <= sizeof(bzimage.bytes); cut++)
		assert_false(load_bzimage(cut));
	assert_non_null(strstr(error_text, "no bzImage"));
	bzimage.header->header++;
	assert_false(load_bzimage(0));
	make_bzimage();
	bzimage.header->boot_flag = 0;
	assert_false(load_bzimage(0));
	make_bzimage();
	bzimage.header->version = 0x209;
	assert_false(load_bzimage(0));
	assert_non_null(strstr(error_text, "older"));
	make_bzimage();
	bzimage.header->loadflags = 0; /* a zImage */
	assert_false(load_bzimage(0));
	make_bzimage();
	bzimage.header->setup_sects = 0; /* that means 4 */
	assert_false(load_bzimage(0));
	assert_non_null(strstr(error_text, "ends before"));
	make_bzimage();
	bzimage.header->init_size = UINT32_MAX;
	assert_false(load_bzimage(0));
	assert_non_null(strstr(error_text, "does not fit"));
	make_bzimage();
	bzimage.header->pref_address = UINT64_MAX - 0xfff;
	assert_false(load_bzimage(0));
	make_bzimage();
	bzimage.header->kernel_alignment = UINT32_MAX;
	assert_false(load_bzimage(0));
}

/* ---- multiboot ----------------------------------------------------------------------------- */

/* A flat file: 64 bytes of something else, the header, code. */
static struct {
	uint8_t before[64];
	struct multiboot_header header;
	char code[8];
} flat;

static void make_flat(void)
{
	memset(&flat, 0, sizeof(flat));
	flat.header = (struct multiboot_header){ .magic = MULTIBOOT_MAGIC,
						 .flags = MULTIBOOT_GIVES_PLACES | 3,
						 .header = LINUX_AT + 32,
						 .load = LINUX_AT,
						 .load_end = LINUX_AT + 72,
						 .bss_end = LINUX_AT + 80,
						 .entry = LINUX_AT + 64 };
	memcpy(flat.code, "codeBSS", 8);
}

static bool load_flat(void)
{
	flat.header.checksum = -(flat.header.magic + flat.header.flags);
	memset(linux_ram, 0xee, sizeof(linux_ram));
	kernel = (struct kernel){ 0 };
	error_text[0] = 0;
	return multiboot_load((uint8_t *)&flat, sizeof(flat), false, &linux_memory, &kernel);
}

static void multiboot_kernels_go_where_their_header_says(void **state)
{
	(void)state;
	make_flat();
	assert_true(load_flat());
	assert_true(kernel.multiboot);
	assert_int_equal(kernel.entry, LINUX_AT + 64);
	assert_int_equal(kernel.end, LINUX_AT + 80);
	/* 72 bytes from offset 32 of the file, then zeroes. */
	assert_memory_equal(linux_ram + LINUX_AT + 64, "codeBSS\0\0\0\0\0\0\0\0\0\xee", 17);
	flat.header.load_end = flat.header.bss_end = 0; /* the whole file, no bss */
	assert_true(load_flat());
	assert_int_equal(kernel.end, LINUX_AT + 72);
}

static void multiboot_kernels_may_be_elf_files(void **state)
{
	const uint32_t header[] = { MULTIBOOT_MAGIC, 0, -MULTIBOOT_MAGIC };

	(void)state;
	elf_make(&file);
	file.header.e_entry = 0x2008;
	elf_add(&file, PT_LOAD, 0x2000, header, sizeof(header), sizeof(header));
	assert_true(load());
	assert_int_equal(kernel.entry, 0);
	assert_true(multiboot_load(file.bytes, file.used, true, &memory, &kernel));
	assert_true(kernel.multiboot);
	assert_int_equal(kernel.entry, 0x2008);
	/* A file that the ELF loader refused stays refused, with the same message. */
	strcpy(error_text, "the ELF loader's");
	assert_false(multiboot_load(file.bytes, file.used, false, &memory, &kernel));
	assert_string_equal(error_text, "the ELF loader's");
}

static void multiboot_headers_are_looked_at(void **state)
{
	static uint8_t far[MULTIBOOT_SEARCH_BYTES + 64];

#define assert_flat_refused(change, wanted)                  \
	do {                                                 \
		make_flat();                                 \
		change;                                      \
		assert_false(load_flat());                   \
		assert_non_null(strstr(error_text, wanted)); \
	} while (0)
	(void)state;
	assert_flat_refused(flat.header.flags |= 1u << 5, "unknown flags");
	assert_flat_refused((flat.header.load -= 16, flat.header.header -= 16), "do not fit");
	assert_flat_refused(flat.header.load = LINUX_AT + 64, "do not fit");
	assert_flat_refused(flat.header.header = LINUX_AT + 72, "do not fit");
	assert_flat_refused(flat.header.load_end = LINUX_AT + 73, "do not fit");
	assert_flat_refused(flat.header.load_end = LINUX_AT - 1, "do not fit");
	assert_flat_refused(flat.header.bss_end = LINUX_AT + 71, "do not fit");
	assert_flat_refused(flat.header.bss_end = UINT32_MAX, "do not fit");
	make_flat();
	flat.header.magic++;
	assert_false(load_flat()); /* not multiboot; error_text stays empty */
	assert_string_equal(error_text, "");
	assert_false(multiboot_load(far, sizeof(far), true, &memory, &kernel));
	assert_non_null(strstr(error_text, "neither a PVH entry"));
	memcpy(far + MULTIBOOT_SEARCH_BYTES - 8,
	       (uint32_t[]){ MULTIBOOT_MAGIC, 0, -MULTIBOOT_MAGIC }, 12);
	assert_false(multiboot_load(far, sizeof(far), true, &memory, &kernel));
}

/* ---- ACPI ---------------------------------------------------------------------------------- */

#define TABLES_AT 0xe0000ull

static uint8_t tables[0x2000];

static uint64_t word(const uint8_t *at, unsigned bytes)
{
	uint64_t value = 0;

	for (unsigned i = 0; i < bytes; i++)
		value |= (uint64_t)at[i] << 8 * i;
	return value;
}

static uint8_t sum(const uint8_t *bytes, size_t length)
{
	uint8_t total = 0;

	for (size_t i = 0; i < length; i++)
		total = (uint8_t)(total + bytes[i]);
	return total;
}

/* The table at a guest address, its sum and signature checked. */
static const uint8_t *table(uint64_t address, const char *signature)
{
	const uint8_t *at = tables + (address - TABLES_AT);

	assert_true(address >= TABLES_AT && address < TABLES_AT + sizeof(tables));
	assert_int_equal(address % 16, 0);
	assert_memory_equal(at, signature, 4);
	assert_int_equal(sum(at, word(at + 4, 4)), 0);
	return at;
}

static void acpi_tables_hold_together(void **state)
{
	const uint8_t *xsdt, *fadt, *dsdt, *madt;
	size_t used = acpi_write(tables, sizeof(tables), TABLES_AT, 3);

	(void)state;
	assert_true(used > 0 && used <= sizeof(tables));
	assert_memory_equal(tables, "RSD PTR ", 8);
	assert_int_equal(sum(tables, 20), 0);
	assert_int_equal(sum(tables, 36), 0);
	assert_int_equal(tables[15], 2);
	xsdt = table(word(tables + 24, 8), "XSDT");
	assert_int_equal(word(xsdt + 4, 4), 36 + 2 * 8);
	fadt = table(word(xsdt + 36, 8), "FACP");
	assert_int_equal(word(fadt + 4, 4), 276);
	assert_int_equal(word(fadt + 48, 4), 0); /* no SMI command: ACPI is always on */
	assert_int_equal(word(fadt + 64, 4), PM1_CONTROL);
	assert_int_equal(fadt[89], 2);
	dsdt = table(word(fadt + 140, 8), "DSDT");
	assert_int_equal(word(fadt + 40, 4), word(fadt + 140, 8));
	/* As in QEMU, where kernels that read no tables write 0x2000 to port 0x604. */
	assert_memory_equal(dsdt + 36, "\x08_S5_\x12\x08\x04\x0a\0\x0a\0\0\0", 14);
	assert_int_equal(word(fadt + 64, 4), 0x604);
	assert_int_equal(word(dsdt + 4, 4), 36 + 14);
	madt = table(word(xsdt + 44, 8), "APIC");
	assert_int_equal(word(madt + 36, 4), 0xfee00000);
	for (unsigned i = 0; i < 3; i++) {
		const uint8_t *cpu = madt + 44 + i * 8;

		assert_int_equal(cpu[0], 0);
		assert_int_equal(cpu[1], 8);
		assert_int_equal(cpu[3], i);
		assert_int_equal(word(cpu + 4, 4), 1);
	}
	assert_int_equal(madt[44 + 24], 1); /* an I/O APIC after the CPUs, then the end */
	assert_int_equal(word(madt + 4, 4), 44 + 24 + madt[44 + 25]);
}

static void acpi_tables_fit_or_not(void **state)
{
	size_t used = acpi_write(tables, sizeof(tables), TABLES_AT, 64);

	(void)state;
	assert_true(used > 64 * 8);
	memset(tables, 0x55, sizeof(tables));
	for (size_t bytes = 0; bytes < used; bytes++) {
		assert_int_equal(acpi_write(tables, bytes, TABLES_AT, 64), 0);
		assert_int_equal(tables[bytes], 0x55);
	}
	assert_int_equal(acpi_write(tables, used, TABLES_AT, 64), used);
}

/* ---- devices and serial ports -------------------------------------------------------------- */

static void echo(void *context, struct access *access)
{
	uint64_t *kept = context;

	if (access->write)
		*kept = access->value + access->offset;
	else
		access->value = *kept;
}

static void devices_are_found_and_the_rest_is_nowhere(void **state)
{
	uint64_t kept = 0;
	struct device row = { "echo", SPACE_PORT, 0x100, 8, echo, &kept };
	uint8_t data[8] = { 0x34, 0x12 };
	struct devices devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

	(void)state;
	assert_true(devices_add(&devices, &row));
	devices_access(&devices, SPACE_PORT, 0xff, true, data, 1);
	devices_access(&devices, SPACE_PORT, 0x108, true, data, 1);
	devices_access(&devices, SPACE_MMIO, 0x100, true, data, 1);
	assert_int_equal(devices.nowhere, 3);
	devices_access(&devices, SPACE_PORT, 0x107, true, data, 1);
	assert_int_equal(kept, 0x34 + 7);

	devices_access(&devices, SPACE_PORT, 0x101, true, data, 2);
	assert_int_equal(kept, 0x1235);
	devices_access(&devices, SPACE_PORT, 0x100, false, data, 4);
	assert_int_equal(word(data, 4), 0x1235);
	assert_int_equal(devices.nowhere, 3);
	devices_access(&devices, SPACE_MMIO, 0xd0000000, false, data, 8);
	assert_memory_equal(data, "\xff\xff\xff\xff\xff\xff\xff\xff", 8);
	devices_access(&devices, SPACE_MMIO, 0xd0000000, true, data, 8);
	assert_int_equal(devices.nowhere, 5);
}

static void devices_may_not_overlap(void **state)
{
	struct device row = { "first", SPACE_PORT, 0x100, 8, echo, NULL };
	struct devices devices = { .lock = PTHREAD_MUTEX_INITIALIZER };

	(void)state;
	assert_true(devices_add(&devices, &row));
	row.name = "second";
	row.first = 0x107;
	assert_false(devices_add(&devices, &row));
	assert_non_null(strstr(error_text, "first"));
	assert_non_null(strstr(error_text, "0x107"));
	row.first = 0xf9;
	assert_false(devices_add(&devices, &row));
	row.first = UINT64_MAX;
	assert_false(devices_add(&devices, &row));
	row.first = 0x107;
	row.space = SPACE_MMIO;
	assert_true(devices_add(&devices, &row));
	for (row.first = 0x1000; devices.count < MAX_DEVICES; row.first += 8)
		assert_true(devices_add(&devices, &row));
	assert_false(devices_add(&devices, &row));
}

static char sent[16];

static void keep_sent(void *context, uint8_t byte)
{
	(void)context;
	sent[strlen(sent)] = (char)byte;
}

static void put8(struct serial *serial, uint64_t number, uint8_t value)
{
	serial_access(serial, &(struct access){ true, 1, number, value });
}

static uint8_t get8(struct serial *serial, uint64_t number)
{
	struct access access = { false, 1, number, UINT64_MAX };

	serial_access(serial, &access);
	return (uint8_t)access.value;
}

static int raised, lowered;

static void count_interrupts(void *context, bool level)
{
	(void)context;
	raised += level;
	lowered += !level;
}

static void serial_ports_interrupt_when_there_is_room(void **state)
{
	struct serial serial = { .interrupt = count_interrupts };

	(void)state;
	put8(&serial, 0, 'a'); /* its interrupt is disabled */
	assert_int_equal(raised, 0);
	assert_int_equal(get8(&serial, 2), 0xc1);
	put8(&serial, 1, 0xff);
	assert_int_equal(get8(&serial, 1), 0x0f); /* a 16550 has four of these bits */
	assert_int_equal(raised, 1);
	assert_int_equal(get8(&serial, 2), 0xc2);
	assert_int_equal(lowered, 1); /* by reading the cause */
	assert_int_equal(get8(&serial, 2), 0xc1);
	put8(&serial, 0, 'b');
	assert_int_equal(raised, 2);
	put8(&serial, 0, 'c');
	assert_int_equal(raised, 2);
	put8(&serial, 1, 0);
	assert_int_equal(lowered, 2);
	assert_int_equal(get8(&serial, 2), 0xc1);
}

static void serial_ports_send_and_keep(void **state)
{
	struct serial serial = { .send = keep_sent };
	uint64_t wide = 'w' | 1 << 8 | 2 << 16 | 3 << 24;

	(void)state;
	put8(&serial, 3, 0x80); /* the divisor latch, instead of data */
	put8(&serial, 0, 'x');
	assert_int_equal(get8(&serial, 0), 'x');
	put8(&serial, 3, 3);
	put8(&serial, 0, 'a');
	put8(&serial, 4, 0x13); /* loopback: nothing is sent */
	put8(&serial, 0, 'b');
	put8(&serial, 4, 0x03);
	put8(&serial, 0, 'c');
	assert_string_equal(sent, "ac");
	assert_int_equal(get8(&serial, 5), 0x60);
	put8(&serial, 7, 0x5a);
	assert_int_equal(get8(&serial, 7), 0x5a);
	serial_access(&serial, &(struct access){ true, 4, 0, wide });
	assert_string_equal(sent, "acw");
	serial_access(&serial, &(struct access){ true, 4, 7, wide }); /* three bytes beyond */
	assert_int_equal(get8(&serial, 7), 'w');
	serial.send = NULL;
	put8(&serial, 0, 'd');
	assert_string_equal(sent, "acw");
}

/* ---- console and records ------------------------------------------------------------------- */

static atomic_bool stop;

/* Everything written to the file so far. */
static const char *written(int fd)
{
	static char text[8192];
	ssize_t bytes = pread(fd, text, sizeof(text) - 1, 0);

	text[bytes < 0 ? 0 : bytes] = 0;
	return text;
}

static void put_text(struct console *console, const char *text)
{
	for (; *text; text++)
		console_put(console, (uint8_t)*text);
}

/* A record of vmm's, which masked() shows as OURS. */
static void send_ours(struct console *console)
{
	struct record record;

	record_start(&record, "ours");
	record_send(&record, console);
}

static const char *masked(int fd)
{
	static char text[8192];
	const char *from = written(fd);
	char *to = text;

	while (*from) {
		const char *ours = strncmp(from, "@ws1 ", 5) == 0 ? "OURS" : "";

		to = stpcpy(to, ours);
		if (*ours)
			from += strcspn(from, "\n");
		while (*from && (*to++ = *from++) != '\n')
			continue;
	}
	*to = 0;
	return text;
}

static void console_keeps_lines_whole(void **state)
{
	int fd = memfd_create("console", 0);
	struct console console;

	(void)state;
	console_init(&console, fd, 1000, "vmm", &stop);
	put_text(&console, "one\ntw");
	assert_string_equal(masked(fd), "one\n");
	send_ours(&console);
	put_text(&console, "o\n");
	assert_string_equal(masked(fd), "one\nOURS\ntwo\n");
	put_text(&console, "half");
	console_flush(&console);
	send_ours(&console);
	assert_string_equal(masked(fd), "one\nOURS\ntwo\nhalf\nOURS\n");
	put_text(&console, "\x02"); /* not text: written at once, it may be measured */
	assert_string_equal(masked(fd), "one\nOURS\ntwo\nhalf\nOURS\n\x02");
	close(fd);
}

static void console_has_an_end(void **state)
{
	int fd = memfd_create("console", 0);
	struct console console;

	(void)state;
	console_init(&console, fd, 6, "vmm", &stop);
	put_text(&console, "1234\n");
	assert_int_equal(console.state, CONSOLE_OK);
	put_text(&console, "567\n89\n");
	assert_int_equal(console_put(&console, 'x'), CONSOLE_FULL);
	assert_string_equal(written(fd), "1234\n5");
	close(fd);
	console_init(&console, -1, 6, "vmm", &stop);
	assert_int_equal(console_put(&console, '\n'), CONSOLE_FAILED);
}

static void console_gives_up_when_told(void **state)
{
	struct console console;
	int ends[2];

	(void)state;
	assert_int_equal(pipe2(ends, O_NONBLOCK), 0); /* EAGAIN, as EINTR by a signal */
	console_init(&console, ends[1], UINT64_MAX, "vmm", &stop);
	atomic_store(&stop, true);
	for (unsigned i = 0; i < 1000; i++)
		put_text(&console,
			 "0123456789012345678901234567890123456789012345678901234567890123"
			 "0123456789012345678901234567890123456789012345678901234567890\n");
	atomic_store(&stop, false);
	assert_int_equal(console.state, CONSOLE_OK);
	close(ends[0]);
	close(ends[1]);
}

static void records_are_lines_that_readers_know(void **state)
{
	int fd = memfd_create("console", 0);
	struct console console;
	struct record record;
	unsigned long crc, bytes;
	int json_at;

	(void)state;
	console_init(&console, fd, 100000, "vmm", &stop);
	console.records.nonce = 0xab;
	for (unsigned i = 0; i < 2; i++) {
		record_start(&record, "exits");
		record_string(&record, "bench", "a\"\n");
		text_printf(&record.text, ",\"index\":%u", i);
		record_send(&record, &console);
	}
	assert_int_equal(sscanf(written(fd), "@ws1 %8lx vmm ab 0 %lu %n", &crc, &bytes, &json_at),
			 2);
	assert_int_equal(strcspn(written(fd) + json_at, "\n"), bytes);
	assert_memory_equal(written(fd) + json_at,
			    "{\"kind\":\"exits\",\"bench\":\"a\\\"\\u000a\",\"index\":0}\n",
			    bytes + 1);
	/* zlib.crc32(b'vmm ab 0 ...') of that text, computed by another program */
	assert_int_equal(crc, crc32(0, written(fd) + 14, (size_t)json_at - 14 + bytes));
	assert_int_equal(crc, 0x9d717a10);
	assert_non_null(strstr(written(fd), " vmm ab 1 "));

	/* A record that does not fit is lost, and its number with it. */
	record_start(&record, "long");
	for (unsigned i = 0; i < 500; i++)
		record_string(&record, "x", "0123456789");
	record_send(&record, &console);
	assert_null(strstr(written(fd), "long"));
	assert_int_equal(console.records.sequence, 3);
	close(fd);
}

/* ---- configuration ------------------------------------------------------------------------- */

static struct config config;

static bool arguments(int count, const char *const *words)
{
	config_defaults(&config);
	return config_arguments(&config, count, (char *const *)(uintptr_t)words);
}

static void a_file_is_persistent_memory_in_whole_pages(void **state)
{
	char path[] = "/tmp/pmem-XXXXXX";
	struct memory memory = { .count = 0 };
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	assert_false(memory_map_file(&memory, path, 0x100000000)); /* empty */
	assert_int_equal(write(fd, "root", 4), 4);
	assert_false(memory_map_file(&memory, path, 0x100000000));
	assert_int_equal(memory.pmem.bytes, 0);
	assert_int_equal(ftruncate(fd, 8192), 0);
	assert_true(memory_map_file(&memory, path, 0x100000000));
	assert_true(memory.pmem.guest == 0x100000000 && memory.pmem.bytes == 8192);
	/* What the guest writes is not in the file. */
	memcpy(memory.pmem.host, "none", 4);
	assert_int_equal(lseek(fd, 0, SEEK_SET), 0);
	assert_int_equal(read(fd, path + 5, 4), 4);
	assert_memory_equal(path + 5, "root", 4);
	memcpy(path + 5, "pmem", 4);
	unlink(path);
	close(fd);
	assert_false(memory_map_file(&memory, path, 0));
	/* It is no memory that the monitor itself uses. */
	assert_null(memory_at(&memory, 0x100000000, 1));
}

static void config_takes_arguments(void **state)
{
	static const char *const words[] = {
		"--kernel",    "a.elf",	      "--append=bench=^x$ iters=1",
		"--cpus",      "2",	      "--pin=1,-",
		"--initrd",    "b.gz",	      "--insist",
		"--timeout=7", "--huge-pages"
	};

	(void)state;
	assert_true(arguments(11, words));
	assert_true(config_check(&config));
	assert_string_equal(config.kernel, "a.elf");
	assert_string_equal(config.append, "bench=^x$ iters=1");
	assert_int_equal(config.vcpus, 2);
	assert_int_equal(config.pin[0], 1);
	assert_int_equal(config.pin[1], PIN_NONE);
	assert_string_equal(config.initrd, "b.gz");
	assert_true(config.insist);
	assert_int_equal(config.timeout_s, 7);
	assert_int_equal(config.memory_mib, 512);
	assert_true(config.huge_pages);
	assert_int_equal(config.action, ACTION_RUN);
}

static void config_refuses_what_it_can_not_use(void **state)
{
	static const char *const bad[] = {
		"--colour=blue", "--cpus=0",	    "--cpus=65",       "--cpus=",
		"--cpus=2x",	 "--memory=15",	    "--pin=",	       "--pin=0,",
		"--pin=,0",	 "--pin=0-1",	    "--pin=4096",      "--initrd",
		"--insist=on",	 "--kernel",	    "kernel",	       "--",
		"--hyperv=1",	 "--huge-pages=2m", "--console-max=0", "-kernel=x",
		"--timeout=-1",	 "--protected"
	};
	char many[256] = "--pin=0";

	(void)state;
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (arguments(1, &bad[i]))
			fail_msg("it took %s", bad[i]);
	for (unsigned i = 1; i < 64; i++)
		strcat(many, ",0");
	assert_true(arguments(1, (const char *const[]){ many }));
	strcat(many, ",0");
	assert_false(arguments(1, (const char *const[]){ many }));
	assert_true(arguments(1, (const char *const[]){ "--pin=0,1" }));
	strcpy(config.kernel, "x");
	assert_false(config_check(&config)); /* two CPUs for one vCPU */
	assert_true(arguments(0, NULL));
	assert_false(config_check(&config)); /* no kernel */
	assert_true(arguments(1, (const char *const[]){ "--probe" }));
	assert_true(config_check(&config));
}

static void config_takes_a_file(void **state)
{
	static const char text[] = "# of the lab\n\nkernel=/guest.elf\nappend=bench=in unit=insns\n"
				   "module=/kvm.ko\nmodule=/kvm-amd.ko\ninsist\nmemory=64";
	static const char *const bad[] = { "kernel",	     "kernel=x\ncpus=many\n",
					   "config=again\n", " kernel=x\n",
					   "=x\n",	     "insist=no\n",
					   "kernel\nx\n" };

	(void)state;
	config_defaults(&config);
	assert_true(config_text(&config, text, sizeof(text) - 1));
	assert_string_equal(config.append, "bench=in unit=insns");
	assert_string_equal(config.modules[1], "/kvm-amd.ko");
	assert_int_equal(config.module_count, 2);
	assert_true(config.insist);
	assert_int_equal(config.memory_mib, 64);
	for (unsigned i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		if (config_text(&config, bad[i], strlen(bad[i])))
			fail_msg("it took %s", bad[i]);
	assert_false(config_text(&config, "cpus=1\0\n", 8));
	for (unsigned i = config.module_count; i < MAX_MODULES; i++)
		assert_true(config_text(&config, "module=x", 8));
	assert_false(config_text(&config, "module=x", 8));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_only_what_lies_wholly_in_a_region),
		cmocka_unit_test(loader_loads_a_kernel),
		cmocka_unit_test(loader_zeroes_what_overlaps),
		cmocka_unit_test(loader_knows_strangers),
		cmocka_unit_test(loader_loads_a_32_bit_kernel),
		cmocka_unit_test(loader_refuses_bad_headers),
		cmocka_unit_test(loader_refuses_bad_segments),
		cmocka_unit_test(loader_survives_bad_notes),
		cmocka_unit_test(bzimages_are_loaded),
		cmocka_unit_test(bzimages_with_bad_headers_are_refused),
		cmocka_unit_test(multiboot_kernels_go_where_their_header_says),
		cmocka_unit_test(multiboot_kernels_may_be_elf_files),
		cmocka_unit_test(multiboot_headers_are_looked_at),
		cmocka_unit_test(acpi_tables_hold_together),
		cmocka_unit_test(acpi_tables_fit_or_not),
		cmocka_unit_test(devices_are_found_and_the_rest_is_nowhere),
		cmocka_unit_test(devices_may_not_overlap),
		cmocka_unit_test(serial_ports_send_and_keep),
		cmocka_unit_test(serial_ports_interrupt_when_there_is_room),
		cmocka_unit_test(console_keeps_lines_whole),
		cmocka_unit_test(console_has_an_end),
		cmocka_unit_test(console_gives_up_when_told),
		cmocka_unit_test(records_are_lines_that_readers_know),
		cmocka_unit_test(a_file_is_persistent_memory_in_whole_pages),
		cmocka_unit_test(config_takes_arguments),
		cmocka_unit_test(config_refuses_what_it_can_not_use),
		cmocka_unit_test(config_takes_a_file),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
