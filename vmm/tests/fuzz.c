/*
 * Fuzzes what reads bytes from outside: the loader, the configuration, a guest's command line
 * (libFuzzer, under ASan and UBSan; make -C vmm fuzz SECONDS=N). What must hold is asserted, not only
 * survived.
 */
#include <assert.h>
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "config.h"
#include "elf_maker.h"
#include "loader_elf.h"

#define LOWEST 0x1000

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_loader(const uint8_t *file, size_t bytes)
{
	static uint8_t ram[0x10000];
	const struct memory memory = { .regions = { { 0, sizeof(ram), ram } }, .count = 1 };
	struct elf_kernel kernel;
	struct error error = { "" };

	memset(ram, 0, LOWEST);
	if (elf_load(file, bytes, EM_X86_64, LOWEST, &memory, &kernel, &error)) {
		assert(kernel.start >= LOWEST && kernel.start < kernel.end);
		assert(kernel.end <= sizeof(ram));
	} else {
		assert(error.text[0]);
	}
	/* What lies below is the boot protocol's. */
	for (unsigned i = 0; i < LOWEST; i++)
		assert(!ram[i]);
}

/* Gives the bytes a good header in front, so that segments and notes are reached. */
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

static void fuzz_config(const char *text, size_t bytes)
{
	static struct config config;
	struct error error = { "" };
	char word[64], *line = malloc(bytes + 1);

	config_defaults(&config);
	if (config_text(&config, text, bytes, &error)) {
		assert(config.vcpus >= 1 && config.vcpus <= MAX_VCPUS && config.memory_mib >= 16);
		assert(memchr(config.append, 0, sizeof(config.append)));
		assert(memchr(config.kernel, 0, sizeof(config.kernel)));
		assert(config.module_count <= MAX_MODULES && config.backing <= BACKING_HUGETLB);
		for (unsigned i = 0; i < MAX_VCPUS; i++)
			assert(config.pin[i] >= PIN_NONE);
		(void)config_check(&config, &error);
	} else {
		assert(error.text[0]);
	}
	assert(line);
	memcpy(line, text, bytes);
	line[bytes] = 0;
	if (config_word(line, "nonce", word, sizeof(word)))
		assert(strstr(line, word));
	config_defaults(&config);
	(void)config_arguments(&config, 1, &line, &error);
	free(line);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	fuzz_loader(data, size);
	fuzz_segments(data, size);
	fuzz_config((const char *)data, size);
	return 0;
}
