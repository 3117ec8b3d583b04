/*
 * Boot by PVH (Xen, docs/misc/pvh.pandoc; xen/include/public/arch-x86/hvm/start_info.h): a start_info
 * structure, a memory map, a command line, and vCPU 0 in 32-bit protected mode (see arch.h).
 */
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>

#include "acpi.h"
#include "arch.h"
#include "machine.h"
#include "vm.h"

#define PVH_MAGIC    0x336ec578
#define PVH_RAM	     1
#define PVH_RESERVED 2
#define MAX_RANGES   4

struct pvh_start_info { /* version 1 */
	uint32_t magic, version, flags, module_count;
	uint64_t modules, cmdline, rsdp, memory_map;
	uint32_t memory_map_count, reserved;
};

struct pvh_range {
	uint64_t start, bytes;
	uint32_t type, reserved;
};

static uint32_t write_ranges(const struct memory *memory, struct pvh_range ranges[MAX_RANGES])
{
	uint32_t count = 0;

	ranges[count++] = (struct pvh_range){ .start = 0, .bytes = LOW_MEMORY, .type = PVH_RAM };
	ranges[count++] = (struct pvh_range){ .start = ACPI_START,
					      .bytes = ACPI_END - ACPI_START,
					      .type = PVH_RESERVED };
	for (unsigned i = 0; i < memory->count; i++) {
		uint64_t start = memory->regions[i].guest, bytes = memory->regions[i].bytes;

		if (!i) {
			start += ACPI_END;
			bytes -= ACPI_END;
		}
		ranges[count++] =
			(struct pvh_range){ .start = start, .bytes = bytes, .type = PVH_RAM };
	}
	return count;
}

#define CR0_PE 1u
#define CR0_ET (1u << 4)

/* Flat segments of 4 GiB, as the protocol wants them; `type` is the descriptor's (SDM 3A, 3.4.5.1). */
static struct kvm_segment flat(uint8_t type)
{
	return (struct kvm_segment){
		.limit = 0xffffffff, .type = type, .present = 1, .db = 1, .s = 1, .g = 1
	};
}

static bool enter_at(struct vm *vm, uint64_t entry, uint64_t start_info, struct error *error)
{
	struct kvm_regs registers = { .rip = entry, .rbx = start_info, .rflags = 2 };
	struct kvm_sregs special;

	if (ioctl(vm->vcpus[0].fd, KVM_GET_SREGS, &special) < 0)
		return error_set(error, "KVM_GET_SREGS: %m");
	special.cr0 = CR0_PE | CR0_ET;
	special.cr4 = 0;
	special.cs = flat(11);
	special.ds = special.es = special.fs = special.gs = special.ss = flat(3);
	special.tr = (struct kvm_segment){ .limit = 0x67, .type = 11, .present = 1 };
	if (ioctl(vm->vcpus[0].fd, KVM_SET_SREGS, &special) < 0)
		return error_set(error, "KVM_SET_SREGS: %m");
	if (ioctl(vm->vcpus[0].fd, KVM_SET_REGS, &registers) < 0)
		return error_set(error, "KVM_SET_REGS: %m");
	return true;
}

bool arch_boot(struct vm *vm, const struct elf_kernel *kernel, const char *command_line,
	       struct error *error)
{
	struct pvh_start_info *info = memory_at(&vm->memory, BOOT_INFO, sizeof(*info));
	struct pvh_range *ranges =
		memory_at(&vm->memory, BOOT_MEMORY, MAX_RANGES * sizeof(*ranges));
	char *text = memory_at(&vm->memory, BOOT_CMDLINE, MAX_APPEND_BYTES);
	uint8_t *tables = memory_at(&vm->memory, ACPI_START, ACPI_END - ACPI_START);

	if (!kernel->pvh_entry)
		return error_set(error, "it has no PVH entry (the note that Xen defines)");
	if (!info || !ranges || !text || !tables ||
	    !acpi_write(tables, ACPI_END - ACPI_START, ACPI_START, vm->vcpu_count))
		return error_set(error, "the guest's first MiB is too small for its boot tables");
	strncpy(text, command_line, MAX_APPEND_BYTES - 1);
	*info = (struct pvh_start_info){
		.magic = PVH_MAGIC,
		.version = 1,
		.cmdline = BOOT_CMDLINE,
		.rsdp = ACPI_START,
		.memory_map = BOOT_MEMORY,
		.memory_map_count = write_ranges(&vm->memory, ranges),
	};
	return enter_at(vm, kernel->pvh_entry, BOOT_INFO, error);
}

/* ---- The probe's guest --------------------------------------------------------------------- */

#define PROBE_AT   0x1000
#define PROBE_PORT 0x80 /* a PC's diagnostic port: nothing is there */

bool arch_boot_probe(struct vm *vm, uint16_t doorbell, uint32_t exits, struct error *error)
{
	uint8_t code[] = {
		0x66, 0xba,	  0, 0,	   /* mov $doorbell, %dx */
		0xb9, 0,	  0, 0, 0, /* mov $exits, %ecx */
		0xb0, 1,		   /* mov $1, %al */
		0xee,			   /* out %al, %dx */
		0xe6, PROBE_PORT,	   /* 1: out %al, $PROBE_PORT */
		0xe2, 0xfc,		   /* loop 1b */
		0xb0, 2,		   /* mov $2, %al */
		0xee,			   /* out %al, %dx */
		0x31, 0xc0,		   /* xor %eax, %eax */
		0x0f, 0xa2,		   /* cpuid: an exit that the kernel answers */
		0xb0, 3,		   /* mov $3, %al */
		0x66, 0xba,	  0, 0,	   /* mov $doorbell, %dx, which cpuid overwrote */
		0xee,			   /* out %al, %dx */
		0xf4,			   /* hlt */
	};
	uint8_t *to = memory_at(&vm->memory, PROBE_AT, sizeof(code));

	if (!to)
		return error_set(error, "no memory for the probe");
	memcpy(code + 2, &doorbell, sizeof(doorbell));
	memcpy(code + 27, &doorbell, sizeof(doorbell));
	memcpy(code + 5, &exits, sizeof(exits));
	memcpy(to, code, sizeof(code));
	return enter_at(vm, PROBE_AT, 0, error);
}
