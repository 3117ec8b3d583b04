/* Prepares a CPU for guests, and resets a vCPU. */
#include "core/arch.h"
#include "cpu/accessors.h"
#include "exits/sysreg.h"
#include "gic/gic.h"
#include "kvm410/kvm410.h"
#include "nested/nested.h"
#include "vm/vcpu.h"

/* 4 KiB, walks write-back and inner shareable. */
#define FROM_LEVEL_1 (1ull << VTCR_SL0_SHIFT)
#define VTCR_GUEST                                                                              \
	((64 - TABLE_INPUT_BITS) | FROM_LEVEL_1 | TCR_IRGN0_WB | TCR_ORGN0_WB | TCR_SH0_INNER | \
	 VTCR_RES1)

static uint64_t id_field(uint64_t value, unsigned bit)
{
	return value >> bit & 15;
}

/* ---- This CPU ------------------------------------------------------------------------------- */

/* Switches off extensions that no VM may use, whose registers are unknown at reset. VSESR_EL2 is the
 * syndrome of a virtual SError. */
static void switch_off_extensions(void)
{
	if (id_field(READ_REGISTER(id_aa64pfr0_el1), PFR0_RAS))
		WRITE_REGISTER(VSESR_EL2, 0);
	if (id_field(READ_REGISTER(id_aa64mmfr1_el1), MMFR1_HCX))
		WRITE_REGISTER(HCRX_EL2, 0);
	if (id_field(READ_REGISTER(id_aa64mmfr0_el1), MMFR0_FGT)) {
		WRITE_REGISTER(HFGRTR_EL2, 0);
		WRITE_REGISTER(HFGWTR_EL2, 0);
		WRITE_REGISTER(HFGITR_EL2, 0);
		WRITE_REGISTER(HDFGRTR_EL2, 0);
		WRITE_REGISTER(HDFGWTR_EL2, 0);
	}
}

/* A deferred page for each CPU. In an image without PARAVIRT=neve, space for lab patch. */
static uint8_t deferred_pages[MAX_CPUS][PAGE_BYTES]
	__attribute__((aligned(4096), used, section(".bss.deferred")));

/* Gives the hypervisor below the address of this CPU's deferred page. */
static void share_page(const struct cpu *cpu)
{
#if PARAVIRT == PARAVIRT_neve
	CALL_WRITE_(REG_VNCR_EL2, (uint64_t)deferred_pages[cpu->number]);
	WRITE_REGISTER(ttbr1_el1, deferred_pages[cpu->number]);
#else
	(void)cpu;
#endif
}

const char *arch_cpu_init(struct cpu *cpu)
{
	uint64_t bits = id_field(READ_REGISTER(id_aa64mmfr0_el1), MMFR0_PARANGE);

	share_page(cpu);
	switch_off_extensions();
	WRITE(HCR_EL2, HCR_GUEST);
	WRITE(VTCR_EL2, VTCR_GUEST | (bits > PARANGE_48 ? PARANGE_48 : bits) << TCR_EL2_PS_SHIFT);
	WRITE(CPTR_EL2, CPTR_GUEST);
	WRITE(HSTR_EL2, 0);
	WRITE(MDCR_EL2, (READ(MDCR_EL2) & MDCR_HPMN) | MDCR_GUEST);
	WRITE(CNTHCTL_EL2, CNTHCTL_GUEST);
	WRITE(VPIDR_EL2, READ_REGISTER(midr_el1));
	instruction_barrier();
	return gic_cpu_init(cpu);
}

/* ---- The vCPU ------------------------------------------------------------------------------- */

void arch_vcpu_boot(struct vcpu *vcpu, uint64_t entry, uint64_t x0)
{
	vcpu->arch.start_entry = entry;
	vcpu->arch.start_context = x0;
	vcpu->must_reset = true;
}

void arch_vcpu_reset(struct vcpu *vcpu)
{
	sysreg_reset();
	WRITE(VMPIDR_EL2, vcpu_id(vcpu));
	WRITE(VTTBR_EL2, vcpu->vm->arch.vttbr);
	WRITE(CNTVOFF_EL2, vcpu->vm->arch.counter_start);
	gic_reset(vcpu);
	vcpu->arch.context = (struct context){ .x = { vcpu->arch.start_context },
					       .pc = vcpu->arch.start_entry,
					       .pstate = PSTATE_EL1H | PSTATE_DAIF };
	if (is_nested(vcpu))
		nested_reset(vcpu);
	if (is_kvm410(vcpu))
		kvm410_reset(vcpu);
	instruction_barrier();
}
