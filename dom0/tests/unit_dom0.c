/* Unit tests of dom0's pure parts (on the host, make -C guest test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "common/answers_page.h"
#include "dom0/kernel_file.h"
#include "dom0/handover.h"
#include "common/pvh.h"
#include "dom0/words.h"

/* ---- The kernel file ------------------------------------------------------------------------- */

#define LOWEST	0x100000
#define HIGHEST 0x800000

struct phdr {
	uint32_t type, flags;
	uint64_t offset, virtual, physical, file_bytes, memory_bytes, align;
};

/* A small kernel: header, two segments, a PVH note, and twelve bytes of code. */
struct image {
	uint8_t ident[16];
	uint16_t type, machine;
	uint32_t version;
	uint64_t entry, phoff, shoff;
	uint32_t flags;
	uint16_t ehsize, phentsize, phnum, shentsize, shnum, shstrndx;
	struct phdr load, note;
	uint32_t name_bytes, value_bytes, note_type;
	char name[4];
	uint32_t pvh_entry;
	char code[12];
} __attribute__((packed));

static struct image good(void)
{
	struct image image = {
		.ident = { 0x7f, 'E', 'L', 'F', 2, 1, 1 },
		.type = 2,
		.machine = 62,
		.phoff = offsetof(struct image, load),
		.phentsize = sizeof(struct phdr),
		.phnum = 2,
		.load = { .type = 1,
			  .offset = offsetof(struct image, code),
			  .physical = 0x200000,
			  .file_bytes = 12,
			  .memory_bytes = 0x3000 },
		.note = { .type = 4,
			  .offset = offsetof(struct image, name_bytes),
			  .file_bytes = 20 },
		.name_bytes = 4,
		.value_bytes = 4,
		.note_type = 18,
		.name = "Xen",
		.pvh_entry = 0x200004,
		.code = "eleven more",
	};

	return image;
}

static const char *read_image(const struct image *image, size_t bytes, struct kernel_file *kernel)
{
	return kernel_file_read(kernel, (const uint8_t *)image, bytes, LOWEST, HIGHEST);
}

static void elf_reads_a_kernel(void **state)
{
	struct image image = good();
	struct kernel_file kernel;

	(void)state;
	assert_null(read_image(&image, sizeof(image), &kernel));
	assert_int_equal(kernel.piece_count, 1);
	assert_int_equal(kernel.pieces[0].address, 0x200000);
	assert_int_equal(kernel.pieces[0].file_bytes, 12);
	assert_int_equal(kernel.pieces[0].memory_bytes, 0x3000);
	assert_memory_equal(kernel.pieces[0].from, image.code, 12);
	assert_int_equal(kernel.start, 0x200000);
	assert_int_equal(kernel.end, 0x203000);
	assert_int_equal(kernel.pvh_entry, 0x200004);
}

#define assert_refused(words, change)                               \
	do {                                                        \
		struct image image = good();                        \
		struct kernel_file kernel;                          \
		const char *wrong;                                  \
		change;                                             \
		wrong = read_image(&image, sizeof(image), &kernel); \
		assert_non_null(wrong);                             \
		assert_non_null(strstr(wrong, words));              \
	} while (0)

static void elf_says_what_is_wrong(void **state)
{
	(void)state;
	assert_refused("no ELF file", image.ident[0] = 0);
	assert_refused("another machine", image.ident[4] = 1);
	assert_refused("another machine", image.machine = 40);
	assert_refused("fixed addresses", image.type = 3);
	assert_refused("table of segments", image.phentsize = 32);
	assert_refused("table of segments", image.phoff = sizeof(image) - 8);
	assert_refused("table of segments", image.phoff = UINT64_MAX - 8);
	assert_refused("outside the file", image.load.file_bytes = 13);
	assert_refused("outside the file", image.load.offset = UINT64_MAX - 3);
	assert_refused("outside the file", image.load.memory_bytes = 11);
	assert_refused("does not fit", image.load.physical = LOWEST - 1);
	assert_refused("does not fit", image.load.physical = HIGHEST - 0x2fff);
	assert_refused("does not fit", image.load.physical = UINT64_MAX - 8);
	assert_refused("nothing to load", image.load.type = 6);
	assert_refused("nothing to load", image.load.memory_bytes = image.load.file_bytes = 0);
	assert_refused("no PVH entry", image.note_type = 17);
	assert_refused("no PVH entry", image.name[0] = 'Y');
	assert_refused("no PVH entry", image.name[3] = 'x');
	assert_refused("no PVH entry", image.pvh_entry = 0x1ffffc);
	assert_refused("no PVH entry", image.pvh_entry = 0x203000);
	assert_refused("no PVH entry", image.note.file_bytes = UINT64_MAX);
}

