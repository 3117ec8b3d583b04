/*
 * Fuzzes everything that reads outside data: the loaders, the configuration, a guest's command line
 * (libFuzzer, under ASan and UBSan; make -C vmm fuzz SECONDS=N). Results are checked by assertions, not
 * only for crashes.
 */
#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "vmm/options.h"
#include "kernel_maker.h"
#include <arch/board.h>
#include "common/multiboot.h"
#include "common/word.h"

#define LOWEST 0x1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_loader(const uint8_t *file, size_t bytes)
{
	static uint8_t ram[0x10000];
	const struct memory memory = { .regions = { { 0, sizeof(ram), ram } }, .count = 1 };
	struct kernel kernel;

	memset(ram, 0, LOWEST);
	error_text[0] = 0;
	if (elf_load(file, bytes, EM_X86_64, EM_386, LOWEST, &memory, &kernel))
		assert(kernel.end > LOWEST && kernel.end <= sizeof(ram));
	else
		assert(error_text[0]);
	/* Memory below is the boot protocol's. */
	for (unsigned i = 0; i < LOWEST; i++)
		assert(!ram[i]);
}

/* Puts a valid header before the bytes, so that segments and notes are reached. */
static void fuzz_segments(const uint8_t *data, size_t size)
{
	struct elf_file file;

	elf_make(&file);
	if (size > sizeof(file.bytes) - sizeof(file.header))
		return;
	file.header.e_phnum = (uint16_t)(1 + size % 8);
	elf_finish(&file);
	memcpy(file.bytes + sizeof(file.header), data, size);
	fuzz_loader(file.bytes, sizeof(file.header) + size);
}

/* The same with 32-bit structures. */
static void fuzz_narrow_segments(const uint8_t *data, size_t size)
{
	Elf32_Ehdr header = { .e_type = ET_EXEC,
			      .e_machine = EM_386,
			      .e_phoff = sizeof(header),
			      .e_phentsize = sizeof(Elf32_Phdr),
			      .e_phnum = (uint16_t)(1 + size % 8) };
	uint8_t *file = malloc(sizeof(header) + size);

	assert(file);
	memcpy(header.e_ident, ELFMAG, SELFMAG);
	header.e_ident[EI_CLASS] = ELFCLASS32;
	header.e_ident[EI_DATA] = ELFDATA2LSB;
	memcpy(file, &header, sizeof(header));
	memcpy(file + sizeof(header), data, size);
	fuzz_loader(file, sizeof(header) + size);
	free(file);
}

/* A setup header of these bytes with valid magic numbers, before as many bytes. */
static void fuzz_bzimage(const uint8_t *data, size_t size)
{
	static uint8_t ram[0x200000];
	const struct memory memory = { .regions = { { 0, sizeof(ram), ram } }, .count = 1 };
	uint8_t *file = malloc(0x1f1 + size + 1);
	struct setup_header marks;
	struct kernel kernel;

	assert(file);
	memset(file, 0, 0x1f1);
	memcpy(file + 0x1f1, data, size);
	if (size >= sizeof(marks)) {
		memcpy(&marks, data, sizeof(marks));
		marks.init_size %= sizeof(ram); /* so that some fit */
		marks.boot_flag = 0xaa55;
		marks.header = 0x53726448;
		memcpy(file + 0x1f1, &marks, sizeof(marks));
	}
	error_text[0] = 0;
	if (bzimage_load(file, 0x1f1 + size, &memory, &kernel)) {
		const uint8_t *setup = kernel.setup;

		assert(kernel.entry >= 0x100000 && kernel.end <= sizeof(ram));
		assert(setup >= file && setup + sizeof(marks) <= file + 0x1f1 + size);
	} else {
		assert(error_text[0]);
	}
	for (unsigned i = 0; i < 0x100000; i += 0x1000)
		assert(!ram[i]);
	free(file);
}

/* A multiboot header of these bytes with valid magic numbers, somewhere before as many bytes. */
static void fuzz_multiboot(const uint8_t *data, size_t size)
{
	static uint8_t ram[0x200000];
	const struct memory memory = { .regions = { { 0, sizeof(ram), ram } }, .count = 1 };
	struct multiboot_header header = { 0 };
	struct kernel kernel = { 0 };
	size_t at = size ? data[0] : 0;
	uint8_t *file = calloc(1, at + size);

	assert(at + size == 0 || file);
	if (size) {
		memcpy(file + at, data, size);
		memcpy(&header, file + at, size < sizeof(header) ? size : sizeof(header));
		header.magic = MULTIBOOT_MAGIC;
		header.checksum = -(header.magic + header.flags);
		header.load = header.load % sizeof(ram) | 0x100000; /* so that some fit */
		header.header = header.load + (size & 1 ? header.header : (uint32_t)at);
		memcpy(file + at, &header, size < sizeof(header) ? size : sizeof(header));
	}
	error_text[0] = 0;
	if (multiboot_load(file, at + size, false, &memory, &kernel))
		assert(kernel.multiboot && kernel.end >= 0x100000 && kernel.end <= sizeof(ram));
	for (unsigned i = 0; i < 0x100000; i += 0x1000)
		assert(!ram[i]);
	free(file);
}

static void fuzz_config(const char *text, size_t bytes)
{
	static struct config config;
	char word[64], *line = malloc(bytes + 1);

	config_defaults(&config);
	error_text[0] = 0;
	if (config_text(&config, text, bytes)) {
		assert(config.vcpus >= 1 && config.vcpus <= MAX_VCPUS && config.memory_mib >= 16);
		assert(memchr(config.append, 0, sizeof(config.append)));
		assert(memchr(config.kernel, 0, sizeof(config.kernel)));
		assert(config.module_count <= MAX_MODULES);
		for (unsigned i = 0; i < MAX_VCPUS; i++)
			assert(config.pin[i] >= PIN_NONE);
		(void)config_check(&config);
	} else {
		assert(error_text[0]);
	}
	assert(line);
	memcpy(line, text, bytes);
	line[bytes] = 0;
	if (word_find(line, "nonce", word, sizeof(word)))
		assert(strstr(line, word));
	config_defaults(&config);
	(void)config_arguments(&config, 1, &line);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_loader(data, size);
	fuzz_segments(data, size);
	fuzz_narrow_segments(data, size);
	fuzz_bzimage(data, size);
	fuzz_multiboot(data, size);
	fuzz_config((const char *)data, size);
	return 0;
}
