/* Addresses that the machine's devices and its ACPI tables share. */
#ifndef MACHINE_H
#define MACHINE_H

#define KIB 1024ull
#define GIB (KIB * KIB * KIB)

/* The hole for devices below 4 GiB. */
#define HOLE_START 0xc0000000ull
#define HOLE_END   0x100000000ull
#define LOCAL_APIC 0xfee00000u
#define IO_APIC	   0xfec00000u
#define TSS_PAGES  0xfffbd000u /* three pages that KVM may use (KVM_SET_TSS_ADDR) */

#define COM1		 0x3f8
#define COM2		 0x2f8
#define PM1_EVENT	 0x600 /* four bytes */
#define PM1_CONTROL	 0x604 /* two bytes */
#define KEYBOARD_COMMAND 0x64

#define SLEEP_TYPE_OFF 5 /* what \_S5_ says, and the guest writes to PM1_CONTROL */

/* What boot hands over lies in the first MiB; so do the tables. */
#define BOOT_INFO    0x1000
#define BOOT_MEMORY  0x1100
#define BOOT_CMDLINE 0x2000
#define LOW_MEMORY   0xa0000
#define ACPI_START   0xe0000
#define ACPI_END     0x100000

#endif
