/*
 * Interrupts: those between CPUs and of the timer, which SBI and the CPU itself give, and those of devices as
 * messages to the CPU's IMSIC (RISC-V Advanced Interrupt Architecture 1.0).
 */
#include "guest/core/guest_arch.h"
#include <arch/cpu.h>
#include "guest/arch/riscv64/machine.h"
#include "latency.h"
#include "guest/core/smp.h"
#include <arch/timed_exits.h>

/* Registers behind siselect (AIA, 3.8). */
#define IMSIC_DELIVERY	0x70
#define IMSIC_THRESHOLD 0x72
#define IMSIC_ENABLED	0xc0

#define PLIC_FIRST_PRIORITY 4 /* of source 1 (PLIC specification 1.0, memory map) */

/* Never comes. */
#define NO_DEADLINE UINT64_MAX

const char *controller_name(void)
{
	if (machine_harts()->imsic)
		return "aia";
	return machine_harts()->plic ? "plic" : "none";
}

static void write_imsic(uint64_t number, uint64_t value)
{
	WRITE_CSR(CSR_SISELECT, number);
	WRITE_CSR(CSR_SIREG, value);
}

void interrupts_enable(void)
{
	SET_CSR(sie, SIE_SOFTWARE);
	if (!machine_harts()->imsic)
		return;
	write_imsic(IMSIC_ENABLED, 1ull << IMSIC_LATENCY);
	write_imsic(IMSIC_THRESHOLD, 0);
	write_imsic(IMSIC_DELIVERY, 1);
	SET_CSR(sie, SIE_EXTERNAL);
}

bool ipi_operand_fill(struct ipi_operand *operand, unsigned cpu, bool yield)
{
	if (!cpu || cpu >= cpus_online())
		return false;
	*operand = (struct ipi_operand){
		.hart = cpus[cpu].id,
		.received = &ipi_received,
		.ready = &cpus[cpu].ready,
		.yield = yield,
		.settle_passes = 64,
	};
	return true;
}

bool controller_operand_fill(struct controller_operand *operand)
{
	const struct harts *harts = machine_harts();
	uint64_t address = harts->aplic	 ? harts->aplic
			   : harts->plic ? harts->plic + PLIC_FIRST_PRIORITY
					 : 0;

	if (!address)
		return false;
	*operand = (struct controller_operand){ .address = address };
	operand->wanted = mmio_read32(address);
	return true;
}

/* The interrupt between CPUs, which a CPU may also make pending for itself. */
bool pending_send(void)
{
	SET_CSR(sip, SIE_SOFTWARE);
	return true;
}

bool pending_take(void)
{
	bool is_pending = READ_CSR(sip) & SIE_SOFTWARE;

	CLEAR_CSR(sip, SIE_SOFTWARE);
	return is_pending;
}

bool latency_interrupt_fill(struct latency_page *page)
{
	const struct harts *harts = machine_harts();

	for (unsigned i = 0; harts->imsic && i < harts->count; i++)
		if (harts->ids[i] == cpus[0].id) {
			page->interrupt_address =
				harts->imsic + harts->pages[i] * harts->imsic_stride;
			page->interrupt_data = IMSIC_LATENCY;
			return true;
		}
	return false;
}

const char *timer_operand_fill(struct timer_operand *operand)
{
	*operand = (struct timer_operand){
		.ticks = arch_long_ticks() / 100,
		.handled = &latency_handled,
		.sstc = machine_harts()->has_sstc,
	};
	return NULL;
}

void timer_stop(void)
{
	CLEAR_CSR(sie, SIE_TIMER);
	sbi_call(SBI_TIMER, SBI_TIMER_SET, NO_DEADLINE, 0, 0);
}

struct hypercall_operand set_timer_operand(void)
{
	return (struct hypercall_operand){
		.extension = SBI_TIMER,
		.function = SBI_TIMER_SET,
		.first = NO_DEADLINE,
	};
}

bool remote_fence_operand_fill(struct hypercall_operand *operand, unsigned cpu)
{
	if (!cpu || cpu >= cpus_online())
		return false;
	*operand = (struct hypercall_operand){
		.extension = SBI_RFENCE,
		.function = SBI_RFENCE_SFENCE,
		.first = 1, /* of the harts from the second argument on: the first */
		.second = cpus[cpu].id,
		.third = window_base(),
		.fourth = 4 * KIB,
	};
	return true;
}
