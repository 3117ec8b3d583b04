/* Boots a kernel (see vmm_arch.h) by PVH (Xen, docs/misc/pvh.pandoc and
 * xen/include/public/arch-x86/hvm/start_info.h), multiboot (specification 0.6.96, 3.2 and 3.3) or Linux's
 * 32-bit boot protocol (Documentation/arch/x86/boot.rst). All enter it in flat 32-bit protected mode, with
 * a memory map, a command line and optionally an initial RAM disk. */
#include <asm/bootparam.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>

#include "vmm/vmm_arch.h"
#include <arch/board.h>
#include "common/elf_file.h"
#include "common/multiboot.h"
#include "common/pvh.h"

#define RAM	     1 /* in the memory maps of all protocols */
#define RESERVED     2
#define PERSISTENT   12 /* only Linux knows it (E820_TYPE_PRAM): it makes /dev/pmem0 of it */
#define MAX_RANGES   5
#define LOADER_OTHER 0xff /* an unregistered loader */

/* The boot information at BOOT_INFO. */
struct pvh {
	struct pvh_start_info info;
	struct pvh_module initrd;
	struct pvh_memory ranges[MAX_RANGES];
};

struct multiboot {
	struct multiboot_info info;
	struct multiboot_module initrd;
	struct multiboot_memory ranges[MAX_RANGES];
};

bool arch_load(const uint8_t *file, size_t bytes, const struct memory *memory,
	       struct kernel *kernel)
{
	bool elf;

	if (bzimage_is(file, bytes))
		return bzimage_load(file, bytes, memory, kernel);
	/* A kernel with both headers is booted by PVH, which also passes the ACPI tables. */
	elf = elf_load(file, bytes, ELF_X86_64, ELF_I386, ACPI_END, memory, kernel);
	return (elf && kernel->entry) || multiboot_load(file, bytes, elf, memory, kernel);
}

static uint32_t write_ranges(const struct memory *memory, struct pvh_memory ranges[MAX_RANGES])
{
	uint32_t count = 0;

	ranges[count++] = (struct pvh_memory){ 0, LOW_MEMORY, RAM, 0 };
	ranges[count++] = (struct pvh_memory){ ACPI_START, ACPI_BYTES, RESERVED, 0 };
	for (unsigned i = 0; i < memory->count; i++)
		ranges[count++] = (struct pvh_memory){ memory->regions[i].guest,
						       memory->regions[i].bytes, RAM, 0 };
	ranges[2].start = ACPI_END;
	ranges[2].bytes -= ACPI_END;
	return count;
}

static void write_pvh(struct pvh *to, const struct memory *memory, const struct region *initrd)
{
	to->info =
		(struct pvh_start_info){ .magic = PVH_MAGIC,
					 .version = 1,
					 .cmdline = BOOT_CMDLINE,
					 .rsdp = ACPI_START,
					 .modules = BOOT_INFO + offsetof(struct pvh, initrd),
					 .module_count = initrd->bytes != 0,
					 .memory_map = BOOT_INFO + offsetof(struct pvh, ranges) };
	to->initrd = (struct pvh_module){ .start = initrd->guest, .bytes = initrd->bytes };
	to->info.memory_map_count = write_ranges(memory, to->ranges);
}

static void write_multiboot(struct multiboot *to, const struct memory *memory,
			    const struct region *initrd)
{
	struct pvh_memory ranges[MAX_RANGES];
	uint32_t count = write_ranges(memory, ranges);

	to->info = (struct multiboot_info){
		.flags = MULTIBOOT_HAS_SIZES | MULTIBOOT_HAS_CMDLINE | MULTIBOOT_HAS_MODULES |
			 MULTIBOOT_HAS_MEMORY,
		.memory_low = LOW_MEMORY >> 10,
		.memory_high = (uint32_t)((memory->regions[0].bytes - ACPI_END) >> 10),
		.cmdline = BOOT_CMDLINE,
		.module_count = initrd->bytes != 0,
		.modules = BOOT_INFO + offsetof(struct multiboot, initrd),
		.memory_map_bytes = count * (uint32_t)sizeof(to->ranges[0]),
		.memory_map = BOOT_INFO + offsetof(struct multiboot, ranges)
	};
	to->initrd.start = (uint32_t)initrd->guest;
	to->initrd.end = (uint32_t)(initrd->guest + initrd->bytes);
	for (uint32_t i = 0; i < count; i++)
		to->ranges[i] = (struct multiboot_memory){ sizeof(to->ranges[i]) - sizeof(uint32_t),
							   ranges[i].start, ranges[i].bytes,
							   ranges[i].type };
}

static void write_linux(struct boot_params *params, const struct setup_header *header,
			const struct memory *memory, const struct region *initrd)
{
	/* The header's jump gives its length; the jump's target is code. */
	size_t bytes = offsetof(struct setup_header, header) + (header->jump >> 8);
	struct pvh_memory ranges[MAX_RANGES];

	memset(params, 0, sizeof(*params));
	memcpy(&params->hdr, header, bytes < sizeof(*header) ? bytes : sizeof(*header));
	params->hdr.type_of_loader = LOADER_OTHER;
	params->hdr.cmd_line_ptr = BOOT_CMDLINE;
	params->hdr.ramdisk_image = (uint32_t)initrd->guest;
	params->hdr.ramdisk_size = (uint32_t)initrd->bytes;
	params->acpi_rsdp_addr = ACPI_START;
	params->e820_entries = (uint8_t)write_ranges(memory, ranges);
	if (memory->pmem.bytes)
		ranges[params->e820_entries++] = (struct pvh_memory){ memory->pmem.guest,
								      memory->pmem.bytes,
								      PERSISTENT, 0 };
	for (unsigned i = 0; i < params->e820_entries; i++)
		params->e820_table[i] = (struct boot_e820_entry){ ranges[i].start, ranges[i].bytes,
								  ranges[i].type };
}

