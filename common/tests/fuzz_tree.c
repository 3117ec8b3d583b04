/*
 * Fuzzes the device tree readers (libFuzzer, under ASan and UBSan; make -C common fuzz). The input is a
 * tree; if its first byte is odd, it is a list of changes to a valid tree: three bytes each, offset and
 * value.
 */
#include <assert.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "common/fdt.h"
#include "common/harts.h"
#include "common/tree.h"
#include "tree_maker.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void read_exactly(const uint8_t *bytes, size_t size)
{
	static struct tree tree;
	static struct harts harts;
	uint8_t *copy = malloc(size ? size : 1);
	const char *wrong;

	memcpy(copy, bytes, size);
	wrong = tree_read(&tree, copy, (uint32_t)size);
	assert(wrong || tree.ram_count);
	assert(tree.ram_count <= MAX_RANGES && tree.reserved_count <= TREE_MAX_RESERVED);
	assert(tree.cpu_count <= MAX_CPUS && tree.uart_count <= TREE_MAX_UARTS);
	assert(!tree.console || tree.console < tree.uart_count);
	assert(tree.redistributor_count <= TREE_MAX_REGIONS);
	assert(!tree.bootargs[MAX_CMDLINE_BYTES - 1] && !tree.hypervisor[15]);
	for (unsigned i = 0; i < tree.ram_count; i++)
		assert(tree.ram[i].start < tree.ram[i].end);
	harts_read(&harts, copy, (uint32_t)size);
	assert(harts.count <= MAX_CPUS);
	assert(!harts.aplic || harts.imsic);
	assert(!harts.imsic || harts.imsic_stride >= 4096);
	free(copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static struct maker maker;
	uint32_t bytes;

	if (!size || !(data[0] & 1)) {
		read_exactly(data, size);
		return 0;
	}
	bytes = make_machine(&maker);
	for (size_t i = 1; i + 3 <= size; i += 3)
		maker.bytes[(data[i] << 8 | data[i + 1]) % bytes] = data[i + 2];
	read_exactly(maker.bytes, bytes);
	return 0;
}