/* Whatever the file contains, every piece lies inside the file and inside the memory. */
static void elf_survives_anything(void **state)
{
	uint64_t random = 1;

	(void)state;
	for (unsigned round = 0; round < 200000; round++) {
		struct image image = good();
		uint8_t *bytes = (uint8_t *)&image;
		struct kernel_file kernel;
		size_t length;

		for (unsigned i = 0; i < 4; i++) {
			random = random * 6364136223846793005u + 1442695040888963407u;
			bytes[(random >> 33) % sizeof(image)] = (uint8_t)(random >> 56);
		}
		length = round % 8 ? sizeof(image) : (random >> 20) % sizeof(image);
		if (read_image(&image, length, &kernel))
			continue;
		for (unsigned i = 0; i < kernel.piece_count; i++) {
			const struct kernel_piece *piece = &kernel.pieces[i];

			assert_true(piece->from >= bytes);
			assert_true(piece->from + piece->file_bytes <= bytes + length);
			assert_true(piece->address >= LOWEST);
			assert_true(piece->memory_bytes <= HIGHEST - piece->address);
		}
		assert_true(kernel.pvh_entry >= kernel.start && kernel.pvh_entry < kernel.end);
	}
}

/* ---- Boot information of the domain -------------------------------------------------------- */

static uint8_t pages[HANDOVER_BYTES];

/* Translates an address of the domain. */
static const uint8_t *at(uint64_t address)
{
	assert_true(address >= HANDOVER_AT && address < HANDOVER_AT + HANDOVER_BYTES);
	return pages + (address - HANDOVER_AT);
}

static uint64_t word_at(uint64_t address, unsigned bytes)
{
	uint64_t value = 0;

	memcpy(&value, at(address), bytes);
	return value;
}

static uint8_t sum_of(uint64_t address, uint64_t bytes)
{
	uint8_t sum = 0;

	while (bytes--)
		sum = (uint8_t)(sum + *at(address++));
	return sum;
}

static void a_domain_finds_all(void **state)
{
	struct handover handover = { .memory_bytes = 64 << 20, .cpus = 3, .cmdline = "a=b c=d" };
	struct pvh_start_info info;
	struct pvh_memory map[2];
	uint64_t xsdt, madt;

	(void)state;
	memset(pages, 0xff, sizeof(pages));
	assert_true(handover_write(pages, &handover));
	memcpy(&info, pages, sizeof(info));
	assert_int_equal(info.magic, PVH_MAGIC);
	assert_int_equal(info.version, 1);
	assert_int_equal(info.flags, 0);
	assert_int_equal(info.module_count, 0);
	assert_string_equal((const char *)at(info.cmdline), "a=b c=d");
	assert_int_equal(info.memory_map_count, 2);
	memcpy(map, at(info.memory_map), sizeof(map));
	assert_int_equal(map[0].start, 0);
	assert_int_equal(map[0].bytes, 0xa0000);
	assert_int_equal(map[1].start, 1 << 20);
	assert_int_equal(map[1].start + map[1].bytes, 64 << 20);
	for (unsigned i = 0; i < sizeof(struct answers_page); i++)
		assert_int_equal(*at(HANDOVER_ANSWERS + i), 0);

	assert_memory_equal(at(info.rsdp), "RSD PTR ", 8);
	assert_int_equal(sum_of(info.rsdp, 20), 0);
	assert_int_equal(sum_of(info.rsdp, 36), 0);
	xsdt = word_at(info.rsdp + 24, 8);
	assert_memory_equal(at(xsdt), "XSDT", 4);
	assert_int_equal(word_at(xsdt + 4, 4), 44);
	assert_int_equal(sum_of(xsdt, 44), 0);
	madt = word_at(xsdt + 36, 8);
	assert_memory_equal(at(madt), "APIC", 4);
	assert_int_equal(word_at(madt + 4, 4), 44 + 3 * 8);
	assert_int_equal(sum_of(madt, 44 + 3 * 8), 0);
	for (unsigned cpu = 0; cpu < 3; cpu++) {
		assert_int_equal(word_at(madt + 44 + cpu * 8, 2), 0x0800);
		assert_int_equal(*at(madt + 44 + cpu * 8 + 3), 2 * cpu);
		assert_int_equal(word_at(madt + 44 + cpu * 8 + 4, 4), 1);
	}
}

