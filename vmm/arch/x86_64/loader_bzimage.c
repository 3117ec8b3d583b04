/* Loads Linux's bzImage (Documentation/arch/x86/boot.rst): a setup header, real-mode code that is not used,
 * and the kernel, which decompresses itself. Used only before the guest runs. */
#include <asm/bootparam.h>
#include <string.h>

#include <arch/board.h>

#define SETUP_AT      0x1f1
#define SECTOR	      512u
#define BOOT_FLAG     0xaa55
#define MAGIC	      0x53726448 /* "HdrS" */
#define LEAST_VERSION 0x20a	 /* since 2.10 the header gives the memory that the kernel needs */
#define LOAD_AT	      0x100000u

static const struct setup_header *header_of(const uint8_t *file)
{
	return (const void *)(file + SETUP_AT);
}

bool bzimage_is(const uint8_t *file, size_t bytes)
{
	return bytes >= SETUP_AT + sizeof(struct setup_header) &&
	       header_of(file)->boot_flag == BOOT_FLAG && header_of(file)->header == MAGIC;
}

bool bzimage_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		  struct kernel *kernel)
{
	const struct setup_header *header;
	uint64_t image_at, image_bytes, runs_at;
	uint8_t *to;

	if (!bzimage_is(file, bytes))
		return fail("it is no bzImage");
	header = header_of(file);
	if (header->version < LEAST_VERSION || !(header->loadflags & LOADED_HIGH))
		return fail("its boot protocol 0x%x is older than 2.10, or it loads low",
			    header->version);
	image_at = ((header->setup_sects ? header->setup_sects : 4u) + 1) * SECTOR; /* 0 means 4 */
	if (image_at >= bytes)
		return fail("it ends before its kernel begins");
	image_bytes = bytes - image_at;
	/* The kernel moves itself up to its alignment, and never runs below its preferred address. */
	runs_at = (uint64_t)LOAD_AT + header->kernel_alignment;
	if (runs_at < header->pref_address)
		runs_at = header->pref_address;
	to = memory_at(memory, LOAD_AT, image_bytes);
	if (!to || !memory_at(memory, runs_at, header->init_size))
		return fail("it has %lu KiB and needs %u KiB from 0x%lx: that does not fit into "
			    "the guest's memory",
			    image_bytes >> 10, header->init_size >> 10, runs_at);
	memcpy(to, file + image_at, image_bytes);
	*kernel = (struct kernel){ .entry = LOAD_AT, .setup = header };
	kernel->initrd_end = (uint64_t)header->initrd_addr_max + 1;
	kernel->end = runs_at + header->init_size;
	if (kernel->end < LOAD_AT + image_bytes)
		kernel->end = LOAD_AT + image_bytes;
	return true;
}
