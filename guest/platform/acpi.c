/*
 * Reads the ACPI tables needed to start CPUs and to power off (ACPI 6.5, chapter 5). No AML interpreter:
 * \_S5_ is found by its byte sequence, which all firmware compilers emit alike.
 */
#include "guest/platform/acpi.h"

#include <stddef.h>

#define TABLES_END	0x100000000ull
#define MAX_TABLE_BYTES (4u << 20)

struct root_pointer { /* 5.2.5.3 */
	char signature[8];
	uint8_t sum;
	char oem[6];
	uint8_t revision;
	uint32_t rsdt;
	uint32_t length;
	uint64_t xsdt;
	uint8_t extended_sum, reserved[3];
} __attribute__((packed));

struct header { /* 5.2.6 */
	char signature[4];
	uint32_t length;
	uint8_t revision, sum;
	char oem[6], oem_table[8];
	uint32_t oem_revision, creator, creator_revision;
} __attribute__((packed));

struct address { /* 5.2.3.2 */
	uint8_t space, bits, offset, access;
	uint64_t address;
} __attribute__((packed));

#define SPACE_PORT 1

struct fadt { /* 5.2.9; only fields that are read have names */
	struct header header;
	uint32_t facs, dsdt;
	uint8_t skip_1[4];
	uint32_t smi_command;
	uint8_t enable_value;
	uint8_t skip_2[11];
	uint32_t pm1a_control, pm1b_control;
	uint8_t skip_3[4];
	uint32_t timer;
	uint8_t skip_6[32];
	uint32_t flags;
	uint8_t skip_4[24];
	uint64_t x_dsdt;
	uint8_t skip_5[96];
	struct address sleep_control;
} __attribute__((packed));
_Static_assert(__builtin_offsetof(struct fadt, dsdt) == 40, "FADT");
_Static_assert(__builtin_offsetof(struct fadt, pm1a_control) == 64, "FADT");
_Static_assert(__builtin_offsetof(struct fadt, timer) == 76, "FADT");
_Static_assert(__builtin_offsetof(struct fadt, flags) == 112, "FADT");
_Static_assert(__builtin_offsetof(struct fadt, x_dsdt) == 140, "FADT");
_Static_assert(__builtin_offsetof(struct fadt, sleep_control) == 244, "FADT");

#define FADT_HARDWARE_REDUCED (1u << 20)

#define MADT_ENTRIES_AT	  44 /* after the header, the APIC's address and flags (5.2.12) */
#define MADT_LOCAL_APIC	  0
#define MADT_LOCAL_X2APIC 9
#define MADT_USABLE	  3 /* enabled, or can be enabled */

static uint8_t sum_of(const void *bytes, uint64_t length)
{
	const uint8_t *byte = bytes;
	uint8_t sum = 0;

	for (uint64_t i = 0; i < length; i++)
		sum = (uint8_t)(sum + byte[i]);
	return sum;
}

static bool signed_as(const char *text, const char *signature)
{
	for (unsigned i = 0; signature[i]; i++)
		if (text[i] != signature[i])
			return false;
	return true;
}

/* The table at `address`, if it is complete and its checksum is right; else NULL. */
static const struct header *table_at(uint64_t address)
{
	const struct header *table = (const struct header *)address;

	if (!address || address > TABLES_END - sizeof(*table))
		return NULL;
	if (table->length < sizeof(*table) || table->length > MAX_TABLE_BYTES ||
	    address + table->length > TABLES_END || sum_of(table, table->length))
		return NULL;
	return table;
}

static uint32_t read_u32(const uint8_t *at)
{
	return at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
}

static void add_cpu(struct acpi *acpi, uint32_t apic_id, uint32_t flags)
{
	if ((flags & MADT_USABLE) && acpi->cpu_count < ACPI_MAX_CPUS)
		acpi->apic_ids[acpi->cpu_count++] = apic_id;
}

static void read_madt(struct acpi *acpi, const struct header *madt)
{
	const uint8_t *bytes = (const uint8_t *)madt;
	uint32_t at = MADT_ENTRIES_AT;

	while (at + 2 <= madt->length) {
		const uint8_t *entry = bytes + at;
		uint32_t length = entry[1];

		if (length < 2 || at + length > madt->length)
			return;
		if (entry[0] == MADT_LOCAL_APIC && length >= 8)
			add_cpu(acpi, entry[3], read_u32(entry + 4));
		if (entry[0] == MADT_LOCAL_X2APIC && length >= 16)
			add_cpu(acpi, read_u32(entry + 4), read_u32(entry + 8));
		at += length;
	}
}

/* An AML integer: ZeroOp, OneOp, or a byte constant (20.2.3). */
static const uint8_t *aml_byte(const uint8_t *at, const uint8_t *end, uint8_t *value)
{
	if (at < end && *at <= 1) {
		*value = *at;
		return at + 1;
	}
	if (at + 1 < end && *at == 0x0a) {
		*value = at[1];
		return at + 2;
	}
	return NULL;
}