#define CR0_PROTECTED 0x11 /* PE and ET (SDM 3A, 2.5) */

/* Flat segments of 4 GiB (SDM 3A, 3.4.5); Linux wants these selectors. */
#define FLAT .limit = 0xffffffff, .present = 1, .db = 1, .s = 1, .g = 1
static const struct kvm_segment code = { .selector = 0x10, .type = 11, FLAT };
static const struct kvm_segment data = { .selector = 0x18, .type = 3, FLAT };

/* EBX has the address of the boot information for PVH and multiboot, ESI for Linux. */
static bool enter_at(struct vm *vm, struct kvm_regs registers)
{
	static const uint64_t gdt[] = { 0, 0, 0x00cf9b000000ffff, 0x00cf93000000ffff };
	void *to = memory_at(&vm->memory, BOOT_GDT, sizeof(gdt));
	int vcpu = vm->vcpus[0].fd;
	struct kvm_sregs special;

	if (!to || ioctl(vcpu, KVM_GET_SREGS, &special) < 0)
		return fail("KVM_GET_SREGS: %m");
	memcpy(to, gdt, sizeof(gdt));
	registers.rflags = 2;
	special.cr0 = CR0_PROTECTED;
	special.cr4 = 0;
	special.gdt = (struct kvm_dtable){ .base = BOOT_GDT, .limit = sizeof(gdt) - 1 };
	special.cs = code;
	special.ds = special.es = special.fs = special.gs = special.ss = data;
	special.tr = (struct kvm_segment){ .limit = 0x67, .type = 11, .present = 1 };
	return (ioctl(vcpu, KVM_SET_SREGS, &special) == 0 &&
		ioctl(vcpu, KVM_SET_REGS, &registers) == 0) ||
	       fail("KVM_SET_SREGS or KVM_SET_REGS: %m");
}

bool arch_boot(struct vm *vm, const struct kernel *kernel, const struct region *initrd,
	       const char *command_line)
{
	const struct setup_header *setup = kernel->setup;
	uint8_t *low = memory_at(&vm->memory, 0, ACPI_END);

	if (!low || !acpi_write(low + ACPI_START, ACPI_BYTES, ACPI_START, vm->vcpu_count))
		return fail("the guest's first MiB is too small for its boot tables");
	strncpy((char *)low + BOOT_CMDLINE, command_line, MAX_APPEND_BYTES - 1);
	if (kernel->multiboot) { /* as boot loaders do, the first word is the kernel's name */
		snprintf((char *)low + BOOT_CMDLINE, MAX_PATH_BYTES + MAX_APPEND_BYTES, "%s %s",
			 vm->config->kernel, command_line);
		write_multiboot((void *)(low + BOOT_INFO), &vm->memory, initrd);
		return enter_at(vm, (struct kvm_regs){ .rip = kernel->entry,
						       .rax = MULTIBOOT_LOADED,
						       .rbx = BOOT_INFO });
	}
	if (!setup) {
		write_pvh((void *)(low + BOOT_INFO), &vm->memory, initrd);
		return enter_at(vm, (struct kvm_regs){ .rip = kernel->entry, .rbx = BOOT_INFO });
	}
	if (strlen(command_line) > setup->cmdline_size)
		return fail("its command line may have at most %u bytes", setup->cmdline_size);
	write_linux((void *)(low + BOOT_INFO), setup, &vm->memory, initrd);
	return enter_at(vm, (struct kvm_regs){ .rip = kernel->entry, .rsi = BOOT_INFO });
}

#define PROGRAM_AT 0x1000

bool arch_boot_program(struct vm *vm, const void *program, size_t bytes)
{
	void *to = memory_at(&vm->memory, PROGRAM_AT, bytes);

	if (!to)
		return fail("no memory for a program of %zu bytes", bytes);
	memcpy(to, program, bytes);
	return enter_at(vm, (struct kvm_regs){ .rip = PROGRAM_AT });
}

#define PROBE_PORT 0x80 /* a PC's diagnostic port; no device here */

bool arch_boot_probe(struct vm *vm, uint8_t doorbell, uint16_t exits)
{
	uint8_t program[] = {
		0xe6, doorbell,		   /* out %al, $doorbell */
		0xb9, 0,	  0, 0, 0, /* mov $exits, %ecx */
		0xe6, PROBE_PORT,	   /* 1: out %al, $PROBE_PORT */
		0xe2, 0xfc,		   /* loop 1b */
		0xe6, doorbell,		   /* out %al, $doorbell */
		0x0f, 0xa2,		   /* cpuid: an exit that KVM handles */
		0xe6, doorbell,		   /* out %al, $doorbell */
		0xf4,			   /* hlt */
	};

	memcpy(program + 3, &exits, sizeof(exits));
	return arch_boot_program(vm, program, sizeof(program));
}
