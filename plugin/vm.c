/* Levels and VMCBs; see vm.h. */
#include "vm.h"

#include <string.h>

#include "trace.h"

#define VMCB_BYTES 4096u

static bool is(const struct insn *insn, const char *bytes, uint8_t size)
{
	return insn->size == size && memcmp(insn->bytes, bytes, size) == 0;
}

enum operand vm_operand(const struct insn *insn)
{
	struct insn bare = *insn;

	if (insn->is_vmrun)
		return OPERAND_RAX;
	/* Linux pads a WRMSR that it may replace. */
	if (bare.size > 2 && bare.bytes[0] == 0x3e)
		memmove(bare.bytes, bare.bytes + 1, --bare.size);
	if (is(&bare, "\x0f\x32", 2) || is(&bare, "\x0f\x30", 2) || is(&bare, "\x0f\x01\xd0", 3) ||
	    is(&bare, "\x0f\x01\xd1", 3))
		return OPERAND_RCX;
	return OPERAND_NONE;
}

bool vm_is_switch(const struct insn *insn)
{
	return insn->is_vmrun || is(insn, "\x0f\x01\xda", 3) || is(insn, "\x0f\x01\xdb", 3);
}

/* Is it the instruction behind the VMRUN that entered the VM? The VM may have other code at that address. */
static bool is_landing(const struct insn *vmrun, const struct insn *insn)
{
	return insn->address == vmrun->address + vmrun->size &&
	       insn->location == vmrun->location + vmrun->size;
}

void vm_leave(struct vm *vm, const struct insn *insn)
{
	if (vm->level == 1 && vm->vmrun && is_landing(vm->vmrun, insn))
		vm->level = 0;
}

void vm_enter(struct vm *vm, const struct insn *insn)
{
	if (insn->is_vmrun && vm->level == 0) {
		vm->vmrun = insn;
		vm->level = 1;
	}
}

bool vm_run(struct vm *vm, uint64_t vmcb)
{
	for (uint32_t i = 0; i < vm->vmcb_count; i++)
		if (vm->vmcbs[i] == vmcb)
			return true;
	if (vm->vmcb_count == MAX_VMCBS)
		return false;
	vm->vmcbs[vm->vmcb_count++] = vmcb;
	return true;
}

int vm_field(const struct vm *vm, uint64_t physical)
{
	uint64_t page = physical & ~(uint64_t)(VMCB_BYTES - 1);

	if (vm->level != 0)
		return -1;
	for (uint32_t i = 0; i < vm->vmcb_count; i++)
		if (vm->vmcbs[i] == page)
			return (int)(physical & (VMCB_BYTES - 1));
	return -1;
}
