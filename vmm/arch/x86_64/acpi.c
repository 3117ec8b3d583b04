/*
 * ACPI tables (ACPI 6.5, chapter 5) of a machine that has CPUs, an I/O APIC and a power switch.
 * Called by boot.c.
 */
#include "acpi.h"

#include <string.h>

#include "machine.h"

struct header { /* 5.2.6 */
	char signature[4];
	uint32_t length;
	uint8_t revision, sum;
	char oem[6], oem_table[8];
	uint32_t oem_revision;
	char creator[4];
	uint32_t creator_revision;
} __attribute__((packed));

struct root_pointer { /* 5.2.5.3 */
	char signature[8];
	uint8_t sum;
	char oem[6];
	uint8_t revision;
	uint32_t rsdt, length;
	uint64_t xsdt;
	uint8_t extended_sum, reserved[3];
} __attribute__((packed));

struct xsdt {
	struct header header;
	uint64_t tables[2];
} __attribute__((packed));

struct address { /* 5.2.3.2 */
	uint8_t space, bits, offset, access;
	uint64_t address;
} __attribute__((packed));

#define SPACE_IO     1
#define ACCESS_WORD  2
#define ACCESS_DWORD 3

struct fadt { /* 5.2.9, revision 6 */
	struct header header;
	uint32_t facs, dsdt;
	uint8_t reserved, profile;
	uint16_t sci;
	uint32_t smi_command;
	uint8_t enable, disable, s4_request, pstate;
	uint32_t pm1a_event, pm1b_event, pm1a_control, pm1b_control, pm2_control, pm_timer;
	uint32_t gpe0, gpe1;
	uint8_t pm1_event_bytes, pm1_control_bytes, pm2_control_bytes, pm_timer_bytes;
	uint8_t gpe0_bytes, gpe1_bytes, gpe1_base, cst;
	uint16_t c2_latency, c3_latency, flush_size, flush_stride;
	uint8_t duty_offset, duty_width, day_alarm, month_alarm, century;
	uint16_t boot_flags;
	uint8_t reserved_1;
	uint32_t flags;
	struct address reset;
	uint8_t reset_value;
	uint16_t arm_boot_flags;
	uint8_t minor;
	uint64_t x_facs, x_dsdt;
	struct address x_pm1a_event, x_pm1b_event, x_pm1a_control, x_pm1b_control, x_pm2_control;
	struct address x_pm_timer, x_gpe0, x_gpe1, sleep_control, sleep_status;
	uint64_t hypervisor;
} __attribute__((packed));
_Static_assert(sizeof(struct fadt) == 276, "FADT");

#define FADT_WBINVD	  (1u << 0)
#define FADT_NO_BUTTONS	  (1u << 4 | 1u << 5) /* neither power nor sleep button as fixed hardware */
#define FADT_LEGACY	  (1u << 0)	      /* boot flags: there are ISA devices */
#define UNUSED_C2_LATENCY 101		      /* above 100 us: the state is not there (table 5.9) */
#define UNUSED_C3_LATENCY 1001
#define SCI_IRQ		  9

struct dsdt {
	struct header header;
	uint8_t code[13];
} __attribute__((packed));

struct madt { /* 5.2.12 */
	struct header header;
	uint32_t local_apic, flags;
} __attribute__((packed));

struct madt_cpu { /* 5.2.12.2 */
	uint8_t type, length, processor, apic_id;
	uint32_t flags;
} __attribute__((packed));

struct madt_io_apic { /* 5.2.12.3 */
	uint8_t type, length, id, reserved;
	uint32_t address, first_interrupt;
} __attribute__((packed));

#define MADT_CPU	   0
#define MADT_IO_APIC	   1
#define MADT_PC_COMPATIBLE 1u /* the two 8259s are there too */
#define CPU_ENABLED	   1u

/* Where the next table goes; `to` NULL once one did not fit. */
struct writer {
	uint8_t *to;
	size_t bytes, used;
	uint64_t address;
};

/* Room for a table, aligned; *address is what the guest calls it. */
static void *table_room(struct writer *writer, size_t bytes, uint64_t *address)
{
	size_t at = (writer->used + 15) / 16 * 16;

	if (!writer->to || bytes > writer->bytes || at > writer->bytes - bytes) {
		writer->to = NULL;
		return NULL;
	}
	writer->used = at + bytes;
	*address = writer->address + at;
	return memset(writer->to + at, 0, bytes);
}

static uint8_t sum_to_zero(const void *table, size_t bytes)
{
	const uint8_t *byte = table;
	uint8_t sum = 0;

	for (size_t i = 0; i < bytes; i++)
		sum = (uint8_t)(sum + byte[i]);
	return (uint8_t)(0 - sum);
}

