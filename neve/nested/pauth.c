/* Authenticates the address of L1's ERETAA and ERETAB, as its CPU would (DDI 0487, AArch64.Auth); see nested.h. */
#include "cpu/accessors.h"
#include "nested/nested.h"

#define PACGA_BITS    0xffffffff00000000ull
#define PAUTH2	      3 /* of ID_AA64ISAR1_EL1.APA and its like: the signature is XORed into the address */
#define BAD_SIGNATURE (1ull << 53) /* makes an address that nothing maps */

/* Signs by a key of L1, as PACIA and PACIB do. These have the address format of EL2 here, so the generic instruction
 * PACGA signs, with L1's key in place of its own. */
static uint64_t sign(uint64_t address, uint64_t modifier, bool key_b)
{
	uint64_t low = READ_REGISTER(s3_0_c2_c3_0), high = READ_REGISTER(s3_0_c2_c3_1);
	register uint64_t x0 __asm__("x0") = address;
	register uint64_t x1 __asm__("x1") = modifier;

	WRITE_REGISTER(s3_0_c2_c3_0,
		       key_b ? READ_REGISTER(s3_0_c2_c1_2) : READ_REGISTER(s3_0_c2_c1_0));
	WRITE_REGISTER(s3_0_c2_c3_1,
		       key_b ? READ_REGISTER(s3_0_c2_c1_3) : READ_REGISTER(s3_0_c2_c1_1));
	instruction_barrier();
	__asm__ volatile(".inst 0x9ac13000" : "+r"(x0) : "r"(x1)); /* pacga x0, x0, x1 */
	WRITE_REGISTER(s3_0_c2_c3_0, low);
	WRITE_REGISTER(s3_0_c2_c3_1, high);
	return x0;
}

/* The highest of the fields of the algorithms for addresses. */
static unsigned pauth_version(void)
{
	uint64_t isar1 = READ_REGISTER(id_aa64isar1_el1);
	uint64_t apa = isar1 >> ISAR1_APA & 15, api = isar1 >> ISAR1_API & 15;
	uint64_t apa3 = READ_REGISTER(s3_0_c0_c6_2) >> ISAR2_APA3 & 15;

	apa = apa > api ? apa : api;
	return (unsigned)(apa > apa3 ? apa : apa3);
}

uint64_t nested_authenticate(const struct vcpu *vcpu, uint64_t from, bool key_b)
{
	uint64_t tcr = READ(TCR_EL1), bits, tagged, mask, plain, wrong, modifier;
	bool upper = from & VA_UPPER;

	if (!(READ(SCTLR_EL1) & (key_b ? SCTLR_EnIB : SCTLR_EnIA)))
		return from;
	bits = 64 - (tcr >> (upper ? TCR_T1 : 0) & TCR_TXSZ);
	bits = bits < MAX_VA_BITS ? bits : MAX_VA_BITS;
	tagged = tcr >> (TCR_TBI0 + upper) & ~(tcr >> (TCR_TBID0 + upper)) & 1;
	mask = ~0ull << bits & (tagged ? ~0ull >> 8 : ~0ull) & ~VA_UPPER;
	plain = upper ? from | mask : from & ~mask;
	modifier = vcpu->arch.context.pstate & PSTATE_SP ? READ(SP_EL1) : READ(SP_EL0);
	wrong = from ^ sign(plain, modifier, key_b) ^ (pauth_version() >= PAUTH2 ? plain : 0);
	return wrong & mask & PACGA_BITS ? plain ^ BAD_SIGNATURE : plain;
}
