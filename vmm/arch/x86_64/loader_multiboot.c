/* Loads multiboot kernels (specification 0.6.96, 3.1): a header near the start of the file gives load
 * addresses, or leaves them to the ELF segments. Used only before the guest runs. */
#include "common/multiboot.h"

#include <string.h>

#include <arch/board.h>

#define LEAST_BYTES offsetof(struct multiboot_header, header) /* load addresses are optional */

static bool find(const uint8_t *file, size_t bytes, struct multiboot_header *header, size_t *at)
{
	size_t end = bytes < MULTIBOOT_SEARCH_BYTES ? bytes : MULTIBOOT_SEARCH_BYTES;

	for (*at = 0; *at + LEAST_BYTES <= end; *at += 4) {
		size_t left = end - *at, whole = sizeof(*header);

		*header = (struct multiboot_header){ 0 };
		memcpy(header, file + *at, left < whole ? left : whole);
		if (header->magic == MULTIBOOT_MAGIC &&
		    header->magic + header->flags + header->checksum == 0)
			return true;
	}
	return false;
}

bool multiboot_load(const uint8_t *file, size_t bytes, bool elf, const struct memory *memory,
		    struct kernel *kernel)
{
	struct multiboot_header its;
	uint64_t in_file, in_memory;
	size_t at;
	uint8_t *to;

	if (!find(file, bytes, &its, &at)) /* not ELF: error_text is already set */
		return elf && fail("it has neither a PVH entry (an ELF note of Xen's) nor a "
				   "multiboot header");
	if (its.flags & MULTIBOOT_REQUIRED & ~MULTIBOOT_KNOWN)
		return fail("its multiboot header has unknown flags (0x%x)", its.flags);
	kernel->multiboot = true;
	if (!(its.flags & MULTIBOOT_GIVES_PLACES)) {
		kernel->entry = kernel->start;
		return elf;
	}
	/* File offset of `load`; a header below `load` gives one past the end of the file. */
	at -= its.header - its.load;
	in_file = its.load_end ? its.load_end - (uint64_t)its.load : bytes - at;
	in_memory = its.bss_end ? its.bss_end - (uint64_t)its.load : in_file;
	to = memory_at(memory, its.load, in_memory);
	if (at > bytes || in_file > bytes - at || in_file > in_memory || !to || its.load < ACPI_END)
		return fail("its multiboot header's 0x%lx bytes at 0x%x do not fit", in_memory,
			    its.load);
	memcpy(to, file + at, in_file);
	memset(to + in_file, 0, in_memory - in_file);
	kernel->entry = its.entry;
	kernel->end = its.load + in_memory;
	return true;
}
