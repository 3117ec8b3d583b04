/*
 * Guest hypervisors (L1) at virtual EL2, and their nested VMs (L2; Lim et al., section 4). Both run at EL1 of
 * the hardware, one at a time. docs/neve-switch.md lists a switch between them step by step. L2 is all that runs
 * at virtual EL1, the host kernel of a split hypervisor too.
 *
 *   worlds.c        from L1 to L2 and back: which registers are saved and loaded
 *   exits.c         who answers an exception: L1 or we
 *   instructions.c  L1's hypervisor instructions that trap or call
 *   memory.c        which tables the hardware walks for L1 and L2, and TLB maintenance
 *   shadow.c        shadow stage-2 tables
 *   guest_table.c   reads L1's and L2's tables
 *   gic_switch.c    the CPU's virtual GIC interface between L1 and L2
 *   virtual_ich.c   what L1's ICH registers say
 *   timers.c        the timers of L1 and L2
 */
#ifndef NESTED_H
#define NESTED_H

#include "core/vm.h"
#include "machine/cpu.h"
#include "machine/registers.h"

/* Of an ordinary VM one; of these: virtual EL2, EL1 without stage 2, and shadows. */
#define VMIDS_OF_VM 16

/* A register of virtual EL2, or of the nested VM's EL1, that is not in the hardware. */
#define SLOT(nested, name) ((nested)->page[OFFSET_##name / 8])

static inline bool is_nested(const struct vcpu *vcpu)
{
	return vcpu->vm->config->nest != MECHANISM_NONE;
}

static inline enum mechanism mechanism(const struct vcpu *vcpu)
{
	return vcpu->vm->config->nest;
}

static inline bool is_vhe(const struct vcpu *vcpu)
{
	return vcpu->vm->config->vhe;
}

/* Is it at virtual EL2 as a host kernel is (HCR_EL2.TGE)? Then EL1's translations are its own. */
static inline bool is_host(const struct vcpu *vcpu)
{
	return is_vhe(vcpu) && SLOT(&vcpu->arch.nested, HCR_EL2) & HCR_TGE;
}

/* What a VM needs beyond an ordinary one. NULL, or what is wrong. */
const char *nested_vm_init(struct vm *vm);

/* The vCPU is at its first instruction at virtual EL2. On its own CPU. */
void nested_reset(struct vcpu *vcpu);

/* Before L2 is entered: if an interrupt for L1 is pending, L1 is entered instead. */
void nested_before_enter(struct vcpu *vcpu);

/* A synchronous exception; false: it is answered as an ordinary VM's. */
bool nested_synchronous(struct vcpu *vcpu, uint64_t esr);

/* Of what kind virtual EL2 says its CPU is. */
enum identity nested_identity(const struct vcpu *vcpu);

/* ---- Between the files ---------------------------------------------------------------------- */

/* EL1's registers that at virtual EL2 hold the one of the same name (Table 4). */
#define REDIRECTED(ROW) \
	ROW(AFSR0)      \
	ROW(AFSR1)      \
	ROW(AMAIR)      \
	ROW(ELR)        \
	ROW(ESR)        \
	ROW(FAR)        \
	ROW(SPSR)       \
	ROW(MAIR)       \
	ROW(VBAR)
/* ... if it is a VHE hypervisor: it has the same format, and is written past us. */
#define REDIRECTED_VHE(ROW) \
	ROW(SCTLR)          \
	ROW(TCR)            \
	ROW(TTBR0)          \
	ROW(TTBR1)          \
	ROW(CONTEXTIDR)

/* VMIDs of a VM, from its own on: virtual EL2, EL1 without stage 2, and the shadows. */
#define VMID_PLAIN   1
#define VMID_SHADOWS 2

/* Its hypervisor takes an exception of the nested VM; without a syndrome if it is an interrupt. */
void nested_exit_to_l1(struct vcpu *vcpu, unsigned vector, uint64_t esr, uint64_t hpfar);

/* VTTBR_EL2 for one of our own VMIDs. */
uint64_t nested_vttbr(const struct vm *vm, unsigned vmid);

/* The shadow of what the nested VM's hypervisor has in VTTBR_EL2, in use by this vCPU from then on. */
struct shadow *nested_find_shadow(struct vcpu *vcpu, uint64_t vttbr);

/* Where the hypervisor's VNCR_EL2 points, an address of virtual EL2, through its stage 1 and our stage 2. 0, or
 * the status code of the fault that its VM's access of the page is. */
unsigned nested_find_page(struct vcpu *vcpu, uint64_t address, uint64_t *page);
uint64_t nested_page_address(const struct vcpu *vcpu);

/* Its VM, a hypervisor too, gets that page as its deferred one: on entry, and when it may have moved. */
void nested_map_page(struct vcpu *vcpu);
void nested_renew_page(struct vcpu *vcpu);

/* The hypervisor's AT of stage 1: into PAR_EL1 goes what its VM's tables say, or its own if it is a host. */
void nested_translate(struct vcpu *vcpu, uint64_t address, bool write);

/* Virtual EL2's registers as the hardware has them now. */
void nested_save_l1(struct vcpu *vcpu);

/* A guest_entry (guest_table.h) of the VM that `context` is; under its lock. */
bool nested_read_entry(void *context, uint64_t ipa, uint64_t *entry);

/* The hypervisor's instruction traps: a register, or TLB maintenance (ESR_EL2 of EC 0x18). False: it is
 * answered as an ordinary VM's, or undefined. */
bool nested_register(struct vcpu *vcpu, uint64_t esr);

/* ... or it calls instead; the immediate has CALL_MARK. False: it is no such call. */
bool nested_call(struct vcpu *vcpu, unsigned immediate);

/* The hypervisor's ERET. */
void nested_eret(struct vcpu *vcpu);

/* Does virtual EL2's SPSR_EL2 have to be told apart from one of its own exceptions? */
bool nested_tracks(const struct vcpu *vcpu);

/* HCR_EL2 and the others while virtual EL2 runs. */
void nested_trap_l1(struct vcpu *vcpu);

/* What EL1 must hold for what virtual EL2's register says. */
uint64_t nested_sctlr(const struct vcpu *vcpu);
uint64_t nested_tcr(const struct vcpu *vcpu);
uint64_t nested_cpacr(const struct vcpu *vcpu);

/* A TLBI of the hypervisor's: bits of tlbi_concerns(); `value`: its operand. */
void nested_invalidate(struct vcpu *vcpu, unsigned concerns, uint64_t value);

/* Ends the VM: its hypervisor did what we do not run. */
#define nested_stop(vcpu, what, ...)                                           \
	vm_end((vcpu)->vm, "error", "vCPU %u at 0x%lx: " what, (vcpu)->number, \
	       (vcpu)->arch.context.pc, __VA_ARGS__)

#endif
