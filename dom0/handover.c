/*
 * Writes the domain's start_info (PVH), memory map, command line and ACPI tables. Only the ACPI tables
 * needed to list CPUs (ACPI 6.5, chapter 5): RSDP, XSDT, MADT. No FADT: a domain powers off by a hypercall.
 */
#include "dom0/handover.h"

#include "common/text.h"
#include "common/pvh.h"

#define PAGE	       4096
#define LOW_MEMORY_END 0xa0000 /* a PC has no memory from there to 1 MiB */
#define HIGH_MEMORY    0x100000
#define LOCAL_APIC     0xfee00000
#define HEADER_BYTES   36 /* 5.2.6; the checksum is its tenth byte */
#define HEADER_SUM     9
#define ROOT_BYTES     36 /* 5.2.5.3; version 1: 20 bytes */
#define ROOT_BYTES_1   20
#define ROOT_SUM       8
#define ROOT_SUM_2     32
#define XSDT_AT	       64 /* offset in the page of tables */
#define XSDT_BYTES     (HEADER_BYTES + 8)
#define MADT_AT	       128
#define MADT_FIXED     44 /* 5.2.12: entries follow the APIC address and the flags */
#define MADT_CPU       8

/* Little-endian. */
static void put(uint8_t *to, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; i < bytes; i++)
		to[i] = (uint8_t)(value >> 8 * i);
}

static void put_text(uint8_t *to, const char *text)
{
	while (*text)
		*to++ = (uint8_t)*text++;
}

/* Sets the checksum: all bytes add up to zero. */
static void sum_up(uint8_t *table, unsigned bytes, unsigned sum_at)
{
	uint8_t sum = 0;

	for (unsigned i = 0; i < bytes; i++)
		sum = (uint8_t)(sum + table[i]);
	table[sum_at] = (uint8_t)(table[sum_at] - sum);
}

static void put_header(uint8_t *table, const char *signature, unsigned bytes, uint8_t revision)
{
	put_text(table, signature);
	put(table + 4, bytes, 4);
	table[8] = revision;
	put_text(table + 10, "WORLDSWORLDSWI"); /* OEM ID, table ID */
	put(table + 24, 1, 4);
	put_text(table + 28, "WSX0"); /* creator ID */
	put(table + 32, 1, 4);
}

/* Xen gives vCPU n the APIC id 2n (xen/arch/x86/hvm/vlapic.c, vlapic_reset). */
static void write_acpi(uint8_t *page, unsigned cpus)
{
	uint8_t *xsdt = page + XSDT_AT, *madt = page + MADT_AT, *entry = madt + MADT_FIXED;
	unsigned madt_bytes = MADT_FIXED + cpus * MADT_CPU;

	put_header(madt, "APIC", madt_bytes, 5);
	put(madt + 36, LOCAL_APIC, 4);
	for (unsigned cpu = 0; cpu < cpus; cpu++, entry += MADT_CPU) {
		entry[0] = 0; /* a local APIC */
		entry[1] = MADT_CPU;
		entry[2] = (uint8_t)cpu;
		entry[3] = (uint8_t)(2 * cpu);
		entry[4] = 1; /* enabled */
	}
	sum_up(madt, madt_bytes, HEADER_SUM);

	put_header(xsdt, "XSDT", XSDT_BYTES, 1);
	put(xsdt + HEADER_BYTES, HANDOVER_ACPI + MADT_AT, 8);
	sum_up(xsdt, XSDT_BYTES, HEADER_SUM);

	put_text(page, "RSD PTR ");
	put_text(page + 9, "WORLDS");
	page[15] = 2; /* revision */
	put(page + 20, ROOT_BYTES, 4);
	put(page + 24, HANDOVER_ACPI + XSDT_AT, 8);
	sum_up(page, ROOT_BYTES_1, ROOT_SUM);
	sum_up(page, ROOT_BYTES, ROOT_SUM_2);
}

/* The memory is complete, 0xa0000 to 1 MiB too; the map only hides that part from the domain. */
static void write_start_info(uint8_t *page, uint64_t memory_bytes)
{
	struct pvh_start_info info = {
		.magic = PVH_MAGIC,
		.version = 1,
		.cmdline = HANDOVER_CMDLINE,
		.rsdp = HANDOVER_ACPI,
		.memory_map = HANDOVER_AT + sizeof(info),
		.memory_map_count = 2,
	};
	struct pvh_memory map[2] = {
		{ .start = 0, .bytes = LOW_MEMORY_END, .type = PVH_MEMORY_RAM },
		{ .start = HIGH_MEMORY,
		  .bytes = memory_bytes - HIGH_MEMORY,
		  .type = PVH_MEMORY_RAM },
	};
	const uint8_t *from = (const uint8_t *)&info;

	for (unsigned i = 0; i < sizeof(info); i++)
		*page++ = from[i];
	from = (const uint8_t *)map;
	for (unsigned i = 0; i < sizeof(map); i++)
		*page++ = from[i];
}

bool handover_write(uint8_t *to, const struct handover *handover)
{
	size_t length = text_length(handover->cmdline);

	if (length >= PAGE || !handover->cpus || handover->cpus > HANDOVER_MAX_CPUS ||
	    handover->memory_bytes <= HIGH_MEMORY)
		return false;
	for (unsigned i = 0; i < HANDOVER_BYTES; i++)
		to[i] = 0;
	write_start_info(to, handover->memory_bytes);
	put_text(to + HANDOVER_CMDLINE - HANDOVER_AT, handover->cmdline);
	write_acpi(to + HANDOVER_ACPI - HANDOVER_AT, handover->cpus);
	return true;
}
