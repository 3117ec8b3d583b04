/* Levels on ARM; see arm.h. */
#include "arm.h"

#include <string.h>

#include "trace.h"

/* Of the vectors those for lower levels of AArch64 and AArch32, each of four kinds, each of 32 instructions. */
#define VECTORS_BYTES	 2048u
#define LOWER_OFFSET	 1024u
#define VECTOR_BYTES	 128u
#define KIND_SHIFT	 7
#define KINDS		 4
/* PSTATE.EL in CPSR and SPSR. */
#define EL_SHIFT	 2
#define EL_MASK		 3
#define HCR_VM		 1u
#define VTTBR_VMID_SHIFT 48
#define ESR_EC_SHIFT	 26
#define ESR_EC_MASK	 0x3fu

static uint32_t word(const uint8_t *bytes)
{
	return (uint32_t)bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 |
	       (uint32_t)bytes[3] << 24;
}

/* ERET, ERETAA, ERETAB. */
bool arm_is_eret(const uint8_t *bytes, unsigned size)
{
	return size == 4 && (word(bytes) == 0xd69f03e0 || word(bytes) == 0xd69f0bff ||
			     word(bytes) == 0xd69f0fff);
}

/* MRS of CNTVCT_EL0, to any register. */
bool arm_is_clock_read(const uint8_t *bytes, unsigned size)
{
	return size == 4 && (word(bytes) & ~0x1fu) == 0xd53be040;
}

bool arm_may_be_vector(uint64_t address)
{
	return address % VECTORS_BYTES >= LOWER_OFFSET && address % VECTOR_BYTES == 0;
}

static unsigned el(uint64_t state)
{
	return (unsigned)(state >> EL_SHIFT & EL_MASK);
}

bool arm_is_el2(uint64_t cpsr)
{
	return el(cpsr) == 2;
}

bool arm_enter(struct arm *arm, const struct arm_registers *registers, uint64_t own_vmid,
	       unsigned *level)
{
	if (!arm_is_el2(registers->cpsr) || el(registers->spsr_el2) >= 2)
		return false;
	arm->in_vm = registers->hcr_el2 & HCR_VM;
	arm->vectors = registers->vbar_el2 + LOWER_OFFSET;
	*level = arm->in_vm && registers->vttbr_el2 >> VTTBR_VMID_SHIFT != own_vmid;
	return true;
}

bool arm_leaves(const struct arm *arm, const struct insn *insn)
{
	return arm->in_vm && insn->address >= arm->vectors &&
	       insn->address < arm->vectors + VECTORS_BYTES - LOWER_OFFSET &&
	       insn->address % VECTOR_BYTES == 0;
}

unsigned arm_leave(struct arm *arm, const struct insn *insn, uint64_t esr_el2)
{
	static const unsigned asynchronous[KINDS] = { 0, ARM_EXIT_IRQ, ARM_EXIT_FIQ,
						      ARM_EXIT_SERROR };
	unsigned kind = (unsigned)(insn->address >> KIND_SHIFT) % KINDS;

	arm->in_vm = false;
	return kind ? asynchronous[kind] : (unsigned)(esr_el2 >> ESR_EC_SHIFT) & ESR_EC_MASK;
}