static void what_does_not_fit_is_refused(void **state)
{
	static char line[4097];
	struct handover handover = { .memory_bytes = 64 << 20, .cpus = 64, .cmdline = line };

	(void)state;
	memset(line, 'x', 4095);
	assert_true(handover_write(pages, &handover));
	line[4095] = 'x';
	assert_false(handover_write(pages, &handover));
	handover.cmdline = "";
	handover.cpus = 65;
	assert_false(handover_write(pages, &handover));
	handover.cpus = 0;
	assert_false(handover_write(pages, &handover));
	handover.cpus = 1;
	handover.memory_bytes = 1 << 20;
	assert_false(handover_write(pages, &handover));
}

/* ---- Clocks of two domains ------------------------------------------------------------------ */

static void clocks_of_the_same_look_are_compared(void **state)
{
	struct answers_page page = { .clocks = { { 500, 70 }, { 510, 80 }, { 490, 90 } } };
	uint64_t ahead = 1;

	(void)state;
	/* Xen emulates dom0's TSC. */
	assert_false(answers_ahead(&page, (struct xen_clock){ 300, 70 }, &ahead));
	page.clock_count = 2;
	assert_false(answers_ahead(&page, (struct xen_clock){ 300, 79 }, &ahead));
	assert_false(answers_ahead(&page, (struct xen_clock){ 300, 90 }, &ahead));
	assert_int_equal(ahead, 1);
	assert_true(answers_ahead(&page, (struct xen_clock){ 300, 80 }, &ahead));
	assert_true(510 + ahead == 300);
	assert_true(answers_ahead(&page, (struct xen_clock){ 800, 70 }, &ahead));
	assert_int_equal(ahead, 300);
	/* No more than there are. */
	page.clock_count = ~0ull;
	assert_false(answers_ahead(&page, (struct xen_clock){ 300, 79 }, &ahead));
}

/* ---- dom0's command line -------------------------------------------------------------------- */

static bool words_of(const char *line, struct words *words, char *unknown, size_t bytes)
{
	struct text text;

	text_start(&text, unknown, bytes);
	return words_read(line, words, &text);
}

static void words_are_read(void **state)
{
	struct words words = { .memory_mib = 1, .cpus = 9 };
	char unknown[64];

	(void)state;
	assert_true(words_of("", &words, unknown, sizeof(unknown)));
	assert_int_equal(words.memory_mib, 1);
	assert_int_equal(words.cpus, 9);
	assert_true(words_of("  memory=64  cpus=2 ", &words, unknown, sizeof(unknown)));
	assert_int_equal(words.memory_mib, 64);
	assert_int_equal(words.cpus, 2);
	assert_false(words_of("memory=63 cpus=65 cpus=0 colour=blue cpus cpus= memory=64", &words,
			      unknown, sizeof(unknown)));
	assert_string_equal(unknown, "memory=63 cpus=65 cpus=0 colour=blue cpus cpus=");
	assert_int_equal(words.cpus, 2);
	assert_false(words_of("memory=8", &words, unknown, sizeof(unknown)));
	assert_false(words_of("memory=4096", &words, unknown, sizeof(unknown)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(elf_reads_a_kernel),
		cmocka_unit_test(elf_says_what_is_wrong),
		cmocka_unit_test(elf_survives_anything),
		cmocka_unit_test(a_domain_finds_all),
		cmocka_unit_test(what_does_not_fit_is_refused),
		cmocka_unit_test(clocks_of_the_same_look_are_compared),
		cmocka_unit_test(words_are_read),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
