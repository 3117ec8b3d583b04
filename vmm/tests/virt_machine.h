/* For the tests of an architecture that boots Images with a device tree: a tree to read back, and memory to load into.
 * After cmocka.h. */
#pragma once

#include "common/tree.h"

static uint8_t bytes[TREE_BYTES];
static struct tree tree;

/* Writes the machine's tree, and reads it by the guest's own reader. Returns its bytes. */
static uint32_t tree_read_back(const struct machine_tree *of)
{
	uint32_t size = (uint32_t)tree_write(bytes, sizeof(bytes), of);

	assert_int_not_equal(size, 0);
	assert_null(tree_read(&tree, bytes, size));
	return size;
}

static void tree_fits_or_is_none(const struct machine_tree *machine)
{
	size_t size = tree_write(bytes, sizeof(bytes), machine);

	for (size_t most = 0; most < size; most++) {
		uint8_t *exact = malloc(most + 1);

		assert_int_equal(tree_write(exact, most, machine), 0);
		free(exact);
	}
	assert_int_equal(tree_write(bytes, size, machine), size);
}

static uint8_t ram[RAM_BYTES];
static const struct memory memory = {
	.regions = { { .guest = RAM, .bytes = sizeof(ram), .host = ram } },
	.count = 1,
	.bytes = sizeof(ram),
};
static struct kernel kernel;

static bool load(const void *image, size_t size)
{
	uint8_t *exact = malloc(size + 1);
	bool done;

	memcpy(exact, image, size);
	done = image_load(exact, size, &memory, &kernel);
	free(exact);
	return done;
}
