/* Memory of a guest hypervisor and its nested VM: which tables the hardware walks, and the hypervisor's
 * TLB maintenance; see nested.h. */
#include "nested/nested.h"

#include "common/relax.h"
#include "core/arch.h"
#include "cpu/accessors.h"
#include "vm/vcpu.h"

#define PAGE_NOWHERE ((1ull << STAGE1_INPUT_BITS) - PAGE_BYTES) /* we never map anything there */
#define TAG_BITS     8
#define TLBI_IPA     0xfffffffffull /* in a TLBI's operand: the address from bit 12 on */
#define TLBI_IPA_UP  12

uint64_t nested_vttbr(const struct vm *vm, unsigned vmid)
{
	return vm->arch.vttbr + ((uint64_t)vmid << VTTBR_VMID_SHIFT);
}

struct shadow *nested_find_shadow(struct vcpu *vcpu, uint64_t vttbr)
{
	struct vm *vm = vcpu->vm;
	struct shadow *shadow;
	uint32_t in_use = 0;

	lock_take(&vm->lock);
	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		shadow = vm->vcpus[i].arch.nested.shadow;
		in_use |= shadow ? 1u << (shadow - vm->arch.shadows.all) : 0;
	}
	shadow = shadow_find(&vm->arch.shadows, vttbr & ~VTTBR_CNP,
			     SLOT(&vcpu->arch.nested, VTCR_EL2), in_use);
	vcpu->arch.nested.shadow = shadow; /* before another vCPU looks for an unused one */
	lock_release(&vm->lock);
	return shadow;
}

void shadow_flush(uint64_t vttbr)
{
	uint64_t now = READ(VTTBR_EL2);

	data_barrier();
	WRITE(VTTBR_EL2, vttbr);
	instruction_barrier();
	TLBI(TLBI_VMALLS12E1IS);
	data_barrier();
	WRITE(VTTBR_EL2, now);
	instruction_barrier();
}

static bool same_vmid(uint64_t one, uint64_t other)
{
	return one >> VTTBR_VMID_SHIFT == other >> VTTBR_VMID_SHIFT;
}

/* On return no other CPU's nested VM uses a deferred page that was looked up before. Two vCPUs that wait
 * here for each other clear their own page_stale: neither runs a nested VM. */
static void drop_pages(struct vcpu *self)
{
	struct vm *vm = self->vm;

	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *other = &vm->vcpus[i];

		if (other == self ||
		    !__atomic_load_n(&other->arch.nested.lends_page, __ATOMIC_SEQ_CST))
			continue;
		other->arch.nested.page_stale = true;
		arch_kick(other->cpu);
		while (other->arch.nested.page_stale && other->powered && vm->state == VM_RUNS) {
			self->arch.nested.page_stale = false;
			relax();
		}
	}
}

void nested_invalidate(struct vcpu *vcpu, unsigned concerns, uint64_t value)
{
	struct vm *vm = vcpu->vm;
	uint64_t vttbr = SLOT(&vcpu->arch.nested, VTTBR_EL2);
	bool all = concerns & TLBI_ALL;

	lock_take(&vm->lock);
	if (concerns & TLBI_EL2)
		shadow_flush(nested_vttbr(vm, 0));
	if (concerns & (TLBI_STAGE1 | TLBI_ALL))
		shadow_flush(nested_vttbr(vm, VMID_PLAIN));
	for (unsigned i = 0; i < SHADOWS; i++) {
		struct shadow *shadow = &vm->arch.shadows.all[i];

		if (!shadow->vttbr || !(all || same_vmid(shadow->vttbr, vttbr)))
			continue;
		if (concerns & (TLBI_STAGE2 | TLBI_ALL))
			shadow_clear(shadow);
		else if (concerns & TLBI_ADDRESS)
			shadow_drop(shadow, (value & TLBI_IPA) << TLBI_IPA_UP);
		else if (concerns & TLBI_STAGE1)
			shadow_flush(shadow->hardware);
	}
	lock_release(&vm->lock);
	if (concerns & TLBI_EL2)
		drop_pages(vcpu);
}

bool nested_read_entry(void *context, uint64_t ipa, uint64_t *entry)
{
	uint64_t bytes;
	const uint8_t *at = arch_guest_memory(context, ipa, &bytes);

	if (!at)
		return false;
	*entry = __atomic_load_n((const uint64_t *)at, __ATOMIC_RELAXED);
	return true;
}

/* ---- Walks of what the hardware would walk --------------------------------------------------- */

/* Translates an address by the nested VM's stage 2, if it has one. */
static struct guest_leaf walk_stage2(struct vcpu *vcpu, uint64_t ipa, enum guest_access access)
{
	const struct nested *nested = &vcpu->arch.nested;

	if (!(SLOT(nested, HCR_EL2) & HCR_VM))
		return (struct guest_leaf){ .output = ipa };
	return guest_walk(SLOT(nested, VTTBR_EL2), SLOT(nested, VTCR_EL2), ipa, access,
			  nested_read_entry, vcpu->vm);
}

/* Reads an entry of the nested VM's stage-1 tables. `context` is the vCPU. */
static bool read_vms_entry(void *context, uint64_t ipa, uint64_t *entry)
{
	struct vcpu *vcpu = context;
	struct guest_leaf leaf = walk_stage2(vcpu, ipa, GUEST_READS);

	return !leaf.faults && nested_read_entry(vcpu->vm, leaf.output, entry);
}

