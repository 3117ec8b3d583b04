/*
 * Guest hypervisors (L1) at virtual EL2, and their nested VMs (L2; Lim et al., section 4). Both run at the
 * hardware's EL1, one at a time. docs/neve-switch.md lists a switch between them step by step. L2 is
 * everything that runs at virtual EL1, including the host kernel of a split hypervisor.
 *
 *   worlds.c        switches between L1 and L2: which registers are saved and loaded
 *   exits.c         decides whether L1 or we handle an exception
 *   instructions.c  emulates L1's hypervisor instructions that trap or call
 *   memory.c        which tables the hardware walks for L1 and L2, and TLB maintenance
 *   gic_switch.c    switches the CPU's virtual GIC interface between L1 and L2
 *   virtual_ich.c   L1's ICH registers
 *   timers.c        the timers of L1 and L2
 *   pauth.c         signed addresses of L1's exception returns
 */
#ifndef NESTED_H
#define NESTED_H

#include "cpu/cpu.h"
#include "cpu/registers.h"
#include "vm/vm.h"

/* VMIDs of a VM. An ordinary VM uses only the first; a guest hypervisor one for virtual EL2, one for EL1
 * without stage 2, and one for each shadow. */
#define VMIDS_OF_VM 16

/* A register of virtual EL2, or of the nested VM's EL1, in the page. */
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

/* Is virtual EL2 a host now (HCR_EL2.TGE)? Then it uses EL1's translations itself. */
static inline bool is_host(const struct vcpu *vcpu)
{
	return is_vhe(vcpu) && SLOT(&vcpu->arch.nested, HCR_EL2) & HCR_TGE;
}

/* Sets up what a guest hypervisor needs in addition to an ordinary VM. Returns NULL or an error message. */
const char *nested_vm_init(struct vm *vm);

/* Resets the vCPU to virtual EL2. Runs on its own CPU. */
void nested_reset(struct vcpu *vcpu);

/* Before L2 is entered: if an interrupt for L1 is pending, L1 is entered instead. */
void nested_before_enter(struct vcpu *vcpu);

/* Handles a synchronous exception. Returns false if it is to be handled like an ordinary VM's. */
bool nested_synchronous(struct vcpu *vcpu, uint64_t esr);

/* Which CPU the vCPU's identification registers show. */
enum identity nested_identity(const struct vcpu *vcpu);

/* ---- Between the files ---------------------------------------------------------------------- */

/* EL1 registers that hold virtual EL2's register of the same name (Table 4). */
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
/* ... only of a VHE hypervisor: the format is the same, and it writes them without a trap. */
#define REDIRECTED_VHE(ROW) \
	ROW(SCTLR)          \
	ROW(TCR)            \
	ROW(TTBR0)          \
	ROW(TTBR1)          \
	ROW(CONTEXTIDR)

/* VMIDs relative to the VM's first one (virtual EL2's): EL1 without stage 2, and the shadows. */
#define VMID_PLAIN   1
#define VMID_SHADOWS 2

/* Delivers an exception of L2 to L1. An interrupt has no syndrome. */
void nested_exit_to_l1(struct vcpu *vcpu, unsigned vector, uint64_t esr, uint64_t hpfar);

/* VTTBR_EL2 of our own stage 2 with one of the VM's VMIDs. */
uint64_t nested_vttbr(const struct vm *vm, unsigned vmid);

/* Finds the shadow of L1's VTTBR_EL2. It is in use by this vCPU from then on. */
struct shadow *nested_find_shadow(struct vcpu *vcpu, uint64_t vttbr);

/* Translates L1's VNCR_EL2, an address of virtual EL2, by L1's stage 1 and our stage 2. Returns false if there
 * is no page: `*status` is the code of the fault that L2 gets when it accesses the page. */
bool nested_find_page(struct vcpu *vcpu, uint64_t address, uint64_t *page, unsigned *status);
uint64_t nested_page_address(const struct vcpu *vcpu);

/* Gives that page to L2, a hypervisor too, as its deferred page: on entry, and when the page may have
 * moved. */
void nested_map_page(struct vcpu *vcpu);
void nested_renew_page(struct vcpu *vcpu);

/* Translates an address of L2, which runs, by its stage 1. Returns false if that faults. */
bool nested_walk_vm(struct vcpu *vcpu, uint64_t address, uint64_t *ipa);

/* L1's AT: puts into PAR_EL1 what the tables say: those of EL2; of L2's EL1, or of EL2 if that is a host; these
 * and L2's stage 2. */
enum at_stages { AT_EL2, AT_STAGE_1, AT_STAGES_1_2 };
void nested_translate(struct vcpu *vcpu, enum at_stages stages, uint64_t address, bool write);

/* Saves those of virtual EL2's registers that are in the hardware. */
void nested_save_l1(struct vcpu *vcpu);

/* A guest_entry (guest_table.h); `context` is the VM. The caller holds its lock. */
bool nested_read_entry(void *context, uint64_t ipa, uint64_t *entry);

/* Emulates a trapped instruction of L1: a register access, TLB maintenance or AT (ESR_EL2 of EC 0x18).
 * Returns false if it is to be handled like an ordinary VM's. */
bool nested_register(struct vcpu *vcpu, uint64_t esr);

/* ... the same for an HVC whose immediate has CALL_MARK. Returns false if it is no such call. */
bool nested_call(struct vcpu *vcpu, unsigned immediate);

/* The address in one that L1 signed, by L1's translation regime, which is in the hardware. With a wrong signature it is an
 * address that L1 can't fetch from. */
uint64_t nested_authenticate(const struct vcpu *vcpu, uint64_t from, bool key_b);

/* L1's ERET, ERETAA or ERETAB, by the syndrome of EC_ERET. */
void nested_eret(struct vcpu *vcpu, uint64_t esr);

/* Must we track the last writes to SPSR_EL2, to detect an exception that virtual EL2 took from itself? */
bool nested_tracks(const struct vcpu *vcpu);

/* Sets the traps for virtual EL2. */
void nested_trap_l1(struct vcpu *vcpu);

/* Virtual EL2's registers, converted to the format of EL1's. */
uint64_t nested_sctlr(const struct vcpu *vcpu);
uint64_t nested_tcr(const struct vcpu *vcpu);
uint64_t nested_cpacr(const struct vcpu *vcpu);
/* Sets the hardware's MDSCR_EL1 while L1 runs. */
void nested_set_mdscr(struct vcpu *vcpu);

/* L1's TLBI. `concerns`: bits of tlbi_concerns(); `value`: its operand. */
void nested_invalidate(struct vcpu *vcpu, unsigned concerns, uint64_t value);

/* Ends the VM, because its hypervisor did something that is invalid or not supported. */
#define nested_stop(vcpu, what, ...)                                           \
	vm_end((vcpu)->vm, "error", "vCPU %u at 0x%lx: " what, (vcpu)->number, \
	       (vcpu)->arch.context.pc, __VA_ARGS__)

#endif
