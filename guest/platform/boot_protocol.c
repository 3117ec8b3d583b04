/*
 * Reads and copies the information of PVH or multiboot, before its memory is reused. boot.S saves which
 * protocol it was and the address of its structure.
 */
#include "guest/platform/boot_protocol.h"
#include "guest/core/guest_arch.h"
#include "common/word.h"
#include "common/multiboot.h"
#include "common/pvh.h"

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

void boot_read(void)
{
	boot_info.reserved_end = (uint64_t)image_end;
	boot_info.mapped_end = 4 * GIB;
	if (boot_is_multiboot)
		read_multiboot((const struct multiboot_info *)(uint64_t)boot_handover);
	else
		read_pvh((const struct pvh_start_info *)(uint64_t)boot_handover);
}
