/* Handling of exits that ordinary VMs and guest hypervisors share (vcpu.c). */
#ifndef ARCH_VCPU_H
#define ARCH_VCPU_H

#include "cpu/cpu.h"
#include "vm/vm.h"

#define HCR_GUEST                                                                           \
	(HCR_VM | HCR_SWIO | HCR_FMO | HCR_IMO | HCR_AMO | HCR_TID3 | HCR_TSC | HCR_TIDCP | \
	 HCR_TACR | HCR_RW | HCR_TLOR | HCR_TERR | HCR_APK | HCR_API | (VHE ? HCR_E2H : 0))
#define MDCR_GUEST (MDCR_TPM | MDCR_TPMCR | MDCR_TPMS | MDCR_TTRF)

/* Runs the guest until its next exit, and returns LEFT_... (switch.S). PC and PSTATE are in ELR_EL2 and
 * SPSR_EL2. */
unsigned context_enter(struct context *context);

/* MPIDR_EL1 as its guest sees it. */
static inline uint64_t vcpu_id(const struct vcpu *vcpu)
{
	return MPIDR_RES1 | vcpu->number;
}

/* The guest-physical address of an abort. */
static inline uint64_t exit_ipa(const struct exit *exit)
{
	return (exit->hpfar & HPFAR_FIPA) << HPFAR_UP | (exit->far & (PAGE_BYTES - 1));
}

/* Reads the syndrome of an exit. */
void vcpu_see_exit(struct vcpu *vcpu);

static inline bool is_kvm410(const struct vcpu *vcpu)
{
	return vcpu->vm->config->policy != POLICY_LEAN;
}

/* Emulates a device access at `ipa`. Returns false if there is no device, or the syndrome does not
 * describe the access. */
bool vcpu_device_access(struct vcpu *vcpu, uint64_t esr, uint64_t ipa);

/* Inject an exception into what runs at EL1 now. */
void vcpu_inject(struct vcpu *vcpu, uint64_t esr);
void vcpu_external_abort(struct vcpu *vcpu, uint64_t esr);

/* Counts an access to a trapped register. */
void vcpu_count_register(struct vcpu *vcpu, uint64_t esr);

#endif
