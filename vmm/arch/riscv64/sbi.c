/* Calls of the SBI (RISC-V SBI specification 2.0) that KVM passes on to user space: those of consoles, and of
 * the extensions that are free for experiments and for vendors. KVM answers the rest itself. */
#include <arch/kvm.h>

#include "common/record.h"
#include "common/sbi_call.h"

#define LEGACY_PUTCHAR 0x01
#define LEGACY_GETCHAR 0x02
#define CONSOLE	       0x4442434e /* "DBCN" */

enum { CONSOLE_WRITE, CONSOLE_READ, CONSOLE_WRITE_BYTE };

#define SUCCESS	      0
#define FAILED	      (-1)
#define NOT_SUPPORTED (-2)
#define INVALID	      (-3)

/* Writes the text's beginning, at most as long as a record, so that a guest can't keep its vCPU's thread for long: the
 * call returns how many bytes were written (DBCN). */
static long write_text(struct vm *vm, uint64_t at, uint64_t bytes, unsigned long *written)
{
	const uint8_t *text = memory_at(&vm->memory, at, bytes);

	if (!text && bytes)
		return INVALID;
	*written = bytes < MAX_RECORD_BYTES ? bytes : MAX_RECORD_BYTES;
	for (uint64_t i = 0; i < *written; i++)
		vm_console(vm, text[i]);
	return SUCCESS;
}

/* The address's upper half is in args[2], for RV32: there is no memory so high. */
static long console(struct vm *vm, unsigned long function, const unsigned long *args,
		    unsigned long *value)
{
	long error = args[2] && function != CONSOLE_WRITE_BYTE ? INVALID : SUCCESS;

	switch (function) {
	case CONSOLE_WRITE:
		if (!error)
			error = write_text(vm, args[1], args[0], value);
		return error;
	case CONSOLE_READ: /* nothing is received */
		return error;
	case CONSOLE_WRITE_BYTE:
		vm_console(vm, (uint8_t)args[0]);
		return SUCCESS;
	default:
		return NOT_SUPPORTED;
	}
}

void sbi_exit(struct vcpu *vcpu)
{
	unsigned long function = vcpu->run->riscv_sbi.function_id, value = 0;
	const unsigned long *args = vcpu->run->riscv_sbi.args;
	long error = NOT_SUPPORTED;

	switch (vcpu->run->riscv_sbi.extension_id) {
	case SBI_VMM:
		if (function == SBI_VMM_ADD_1) {
			error = SUCCESS;
			value = args[0] + 1;
		}
		break;
	case CONSOLE:
		error = console(vcpu->vm, function, args, &value);
		break;
	case LEGACY_PUTCHAR:
		vm_console(vcpu->vm, (uint8_t)args[0]);
		error = SUCCESS;
		value = args[1]; /* legacy calls change a0 only */
		break;
	case LEGACY_GETCHAR:
		error = FAILED;
		value = args[1];
		break;
	}
	vcpu->run->riscv_sbi.ret[0] = (unsigned long)error;
	vcpu->run->riscv_sbi.ret[1] = value;
}
