/* Writes the ACPI tables (ACPI 6.5, chapter 5) of a machine with CPUs, an I/O APIC and a power switch.
 * Fields are written at the offsets that the specification gives. */
#include <string.h>

#include <arch/board.h>

/* Offset of each table; the last one grows with the number of CPUs. */
#define RSDP_AT 0x000
#define XSDT_AT 0x030
#define DSDT_AT 0x070
#define FADT_AT 0x0b0
#define MADT_AT 0x1d0

#define RSDP_BYTES    36 /* 5.2.5.3; version 1: 20 bytes */
#define HEADER_BYTES  36 /* 5.2.6 */
#define FADT_BYTES    276
#define MADT_CPUS     44 /* 5.2.12: after the local APIC's address and the flags */
#define CPU_BYTES     8
#define IO_APIC_BYTES 12

/* A number at an offset in a table. */
struct field {
	uint16_t offset, bytes;
	uint64_t value;
};

/* FADT (5.2.9). No SMI command: ACPI is always enabled. No processor block: no C2, no C3. */
static const struct field fadt[] = {
	{ 46, 2, 9 }, /* SCI's interrupt */
	{ 56, 4, PM1_EVENT },
	{ 64, 4, PM1_CONTROL },
	{ 88, 1, 4 },			 /* bytes of the event block */
	{ 89, 1, 2 },			 /* ... of the control block */
	{ 109, 2, 1 | 1 << 2 | 1 << 5 }, /* ISA devices, no VGA, no CMOS clock */
	{ 112, 4, 1 | 1 << 4 | 1 << 5 }, /* WBINVD works; no buttons */
};

/* Name (\_S5_, Package () { SLEEP_TYPE_OFF, SLEEP_TYPE_OFF, 0, 0 }) in AML (20.2). */
static const uint8_t dsdt[] = {
	0x08, '_', 'S', '5', '_', 0x12, 0x08, 4, 0x0a, SLEEP_TYPE_OFF, 0x0a, SLEEP_TYPE_OFF, 0, 0
};

static void put(uint8_t *table, size_t offset, uint64_t value, unsigned bytes)
{
	memcpy(table + offset, &value, bytes); /* little-endian, like this CPU */
}

/* Sets the checksum: all bytes add up to zero. */
static void sum_up(uint8_t *table, size_t bytes, size_t sum_at)
{
	for (size_t i = 0; i < bytes; i++)
		if (i != sum_at)
			table[sum_at] = (uint8_t)(table[sum_at] - table[i]);
}

/* Writes a table's header, after the rest of the table. */
static void finish(uint8_t *table, const char *signature, uint8_t revision, size_t bytes)
{
	memcpy(table, signature, 4);
	put(table, 4, bytes, 4);
	put(table, 8, revision, 1);
	memcpy(table + 10, "WORLDSWORLDSWI", 14); /* OEM ID, table ID */
	put(table, 24, 1, 4);
	memcpy(table + 28, "WSVM", 4); /* creator ID */
	put(table, 32, 1, 4);
	sum_up(table, bytes, 9);
}

static void write_madt(uint8_t *madt, unsigned cpus, size_t bytes)
{
	uint8_t *at = madt + MADT_CPUS;

	put(madt, 36, LOCAL_APIC, 4);
	put(madt, 40, 1, 4); /* there are two 8259s too */
	for (unsigned i = 0; i < cpus; i++, at += CPU_BYTES) {
		put(at, 1, CPU_BYTES, 1);  /* type 0: a local APIC */
		put(at, 2, i << 8 | i, 2); /* its processor and APIC IDs */
		put(at, 4, 1, 4);	   /* enabled */
	}
	put(at, 0, IO_APIC_BYTES << 8 | 1, 2); /* type 1: an I/O APIC */
	put(at, 4, IO_APIC, 4);
	finish(madt, "APIC", 5, bytes);
}

size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus)
{
	size_t madt_bytes = MADT_CPUS + cpus * CPU_BYTES + IO_APIC_BYTES;

	if (bytes < MADT_AT + madt_bytes)
		return 0;
	memset(to, 0, MADT_AT + madt_bytes);
	write_madt(to + MADT_AT, cpus, madt_bytes);
	memcpy(to + DSDT_AT + HEADER_BYTES, dsdt, sizeof(dsdt));
	finish(to + DSDT_AT, "DSDT", 2, HEADER_BYTES + sizeof(dsdt));
	for (size_t i = 0; i < sizeof(fadt) / sizeof(fadt[0]); i++)
		put(to + FADT_AT, fadt[i].offset, fadt[i].value, fadt[i].bytes);
	put(to + FADT_AT, 40, address + DSDT_AT, 4);
	put(to + FADT_AT, 140, address + DSDT_AT, 8);
	finish(to + FADT_AT, "FACP", 6, FADT_BYTES);
	put(to + XSDT_AT, HEADER_BYTES, address + FADT_AT, 8);
	put(to + XSDT_AT, HEADER_BYTES + 8, address + MADT_AT, 8);
	finish(to + XSDT_AT, "XSDT", 1, HEADER_BYTES + 16);
	memcpy(to + RSDP_AT, "RSD PTR ", 8);
	memcpy(to + RSDP_AT + 9, "WORLDS", 6);
	put(to + RSDP_AT, 15, 2, 1); /* revision */
	put(to + RSDP_AT, 20, RSDP_BYTES, 4);
	put(to + RSDP_AT, 24, address + XSDT_AT, 8);
	sum_up(to + RSDP_AT, 20, 8);
	sum_up(to + RSDP_AT, RSDP_BYTES, 32);
	return MADT_AT + madt_bytes;
}
