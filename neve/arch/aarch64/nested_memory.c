/* A guest hypervisor's memory and its nested VM's: which tables the hardware walks, and what TLB maintenance of
 * the hypervisor concerns; see nested.h. Called by nested.c, nested_exits.c and nested_registers.c. */
#include "nested.h"

#include "accessors.h"
#include "arch.h"

#define VTTBR_KEPT (~1ull) /* CnP says nothing of whose it is */

uint64_t nested_vttbr(const struct vm *vm, unsigned vmid)
{
	return vm->arch.vttbr + ((uint64_t)vmid << VTTBR_VMID_SHIFT);
}

struct shadow *nested_find_shadow(struct vcpu *vcpu, uint64_t vttbr)
{
	const struct shadow *in_use[MAX_VCPUS];
	struct vm *vm = vcpu->vm;
	struct shadow *shadow;

	lock_take(&vm->lock);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		in_use[i] = &vm->vcpus[i] == vcpu ? NULL : vm->vcpus[i].arch.nested.shadow;
	shadow = shadow_find(&vm->arch.shadows, vttbr & VTTBR_KEPT,
			     SLOT(&vcpu->arch.nested, VTCR_EL2), in_use, vm->vcpu_count);
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
			shadow_drop(shadow, (value & 0xfffffffffull) << 12);
		else if (concerns & TLBI_STAGE1)
			shadow_flush(shadow->hardware);
	}
	lock_release(&vm->lock);
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