/* Registers of stage 1. */
struct stage1 {
	uint64_t sctlr, tcr, ttbr[2];
};

static uint64_t untag(uint64_t address)
{
	return (uint64_t)((int64_t)(address << TAG_BITS) >> TAG_BITS);
}

/* Walks the tables of virtual EL2 (`own`) or of L2's EL1. The caller holds the VM's lock. */
static struct guest_leaf walk_stage1(struct vcpu *vcpu, const struct stage1 *by, bool own,
				     uint64_t address, enum guest_access access)
{
	if (!(by->sctlr & SCTLR_M))
		return (struct guest_leaf){ .output = address };
	if (own)
		return guest_walk_stage1(by->ttbr, by->tcr, address, access, nested_read_entry,
					 vcpu->vm);
	return guest_walk_stage1(by->ttbr, by->tcr, address, access, read_vms_entry, vcpu);
}

/* The registers of virtual EL2 (`own`) or of L2's EL1, while neither is in the hardware. */
static struct stage1 saved_stage1(const struct vcpu *vcpu, bool own)
{
	const struct nested *nested = &vcpu->arch.nested;

	if (own)
		return (struct stage1){ SLOT(nested, SCTLR_EL2),
					nested_tcr(vcpu),
					{ SLOT(nested, TTBR0_EL2), SLOT(nested, TTBR1_EL2) } };
	return (struct stage1){ SLOT(nested, SCTLR_EL1),
				SLOT(nested, TCR_EL1),
				{ SLOT(nested, TTBR0_EL1), SLOT(nested, TTBR1_EL1) } };
}

bool nested_walk_vm(struct vcpu *vcpu, uint64_t address, uint64_t *ipa)
{
	const struct stage1 by = { READ(SCTLR_EL1),
				   READ(TCR_EL1),
				   { READ(TTBR0_EL1), READ(TTBR1_EL1) } };
	struct guest_leaf leaf;

	lock_take(&vcpu->vm->lock);
	leaf = walk_stage1(vcpu, &by, false, untag(address), GUEST_READS);
	lock_release(&vcpu->vm->lock);
	*ipa = leaf.output;
	return !leaf.faults;
}

void nested_translate(struct vcpu *vcpu, enum at_stages stages, uint64_t address, bool write)
{
	enum guest_access access = write ? GUEST_WRITES : GUEST_READS;
	bool own = stages == AT_EL2 || is_host(vcpu), stage2 = false;
	struct guest_leaf leaf;
	struct stage1 by;

	vcpu_count(vcpu, CAUSE_AT);
	nested_save_l1(vcpu);
	by = saved_stage1(vcpu, own);
	lock_take(&vcpu->vm->lock);
	leaf = walk_stage1(vcpu, &by, own, untag(address), access);
	if (stages == AT_STAGES_1_2 && !own && !leaf.faults) {
		leaf = walk_stage2(vcpu, leaf.output, access);
		stage2 = leaf.faults;
	}
	lock_release(&vcpu->vm->lock);
	WRITE(PAR_EL1, PAR_RES1 | (leaf.faults ? (uint64_t)leaf.status << PAR_FST | PAR_F |
							 (stage2 ? PAR_S : 0)
					       : leaf.output & ~(PAGE_BYTES - 1)));
}

/* ---- The deferred page of L2, if L2 is a hypervisor too -------------------------------------- */

uint64_t nested_page_address(const struct vcpu *vcpu)
{
	uint64_t value = SLOT(&vcpu->arch.nested, VNCR_EL2) & VNCR_BADDR;

	return value >> VNCR_SIGN_SHIFT & 1 ? value | ~0ull << VNCR_SIGN_SHIFT : value;
}

bool nested_find_page(struct vcpu *vcpu, uint64_t address, uint64_t *page, unsigned *status)
{
	const struct stage1 by = saved_stage1(vcpu, true);
	struct guest_leaf leaf;
	uint64_t bytes;

	lock_take(&vcpu->vm->lock);
	leaf = walk_stage1(vcpu, &by, true, address, GUEST_WRITES);
	*page = leaf.faults ? 0 : (uint64_t)arch_guest_memory(vcpu->vm, leaf.output, &bytes);
	lock_release(&vcpu->vm->lock);
	*status = leaf.faults ? leaf.status : STATUS_EXTERNAL;
	return *page;
}

/* At EL2 all memory is mapped 1:1, so the hardware's VNCR_EL2 gets the physical address. A missing page
 * faults when it is used. */
void nested_map_page(struct vcpu *vcpu)
{
	uint64_t page;
	unsigned status;

	__atomic_store_n(&vcpu->arch.nested.lends_page, true, __ATOMIC_SEQ_CST);
	if (!nested_find_page(vcpu, nested_page_address(vcpu), &page, &status))
		page = PAGE_NOWHERE;
	WRITE(VNCR_EL2, page);
}

void nested_renew_page(struct vcpu *vcpu)
{
	if (vcpu->arch.nested.lends_page)
		nested_map_page(vcpu);
	vcpu->arch.nested.page_stale = false;
}
