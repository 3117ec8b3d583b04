/* Emulates system registers by their class, and resets them; see sysreg.h. Called by vcpu.c. */
#include "sysreg.h"

#include "accessors.h"
#include "gic.h"
#include "nested.h"
#include "registers.h"
#include "vcpu.h"

#define ISS_READ 1
#define ISS_RT	 5 /* five bits */
#define XZR	 31

_Static_assert(CAUSE_REGISTERS + 2 * (REGISTER_COUNT + 1) <= MAX_CAUSES,
	       "a cause for each register");

const char *arch_register_name(unsigned number)
{
	return number < REGISTER_COUNT ? register_rows[number].name : "another_register";
}

/* By its encoding: a register that the assembler does not know may be there all the same. */
#define ENCODED(op0, op1, n, m, op2) s##op0##_##op1##_c##n##_c##m##_##op2

static uint64_t read_own(enum register_number number)
{
	switch (number) {
#define ROW(name, op0, op1, n, m, op2, class, ...) \
	case REG_##name:                           \
		return READ_##class(op0, op1, n, m, op2);
#define READ_IDENTITY(...)   READ_REGISTER(ENCODED(__VA_ARGS__))
#define READ_ZERO(...)	     0
#define READ_SGI(...)	     0
#define READ_CONTEXT(...)    0
#define READ_HYPERVISOR(...) 0
		REGISTERS(ROW)
#undef ROW
	default:
		return 0;
	}
}

void sysreg_reset(void)
{
#define ROW(name, op0, op1, n, m, op2, class, mask, ...) RESET_##class(name, mask);
#define RESET_IDENTITY(...)
#define RESET_ZERO(...)
#define RESET_SGI(...)
#define RESET_HYPERVISOR(...)
#define RESET_CONTEXT(name, mask) WRITE(name, mask)
	REGISTERS(ROW)
#undef ROW
	instruction_barrier();
}

static bool read_register(const struct vcpu *vcpu, enum register_number number, uint32_t encoding,
			  uint64_t *value)
{
	if (number == REG_NONE) {
		*value = 0;
		return register_identifies(encoding);
	}
	switch (register_rows[number].class) {
	case CLASS_IDENTITY:
		*value = register_identity(number, read_own(number), nested_identity(vcpu),
					   vcpu->vm->config->vhe);
		return true;
	case CLASS_ZERO:
		*value = 0;
		return true;
	default:
		return false;
	}
}

static bool write_register(struct vcpu *vcpu, enum register_number number, uint64_t value)
{
	if (number == REG_NONE)
		return false;
	if (register_rows[number].class == CLASS_SGI)
		gic_send_sgi(vcpu, value, register_rows[number].mask);
	return register_rows[number].class == CLASS_SGI ||
	       register_rows[number].class == CLASS_ZERO;
}

void vcpu_count_register(struct vcpu *vcpu, uint64_t esr)
{
	unsigned number = (unsigned)register_find((uint32_t)esr & ENCODING_MASK);

	vcpu_count(vcpu, CAUSE_REGISTERS + 2 * number + !(esr & ISS_READ));
}

bool sysreg_access(struct vcpu *vcpu, uint64_t esr)
{
	uint32_t encoding = (uint32_t)esr & ENCODING_MASK;
	enum register_number number = register_find(encoding);
	unsigned rt = esr >> ISS_RT & 31;
	uint64_t *x = vcpu->arch.context.x, value = 0;
	bool read = esr & ISS_READ;

	vcpu_count_register(vcpu, esr);
	if (!read)
		return write_register(vcpu, number, rt == XZR ? 0 : x[rt]);
	if (!read_register(vcpu, number, encoding, &value))
		return false;
	if (rt != XZR)
		x[rt] = value;
	return true;
}