/* Name (\_S5_, Package () { a, b, ... }): NameOp, the name, PackageOp, length, count, elements. */
static void find_sleep_types(struct acpi *acpi, const struct header *table)
{
	const uint8_t *bytes = (const uint8_t *)table, *end = bytes + table->length;

	for (const uint8_t *at = bytes + sizeof(*table); at + 8 < end; at++) {
		const uint8_t *next = at + 4;

		if (!signed_as((const char *)at, "_S5_") || *next != 0x12)
			continue;
		next++;
		next += 1 + (*next >> 6); /* the length takes one to four bytes */
		next++;			  /* the count */
		next = aml_byte(next, end, &acpi->sleep_type_a);
		if (!next)
			continue;
		acpi->can_sleep = true;
		if (!aml_byte(next, end, &acpi->sleep_type_b))
			acpi->sleep_type_b = 0;
		return;
	}
}

static void read_fadt(struct acpi *acpi, const struct header *table)
{
	const struct fadt *fadt = (const struct fadt *)table;
	const struct header *dsdt;
	uint64_t dsdt_address = 0;

	if (table->length < __builtin_offsetof(struct fadt, skip_4))
		return;
	if (fadt->flags & FADT_HARDWARE_REDUCED) {
		if (table->length >= sizeof(*fadt) && fadt->sleep_control.space <= SPACE_PORT) {
			acpi->sleep_control = fadt->sleep_control.address;
			acpi->sleep_control_is_port = fadt->sleep_control.space == SPACE_PORT;
		}
	} else {
		acpi->smi_command = fadt->smi_command;
		acpi->enable_value = fadt->enable_value;
		acpi->pm1a_control = (uint16_t)fadt->pm1a_control;
		acpi->pm1b_control = (uint16_t)fadt->pm1b_control;
		acpi->timer = (uint16_t)fadt->timer;
	}
	if (table->length >= __builtin_offsetof(struct fadt, skip_5))
		dsdt_address = fadt->x_dsdt;
	dsdt = table_at(dsdt_address ? dsdt_address : fadt->dsdt);
	if (dsdt)
		find_sleep_types(acpi, dsdt);
}

static void read_table(struct acpi *acpi, uint64_t address)
{
	const struct header *table = table_at(address);

	if (!table)
		return;
	if (signed_as(table->signature, "APIC"))
		read_madt(acpi, table);
	else if (signed_as(table->signature, "FACP"))
		read_fadt(acpi, table);
	else if (signed_as(table->signature, "SSDT") && !acpi->can_sleep)
		find_sleep_types(acpi, table);
}

static bool is_root_pointer(const struct root_pointer *root)
{
	return signed_as(root->signature, "RSD PTR ") &&
	       !sum_of(root, __builtin_offsetof(struct root_pointer, length));
}

/* Searches the extended BIOS data area's first KiB and the BIOS's read-only memory (5.2.5.1). */
static const struct root_pointer *scan_for_root_pointer(void)
{
	uint64_t ebda;
	uint16_t segment;

	segment = *(volatile uint16_t *)0x40e;
	ebda = (uint64_t)segment << 4;
	if (ebda >= 0x80000 && ebda < 0xa0000)
		for (uint64_t at = ebda; at < ebda + 1024; at += 16)
			if (is_root_pointer((const struct root_pointer *)at))
				return (const struct root_pointer *)at;
	for (uint64_t at = 0xe0000; at < 0x100000; at += 16)
		if (is_root_pointer((const struct root_pointer *)at))
			return (const struct root_pointer *)at;
	return NULL;
}

void acpi_read(struct acpi *acpi, uint64_t rsdp)
{
	const struct root_pointer *root = (const struct root_pointer *)rsdp;
	const struct header *list;
	uint32_t entry_bytes;

	*acpi = (struct acpi){ 0 };
	if (!rsdp)
		root = scan_for_root_pointer();
	else if (rsdp > TABLES_END - sizeof(*root) || !is_root_pointer(root))
		root = NULL;
	if (!root)
		return;
	entry_bytes = root->revision >= 2 && root->xsdt ? 8 : 4;
	list = table_at(entry_bytes == 8 ? root->xsdt : root->rsdt);
	if (!list)
		return;
	acpi->found = true;
	for (uint32_t at = sizeof(*list); at + entry_bytes <= list->length; at += entry_bytes) {
		const uint8_t *entry = (const uint8_t *)list + at;
		uint64_t address = read_u32(entry);

		if (entry_bytes == 8)
			address |= (uint64_t)read_u32(entry + 4) << 32;
		read_table(acpi, address);
	}
}
