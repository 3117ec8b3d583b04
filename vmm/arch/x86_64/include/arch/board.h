/* Addresses of the machine, and functions shared by this architecture's files. */
#pragma once

#include "vmm/guest_memory.h"

/* The hole for devices, below 4 GiB. */
#define HOLE_START    0xc0000000ull
#define HOLE_END      0x100000000ull
/* Linux maps persistent memory in such pieces (SUBSECTION_SHIFT). */
#define PMEM_BOUNDARY 0x200000ull
#define LOCAL_APIC    0xfee00000u
#define IO_APIC	      0xfec00000u
#define TSS_PAGES     0xfffbd000u /* three pages for KVM (KVM_SET_TSS_ADDR) */

#define COM1		 0x3f8
#define COM1_INTERRUPT	 4
#define COM2		 0x2f8
#define PM1_EVENT	 0x600 /* four bytes */
#define PM1_CONTROL	 0x604 /* two bytes */
#define KEYBOARD_COMMAND 0x64
#define PCI_ADDRESS	 0xcf8 /* four bytes; the data behind it are nobody's */
#define DEBUG_CONSOLE	 0xe9  /* as in Bochs and Xen */

/* In \_S5_; the guest writes it to PM1_CONTROL. QEMU's too: kernels that read no tables write 0x2000
 * there. */
#define SLEEP_TYPE_OFF 0

/* Boot information and tables in the first MiB. */
#define BOOT_GDT     0x500
#define BOOT_INFO    0x1000 /* a page: information of PVH, multiboot or Linux */
#define BOOT_CMDLINE 0x2000
#define LOW_MEMORY   0xa0000
#define ACPI_START   0xe0000
#define ACPI_BYTES   0x20000
#define ACPI_END     0x100000

/* Writes RSDP, XSDT, FADT, DSDT and MADT for `cpus` CPUs, APIC IDs 0, 1, ..., to `to`, which the guest sees
 * at `address`. The RSDP comes first. Returns the bytes used; 0: too large. */
size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus);
/* Loads a kernel with a multiboot header; like elf_load(). `elf`: elf_load() has loaded the file's
 * segments, which are used unless the header has load addresses. */
bool multiboot_load(const uint8_t *file, size_t bytes, bool elf, const struct memory *memory,
		    struct kernel *kernel);
/* bzimage_is(): is the file a bzImage? bzimage_load() is like elf_load(). */
bool bzimage_is(const uint8_t *file, size_t bytes);
bool bzimage_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		  struct kernel *kernel);
