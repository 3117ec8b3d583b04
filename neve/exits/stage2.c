/*
 * A VM's stage 2 and VMID. A page is mapped when the guest first touches it. A VM's memory is one piece of
 * the machine's, so a page's physical address is known before it is mapped; mapping zeroes it. Persistent
 * memory (pmem=) keeps its address and contents.
 */
#include "core/arch.h"
#include "core/guest_tree.h"
#include "cpu/cpu.h"
#include "gic/gic.h"
#include "machine/machine.h"
#include "nested/nested.h"
#include "vm/vm.h"

/* Normal memory: read, write, execute. */
#define ATTRIBUTES (LEAF_MEMORY | LEAF_READ | LEAF_WRITE | LEAF_SHARED | LEAF_ACCESSED)

/* As on QEMU's `virt` machine. */
const uint64_t arch_ram_start = 0x40000000;

const char *arch_vm_init(struct vm *vm)
{
	struct arch_vm *arch = &vm->arch;

	_Static_assert(MAX_VCPUS <= VGIC_MAX_CPUS && MAX_VCPUS <= PSCI_MAX_CPUS,
		       "room for all vCPUs");
	if (!table_init(&arch->stage2, &arch->pool))
		return "there is no memory for its tables";
	if (!gic_add_rows(vm))
		return "it has too many devices";
	/* VMID 0 is unused. */
	arch->vttbr = (uint64_t)arch->stage2.root | (uint64_t)(vm->number * VMIDS_OF_VM + 1)
							    << VTTBR_VMID_SHIFT;
	arch->counter_start = READ_REGISTER(cntpct_el0);
	psci_init(&arch->psci, vm->vcpu_count);
	vgic_init(&arch->vgic, vm->vcpu_count);
	return vm->config->nest == MECHANISM_NONE ? NULL : nested_vm_init(vm);
}

static bool in_range(const struct memory_range *range, uint64_t address)
{
	return address >= range->start && address < range->end;
}

static void empty(uint64_t at, uint64_t bytes)
{
	uint64_t *word = (uint64_t *)at;

	for (uint64_t i = 0; i < bytes / 8; i += 2)
		__asm__ volatile("stp xzr, xzr, [%0]" : : "r"(word + i) : "memory");
	clean_and_drop((const void *)at, bytes); /* for a guest whose caches are off */
}

/* Maps the page or block around `ipa`, which must be in the VM's memory. */
static bool make_page(struct vm *vm, uint64_t ipa)
{
	const struct memory_range *pmem = &vm->config->pmem;
	uint64_t bytes = vm->config->stage2_bytes, start = ipa & ~(bytes - 1);
	uint64_t at = start;

	if (!in_range(pmem, ipa)) {
		at = vm->ram + (start - vm->ram_start);
		empty(at, bytes);
	} else if (start < pmem->start || start + bytes > pmem->end) {
		bytes = PAGE_BYTES;
		at = start = ipa & ~(PAGE_BYTES - 1);
	}
	if (!table_map(&vm->arch.stage2, start, at, bytes, ATTRIBUTES, bytes))
		return false;
	__asm__ volatile("dsb ishst" : : : "memory"); /* make it visible to the walkers */
	return true;
}

uint8_t *arch_guest_memory(struct vm *vm, uint64_t ipa, uint64_t *bytes)
{
	struct table_leaf leaf;

	if ((ipa < vm->ram_start || ipa - vm->ram_start >= vm->ram_bytes) &&
	    !in_range(&vm->config->pmem, ipa))
		return NULL;
	if (!table_walk(&vm->arch.stage2, ipa, &leaf) &&
	    (!make_page(vm, ipa) || !table_walk(&vm->arch.stage2, ipa, &leaf)))
		return NULL;
	*bytes = leaf.bytes - (ipa & (leaf.bytes - 1));
	return (uint8_t *)leaf.output;
}

void arch_publish(const void *from, uint64_t bytes)
{
	clean_and_drop(from, bytes);
	__asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}
