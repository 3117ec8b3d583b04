/*
 * Reads and copies the information of PVH or multiboot (guest.mb2: also Multiboot2), before its memory is reused.
 * boot.S saves which protocol it was and the address of its structure.
 */
#include "guest/platform/boot_protocol.h"
#include "guest/core/guest_arch.h"
#include "common/word.h"
#include "common/multiboot.h"
#include "common/pvh.h"
#include "guest/platform/multiboot2.h"

extern uint32_t boot_is_multiboot, boot_handover;
extern char image_end[];

struct boot_info boot_info;

static void copy_cmdline(uint64_t from)
{
	const char *text = (const char *)from;
	unsigned i = 0;

	for (; text[i] && i < MAX_CMDLINE_BYTES - 1; i++)
		boot_info.cmdline[i] = text[i];
	boot_info.cmdline[i] = 0;
}

static void add_ram(uint64_t start, uint64_t bytes)
{
	if (boot_info.ram_count < MAX_RANGES && start + bytes > start)
		boot_info.ram[boot_info.ram_count++] =
			(struct memory_range){ .start = start, .end = start + bytes };
}

static void read_pvh(const struct pvh_start_info *info)
{
	const struct pvh_memory *memory = (const struct pvh_memory *)info->memory_map;

	boot_info.protocol = "pvh";
	if (info->magic != PVH_MAGIC)
		return;
	boot_info.rsdp = info->rsdp;
	if (info->cmdline)
		copy_cmdline(info->cmdline);
	if (info->version < 1)
		return;
	for (uint32_t i = 0; i < info->memory_map_count; i++)
		if (memory[i].type == PVH_MEMORY_RAM)
			add_ram(memory[i].start, memory[i].bytes);
}

static void read_multiboot(const struct multiboot_info *info)
{
	uint64_t at = info->memory_map, end = at + info->memory_map_bytes;

	boot_info.protocol = "multiboot";
	if (info->flags & MULTIBOOT_HAS_CMDLINE)
		copy_cmdline((uint64_t)words_behind_name((const char *)(uint64_t)info->cmdline));
	if (!(info->flags & MULTIBOOT_HAS_MEMORY))
		return;
	while (at + sizeof(struct multiboot_memory) <= end) {
		const struct multiboot_memory *memory = (const struct multiboot_memory *)at;

		if (memory->type == MULTIBOOT_MEMORY_RAM)
			add_ram(memory->start, memory->bytes);
		at += memory->size + sizeof(memory->size);
	}
}

#ifdef GUEST_SHOWS
extern uint32_t boot_is_multiboot2; /* multiboot2.S */
struct frame_buffer boot_screen;

/* Would drawing on it overwrite memory? */
static bool screen_is_memory(const struct frame_buffer *screen)
{
	uint64_t end = screen->address + frame_buffer_bytes(screen);

	for (unsigned i = 0; i < boot_info.ram_count; i++)
		if (screen->address < boot_info.ram[i].end && end > boot_info.ram[i].start)
			return true;
	return false;
}

static uint64_t mapped_bytes(const struct memory_range *range)
{
	uint64_t end = range->end < boot_info.mapped_end ? range->end : boot_info.mapped_end;

	return end > range->start ? end - range->start : 0;
}

/* The heap is taken from the first large range, and UEFI leaves a small one at 1 MiB. */
static void put_largest_first(void)
{
	struct memory_range *largest = boot_info.ram, first = boot_info.ram[0];

	for (unsigned i = 1; i < boot_info.ram_count; i++)
		if (mapped_bytes(&boot_info.ram[i]) > mapped_bytes(largest))
			largest = &boot_info.ram[i];
	boot_info.ram[0] = *largest;
	*largest = first;
}

static void read_multiboot2(const uint8_t *list)
{
	static struct multiboot2 info; /* ACPI's root pointer is read there later */

	multiboot2_read(list, &info);
	boot_info.protocol = "multiboot2";
	if (info.cmdline)
		copy_cmdline((uint64_t)words_behind_name(info.cmdline));
	for (uint32_t i = 0; i < info.memory_count; i++) {
		struct multiboot2_memory memory = multiboot2_memory_at(&info, i);

		if (memory.type == MULTIBOOT2_RAM)
			add_ram(memory.start, memory.bytes);
	}
	put_largest_first();
	if (info.has_rsdp)
		boot_info.rsdp = (uint64_t)info.rsdp;
	if (!screen_is_memory(&info.screen))
		boot_screen = info.screen;
}
#endif

void boot_read(void)
{
	boot_info.reserved_end = (uint64_t)image_end;
	boot_info.mapped_end = 4 * GIB;
#ifdef GUEST_SHOWS
	if (boot_is_multiboot2) {
		read_multiboot2((const uint8_t *)(uint64_t)boot_handover);
		return;
	}
#endif
	if (boot_is_multiboot)
		read_multiboot((const struct multiboot_info *)(uint64_t)boot_handover);
	else
		read_pvh((const struct pvh_start_info *)(uint64_t)boot_handover);
}
