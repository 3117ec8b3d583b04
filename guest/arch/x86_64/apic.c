/* The local APIC. The list of CPUs is in smp.c. */
#include <arch/apic.h>
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "latency.h"
#include "common/relax.h"
#include <arch/tables.h>
#include <arch/timed_exits.h>

#define BASE_ENABLE  (1u << 11)
#define BASE_X2APIC  (1u << 10)
#define BASE_ADDRESS 0x000ffffffffff000ull
#define SVR_ENABLE   (1u << 8)
#define DIVIDE_BY_1  0xb
#define DIVIDE_BY_16 0x3

#define ICR_INIT	     0x00000500
#define ICR_STARTUP	     0x00000600
#define ICR_PENDING	     0x00001000
#define ICR_ASSERT	     0x00004000
#define CPUID_1_C_X2APIC     (1u << 21)
#define CPUID_1_C_DEADLINE   (1u << 24)
#define CPUID_7_B_TSC_ADJUST (1u << 1)
#define TIMER_DEADLINE	     (2u << 17)

/* An interrupt to this CPU arrives within a few instructions unless it is emulated. */
#define MOST_LOOKS 10000

static bool x2apic;
/* Address of the registers; exceptions.S signals end of interrupt there. */
uint64_t apic_registers;

void ipi_entry_xapic(void);
void ipi_entry_x2apic(void);
void completion_entry(void);
void latency_entry_xapic(void);
void latency_entry_x2apic(void);

uint64_t completions_taken; /* counted by exceptions.S */

void apic_init(const struct cpuid *features, bool xapic)
{
	uint64_t base = read_msr(MSR_APIC_BASE);

	/* If the firmware uses the x2APIC, going back would need a disabled APIC first, which some CPUs
	 * forbid and QEMU never enables again. */
	x2apic = features->c & CPUID_1_C_X2APIC && (!xapic || base & BASE_X2APIC);
	apic_registers = base & BASE_ADDRESS;
	set_idt_entry(VECTOR_IPI, x2apic ? ipi_entry_x2apic : ipi_entry_xapic);
	set_idt_entry(VECTOR_COMPLETION, completion_entry);
	set_idt_entry(VECTOR_LATENCY, x2apic ? latency_entry_x2apic : latency_entry_xapic);
	apic_enable();
}

void apic_enable(void)
{
	uint64_t base = read_msr(MSR_APIC_BASE) | BASE_ENABLE;

	/* Directly from disabled to x2APIC is not allowed (SDM vol. 3A, 11.12.5): enable first. */
	write_msr(MSR_APIC_BASE, base);
	if (x2apic) {
		write_msr(MSR_APIC_BASE, base | BASE_X2APIC);
		write_msr(MSR_X2APIC_SVR, SVR_ENABLE | VECTOR_SPURIOUS);
	} else {
		mmio_write32(apic_registers + XAPIC_SVR, SVR_ENABLE | VECTOR_SPURIOUS);
	}
}

bool apic_is_x2apic(void)
{
	return x2apic;
}

uint32_t apic_id(void)
{
	if (x2apic)
		return (uint32_t)read_msr(MSR_X2APIC_ID);
	return mmio_read32(apic_registers + XAPIC_ID) >> 24;
}

static void command(uint32_t to, uint32_t low)
{
	if (x2apic) {
		write_msr(MSR_X2APIC_ICR, (uint64_t)to << 32 | low);
		return;
	}
	mmio_write32(apic_registers + XAPIC_ICR_HIGH, to << 24);
	mmio_write32(apic_registers + XAPIC_ICR_LOW, low);
	for (unsigned i = 0; i < 100000; i++) {
		if (!(mmio_read32(apic_registers + XAPIC_ICR_LOW) & ICR_PENDING))
			return;
		relax();
	}
}

void apic_send_init(uint32_t to)
{
	command(to, ICR_ASSERT | ICR_INIT);
}

void apic_send_startup(uint32_t to, uint8_t page)
{
	command(to, ICR_ASSERT | ICR_STARTUP | page);
}

void apic_send_fixed(uint32_t to, uint8_t vector)
{
	command(to, ICR_ASSERT | vector);
}

void apic_fixed_command(uint32_t to, uint8_t vector, uint64_t *low, uint64_t *high)
{
	*low = ICR_ASSERT | vector;
	*high = x2apic ? to : to << 24;
}

bool controller_operand_fill(struct controller_operand *operand)
{
	*operand = (struct controller_operand){
		.x2apic = x2apic,
		.address = apic_registers + XAPIC_DIVIDER,
		.wanted = DIVIDE_BY_1,
	};
	/* Another value first, so that the loop's write can be verified. */
	if (x2apic)
		write_msr(MSR_X2APIC_DIVIDER, DIVIDE_BY_16);
	else
		mmio_write32(operand->address, DIVIDE_BY_16);
	return apic_registers != 0;
}

bool completion_operand_fill(struct completion_operand *operand)
{
	*operand = (struct completion_operand){
		.x2apic = x2apic,
		.apic = (volatile uint32_t *)apic_registers,
		.taken = &completions_taken,
	};
	apic_fixed_command(apic_id(), VECTOR_COMPLETION, &operand->icr_low, &operand->icr_high);
	return apic_registers != 0;
}

bool completion_is_active(void)
{
	uint32_t word = VECTOR_COMPLETION / 32, bit = 1u << VECTOR_COMPLETION % 32;

	if (x2apic)
		return read_msr(MSR_X2APIC_ISR + word) & bit;
	return mmio_read32(apic_registers + XAPIC_ISR + word * 16) & bit;
}

bool pending_send(void)
{
	if (apic_registers)
		apic_send_fixed(apic_id(), VECTOR_LATENCY);
	return apic_registers != 0;
}

bool pending_take(void)
{
	uint64_t before = latency_handled.count;

	/* STI takes effect behind the next instruction. */
	for (unsigned i = 0; i < MOST_LOOKS && latency_handled.count == before; i++)
		__asm__ volatile("sti; nop; cli" : : : "memory");
	return latency_handled.count != before;
}

#define MESSAGE_ADDRESS	 0xfee00000u /* SDM vol. 3A, 11.11.1: a CPU's id in bits 12 to 19 */
#define MESSAGE_ID_SHIFT 12

bool latency_interrupt_fill(struct latency_page *page)
{
	page->interrupt_address = MESSAGE_ADDRESS | apic_id() << MESSAGE_ID_SHIFT;
	page->interrupt_data = VECTOR_LATENCY;
	return apic_registers && apic_id() < 256;
}

bool self_ipi_operand_fill(struct completion_operand *operand, bool ends)
{
	bool filled = completion_operand_fill(operand);

	if (!ends)
		return filled;
	operand->taken = &latency_handled.count;
	apic_fixed_command(apic_id(), VECTOR_LATENCY, &operand->icr_low, &operand->icr_high);
	return filled;
}

bool deadline_operand_fill(struct deadline_operand *operand, uint64_t ticks)
{
	*operand = (struct deadline_operand){ .ticks = ticks, .count = &latency_handled.count };
	if (!(cpuid(1, 0).c & CPUID_1_C_DEADLINE))
		return false;
	if (x2apic)
		write_msr(MSR_X2APIC_TIMER, TIMER_DEADLINE | VECTOR_LATENCY);
	else
		mmio_write32(apic_registers + XAPIC_TIMER, TIMER_DEADLINE | VECTOR_LATENCY);
	return true;
}

bool cpu_has_tsc_adjust(void)
{
	return cpuid(0, 0).a >= 7 && cpuid(7, 0).b & CPUID_7_B_TSC_ADJUST;
}
