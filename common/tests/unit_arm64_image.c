/* Unit tests of the arm64 Image header (on the host, make -C common test). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "common/arm64_image.h"

static struct arm64_image image;

static struct arm64_image_header good(void)
{
	return (struct arm64_image_header){
		.text_offset = 0x1000, .image_bytes = 0x20000, .flags = 0xa, .magic = 0x644d5241
	};
}

/* Reads a heap copy of exactly that size, so ASan reports any read past its end. */
static const char *read_copy(const struct arm64_image_header *header, size_t bytes)
{
	uint8_t *copy = malloc(bytes ? bytes : 1);
	const char *wrong;

	memcpy(copy, header, bytes < sizeof(*header) ? bytes : sizeof(*header));
	wrong = arm64_image_read(&image, copy, bytes);
	free(copy);
	return wrong;
}

static void a_kernel_says_where_it_wants_to_be(void **state)
{
	struct arm64_image_header header = good();

	(void)state;
	assert_null(read_copy(&header, 64));
	assert_true(image.offset == 0x1000 && image.memory_bytes == 0x20000);
	assert_null(read_copy(&header, 0x30000)); /* the file is larger */
	assert_int_equal(image.memory_bytes, 0x30000);
}

/* booting.rst: if image_size is 0, text_offset is 0x80000, and memory after the kernel is kept free. */
static void one_from_before_linux_3_17_does_not_say_it(void **state)
{
	struct arm64_image_header header = good();

	(void)state;
	header.image_bytes = 0;
	header.text_offset = 0x0000080000000000; /* may be big-endian */
	assert_null(read_copy(&header, 0x100));
	assert_true(image.offset == 0x80000 && image.memory_bytes == 0x200100);
}

static void what_is_no_kernel_is_refused(void **state)
{
	struct arm64_image_header header = good();

	(void)state;
	for (size_t bytes = 0; bytes < 64; bytes++)
		assert_non_null(read_copy(&header, bytes));
	header.magic++;
	assert_non_null(strstr(read_copy(&header, 64), "no arm64 Image"));
	header = good();
	header.flags |= 1;
	assert_non_null(strstr(read_copy(&header, 64), "big-endian"));
	header = good();
	header.text_offset = 0x1004;
	assert_non_null(read_copy(&header, 64));
	for (uint64_t wrong = 0x200000; wrong; wrong <<= 1) {
		header = good();
		header.text_offset = wrong;
		assert_non_null(read_copy(&header, 64));
	}
	header = good();
	header.image_bytes = (1ull << 30) + 1;
	assert_non_null(read_copy(&header, 64));
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_kernel_says_where_it_wants_to_be),
		cmocka_unit_test(one_from_before_linux_3_17_does_not_say_it),
		cmocka_unit_test(what_is_no_kernel_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