static void finish(struct header *header, const char *signature, uint8_t revision, size_t bytes)
{
	memcpy(header->signature, signature, sizeof(header->signature));
	header->length = (uint32_t)bytes;
	header->revision = revision;
	memcpy(header->oem, "WORLDS", sizeof(header->oem));
	memcpy(header->oem_table, "WORLDSWI", sizeof(header->oem_table));
	header->oem_revision = 1;
	memcpy(header->creator, "WSVM", sizeof(header->creator));
	header->creator_revision = 1;
	header->sum = sum_to_zero(header, bytes);
}

/* Name (\_S5_, Package () { 5, 5, 0, 0 }) in AML (20.2). */
static uint64_t write_dsdt(struct writer *writer)
{
	static const uint8_t code[] = {
		0x08,		'_', 'S', '5', '_', 0x12, 0x08, 4, 0x0a, SLEEP_TYPE_OFF, 0x0a,
		SLEEP_TYPE_OFF, 0
	};
	uint64_t address = 0;
	struct dsdt *dsdt = table_room(writer, sizeof(*dsdt) + 1, &address);

	if (!dsdt)
		return 0;
	memcpy(dsdt->code, code, sizeof(code));
	finish(&dsdt->header, "DSDT", 2, sizeof(*dsdt) + 1); /* the last element is a zero too */
	return address;
}

static struct address port(uint16_t first, uint8_t bits, uint8_t access)
{
	return (struct address){
		.space = SPACE_IO, .bits = bits, .access = access, .address = first
	};
}

static uint64_t write_fadt(struct writer *writer, uint64_t dsdt)
{
	uint64_t address = 0;
	struct fadt *fadt = table_room(writer, sizeof(*fadt), &address);

	if (!fadt)
		return 0;
	fadt->dsdt = (uint32_t)dsdt;
	fadt->x_dsdt = dsdt;
	fadt->sci = SCI_IRQ;
	fadt->pm1a_event = PM1_EVENT;
	fadt->pm1_event_bytes = 4;
	fadt->x_pm1a_event = port(PM1_EVENT, 32, ACCESS_DWORD);
	fadt->pm1a_control = PM1_CONTROL;
	fadt->pm1_control_bytes = 2;
	fadt->x_pm1a_control = port(PM1_CONTROL, 16, ACCESS_WORD);
	fadt->c2_latency = UNUSED_C2_LATENCY;
	fadt->c3_latency = UNUSED_C3_LATENCY;
	fadt->boot_flags = FADT_LEGACY;
	fadt->flags = FADT_WBINVD | FADT_NO_BUTTONS;
	fadt->minor = 5;
	finish(&fadt->header, "FACP", 6, sizeof(*fadt));
	return address;
}

static uint64_t write_madt(struct writer *writer, unsigned cpus)
{
	size_t bytes =
		sizeof(struct madt) + cpus * sizeof(struct madt_cpu) + sizeof(struct madt_io_apic);
	uint64_t address = 0;
	struct madt *madt = table_room(writer, bytes, &address);
	struct madt_cpu *cpu;

	if (!madt)
		return 0;
	madt->local_apic = LOCAL_APIC;
	madt->flags = MADT_PC_COMPATIBLE;
	cpu = (struct madt_cpu *)(madt + 1);
	for (unsigned i = 0; i < cpus; i++)
		*cpu++ = (struct madt_cpu){ .type = MADT_CPU,
					    .length = sizeof(*cpu),
					    .processor = (uint8_t)i,
					    .apic_id = (uint8_t)i,
					    .flags = CPU_ENABLED };
	*(struct madt_io_apic *)cpu = (struct madt_io_apic){ .type = MADT_IO_APIC,
							     .length = sizeof(struct madt_io_apic),
							     .id = 0,
							     .address = IO_APIC };
	finish(&madt->header, "APIC", 5, bytes);
	return address;
}

size_t acpi_write(uint8_t *to, size_t bytes, uint64_t address, unsigned cpus)
{
	struct writer writer = { .to = to, .bytes = bytes, .address = address };
	uint64_t root_at = 0, xsdt_at = 0;
	struct root_pointer *root = table_room(&writer, sizeof(*root), &root_at);
	struct xsdt *xsdt = table_room(&writer, sizeof(*xsdt), &xsdt_at);
	uint64_t fadt_at = write_fadt(&writer, write_dsdt(&writer));
	uint64_t madt_at = write_madt(&writer, cpus);

	if (!writer.to)
		return 0;
	xsdt->tables[0] = fadt_at;
	xsdt->tables[1] = madt_at;
	finish(&xsdt->header, "XSDT", 1, sizeof(*xsdt));
	memcpy(root->signature, "RSD PTR ", sizeof(root->signature));
	memcpy(root->oem, "WORLDS", sizeof(root->oem));
	root->revision = 2;
	root->length = sizeof(*root);
	root->xsdt = xsdt_at;
	/* The first sum is over what version 1 had, the second over all. */
	root->sum = sum_to_zero(root, offsetof(struct root_pointer, length));
	root->extended_sum = sum_to_zero(root, sizeof(*root));
	return writer.used;
}
