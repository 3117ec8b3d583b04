/*
 * ACPI tables (ACPI 6.5, chapter 5) of a machine that has CPUs, an I/O APIC and a power switch.
 * Called by boot.c. Tables are written by the offsets that the specification gives.
 */
#include "acpi.h"

#include <string.h>

#include "machine.h"

#define HEADER_BYTES  36 /* 5.2.6; the sum is its tenth byte */
#define HEADER_SUM    9
#define ROOT_BYTES    36 /* 5.2.5.3; version 1 had 20 of them */
#define ROOT_BYTES_1  20
#define FADT_BYTES    276 /* 5.2.9, revision 6 */
#define MADT_AT	      44  /* 5.2.12: entries behind the local APIC's address and the flags */
#define CPU_BYTES     8
#define IO_APIC_BYTES 12

/* Where the next table goes. Once one did not fit, `to` is NULL and all later ones do not either. */
struct writer {
	uint8_t *to;
	size_t bytes, used;
	uint64_t address; /* of to[0], as the guest sees it */
};

/* Little-endian, at an offset of a table; nothing where there is no table. */
static void put(uint8_t *table, size_t offset, uint64_t value, unsigned bytes)
{
	for (unsigned i = 0; table && i < bytes; i++)
		table[offset + i] = (uint8_t)(value >> 8 * i);
}

static uint8_t *reserve(struct writer *writer, size_t bytes)
{
	size_t at = (writer->used + 15) / 16 * 16;

	if (!writer->to || bytes > writer->bytes || at > writer->bytes - bytes) {
		writer->to = NULL;
		return NULL;
	}
	writer->used = at + bytes;
	return memset(writer->to + at, 0, bytes);
}

static uint64_t address_of(const struct writer *writer, const uint8_t *table)
{
	return table ? writer->address + (uint64_t)(table - writer->to) : 0;
}

/* Makes all bytes add up to zero. */
static void sum_up(uint8_t *table, size_t bytes, size_t sum_at)
{
	uint8_t sum = 0;

	for (size_t i = 0; table && i < bytes; i++)
		sum = (uint8_t)(sum + table[i]);
	put(table, sum_at, (uint8_t)(0 - sum), 1);
}

/* A table, with its header but for the sum: finish() is due. */
static uint8_t *start(struct writer *writer, const char *signature, uint8_t revision, size_t bytes)
{
	uint8_t *table = reserve(writer, bytes);

	put(table, 4, bytes, 4);
	put(table, 8, revision, 1);
	put(table, 24, 1, 4);
	put(table, 32, 1, 4);
	if (table) {
		memcpy(table, signature, 4);
		memcpy(table + 10, "WORLDSWORLDSWI", 14); /* whose, and which */
		memcpy(table + 28, "WSVM", 4);		  /* made by */
	}
	return table;
}

static uint64_t finish(const struct writer *writer, uint8_t *table, size_t bytes)
{
	sum_up(table, bytes, HEADER_SUM);
	return address_of(writer, table);
}

/* Name (\_S5_, Package () { 5, 5, 0, 0 }) in AML (20.2). */
static uint64_t write_dsdt(struct writer *writer)
{
	static const uint8_t code[] = {
		0x08,		'_', 'S', '5', '_', 0x12, 0x08, 4, 0x0a, SLEEP_TYPE_OFF, 0x0a,
		SLEEP_TYPE_OFF, 0,   0
	};
	uint8_t *dsdt = start(writer, "DSDT", 2, HEADER_BYTES + sizeof(code));

	if (dsdt)
		memcpy(dsdt + HEADER_BYTES, code, sizeof(code));
	return finish(writer, dsdt, HEADER_BYTES + sizeof(code));
}

/* A generic address (5.2.3.2) in port space. */
static void put_port(uint8_t *table, size_t offset, uint16_t port, uint8_t bits, uint8_t access)
{
	put(table, offset, 1, 1);
	put(table, offset + 1, bits, 1);
	put(table, offset + 3, access, 1);
	put(table, offset + 4, port, 8);
}

static uint64_t write_fadt(struct writer *writer, uint64_t dsdt)
{
	uint8_t *fadt = start(writer, "FACP", 6, FADT_BYTES);

	put(fadt, 40, dsdt, 4);
	put(fadt, 46, 9, 2); /* SCI's interrupt */
	put(fadt, 56, PM1_EVENT, 4);
	put(fadt, 64, PM1_CONTROL, 4);
	put(fadt, 88, 4, 1);	/* bytes of the event block */
	put(fadt, 89, 2, 1);	/* ... of the control block */
	put(fadt, 96, 101, 2);	/* C2 is not there: it takes more than 100 us */
	put(fadt, 98, 1001, 2); /* nor is C3: 1000 us */
	put(fadt, 109, 1, 2);	/* there are ISA devices */
	put(fadt, 112, 1u << 0 | 1u << 4 | 1u << 5, 4); /* WBINVD works; no buttons */
	put(fadt, 131, 5, 1);				/* of 6.5 */
	put(fadt, 140, dsdt, 8);
	put_port(fadt, 148, PM1_EVENT, 32, 3);
	put_port(fadt, 172, PM1_CONTROL, 16, 2);
	return finish(writer, fadt, FADT_BYTES);
}

static uint64_t write_madt(struct writer *writer, unsigned cpus)
{
	size_t bytes = MADT_AT + cpus * CPU_BYTES + IO_APIC_BYTES, at = MADT_AT;
	uint8_t *madt = start(writer, "APIC", 5, bytes);

	put(madt, 36, LOCAL_APIC, 4);
	put(madt, 40, 1, 4); /* the two 8259s are there too */
	for (unsigned i = 0; i < cpus; i++, at += CPU_BYTES) {
		put(madt, at + 1, CPU_BYTES, 1); /* type 0: a local APIC */
		put(madt, at + 2, i, 1);	 /* its processor */
		put(madt, at + 3, i, 1);	 /* its id */
		put(madt, at + 4, 1, 4);	 /* enabled */
	}
	put(madt, at, 1, 1); /* type 1: an I/O APIC */
	put(madt, at + 1, IO_APIC_BYTES, 1);
	put(madt, at + 4, IO_APIC, 4);
	return finish(writer, madt, bytes);
}

size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus)
{
	struct writer writer = { .to = to, .bytes = bytes, .address = address };
	uint8_t *root = reserve(&writer, ROOT_BYTES);
	uint8_t *xsdt = start(&writer, "XSDT", 1, HEADER_BYTES + 16);

	put(xsdt, HEADER_BYTES, write_fadt(&writer, write_dsdt(&writer)), 8);
	put(xsdt, HEADER_BYTES + 8, write_madt(&writer, cpus), 8);
	if (!writer.to)
		return 0;
	memcpy(root, "RSD PTR ", 8);
	memcpy(root + 9, "WORLDS", 6);
	put(root, 15, 2, 1); /* revision */
	put(root, 20, ROOT_BYTES, 4);
	put(root, 24, finish(&writer, xsdt, HEADER_BYTES + 16), 8);
	sum_up(root, ROOT_BYTES_1, 8);
	sum_up(root, ROOT_BYTES, 32);
	return writer.used;
}
