/* Access to AArch64 system registers by name, from C and assembly. */
#ifndef ARM64_REGISTERS_H
#define ARM64_REGISTERS_H

/* By encoding: older assemblers lack the names (GICv3 and v4, 12.2). */
#define ICC_PMR_EL1	s3_0_c4_c6_0
#define ICC_IAR1_EL1	s3_0_c12_c12_0
#define ICC_EOIR1_EL1	s3_0_c12_c12_1
#define ICC_CTLR_EL1	s3_0_c12_c12_4
#define ICC_IGRPEN1_EL1 s3_0_c12_c12_7

#ifndef __ASSEMBLER__

#include <stdint.h>

#define TEXT_OF(name)	#name
#define NAME_TEXT(name) TEXT_OF(name)

#define READ_REGISTER(name)                                                               \
	({                                                                                \
		uint64_t value_;                                                          \
		__asm__ volatile("mrs %0, " NAME_TEXT(name) : "=r"(value_) : : "memory"); \
		value_;                                                                   \
	})
#define WRITE_REGISTER(name, value) \
	__asm__ volatile("msr " NAME_TEXT(name) ", %0" : : "r"((uint64_t)(value)) : "memory")

#endif
#endif
