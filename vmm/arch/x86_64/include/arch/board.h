/* What the files of this architecture share: addresses, and each other's functions. */
#pragma once

#include "vmm/guest_memory.h"

/* The hole for devices below 4 GiB. */
#define HOLE_START 0xc0000000ull
#define HOLE_END   0x100000000ull
#define LOCAL_APIC 0xfee00000u
#define IO_APIC	   0xfec00000u
#define TSS_PAGES  0xfffbd000u /* three pages that KVM may use (KVM_SET_TSS_ADDR) */

#define COM1		 0x3f8
#define COM1_INTERRUPT	 4
#define COM2		 0x2f8
#define PM1_EVENT	 0x600 /* four bytes */
#define PM1_CONTROL	 0x604 /* two bytes */
#define KEYBOARD_COMMAND 0x64
#define DEBUG_CONSOLE	 0xe9 /* of Bochs and Xen */

#define SLEEP_TYPE_OFF 5 /* what \_S5_ says, and the guest writes to PM1_CONTROL */

/* What boot hands over lies in the first MiB; so do the tables. */
#define BOOT_GDT     0x500
#define BOOT_INFO    0x1000 /* what PVH, multiboot or Linux hands over: a page */
#define BOOT_CMDLINE 0x2000
#define LOW_MEMORY   0xa0000
#define ACPI_START   0xe0000
#define ACPI_BYTES   0x20000
#define ACPI_END     0x100000

/* RSDP, XSDT, FADT, DSDT and MADT for `cpus` CPUs with the APIC ids 0, 1, ..., into `to`, which
 * the guest sees at `address`. The RSDP comes first. Returns the bytes used; 0: they do not fit. */
size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus);
/* A kernel with a multiboot header, as elf_load(); where that has loaded its ELF structures, `elf`, they
 * are what is taken unless the header gives places of its own. */
bool multiboot_load(const uint8_t *file, size_t bytes, bool elf, const struct memory *memory,
		    struct kernel *kernel);
/* Does the file say that it is a bzImage? And its loader, as elf_load(). */
bool bzimage_is(const uint8_t *file, size_t bytes);
bool bzimage_load(const uint8_t *file, size_t bytes, const struct memory *memory,
		  struct kernel *kernel);
