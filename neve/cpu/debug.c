/* Access to debug registers by encoding; see debug.h. */
#include "cpu/debug.h"

#include "cpu/cpu.h"
#include "cpu/registers.h"

/* DBGBVR<n>_EL1, DBGBCR<n>_EL1, DBGWVR<n>_EL1, DBGWCR<n>_EL1: n is CRm, the kind is op2. */
#define KINDS(ROW, n) ROW(n, 4) ROW(n, 5) ROW(n, 6) ROW(n, 7)
#define ROWS(ROW)      \
	KINDS(ROW, 0)  \
	KINDS(ROW, 1)  \
	KINDS(ROW, 2)  \
	KINDS(ROW, 3)  \
	KINDS(ROW, 4)  \
	KINDS(ROW, 5)  \
	KINDS(ROW, 6)  \
	KINDS(ROW, 7)  \
	KINDS(ROW, 8)  \
	KINDS(ROW, 9)  \
	KINDS(ROW, 10) \
	KINDS(ROW, 11) \
	KINDS(ROW, 12) \
	KINDS(ROW, 13) \
	KINDS(ROW, 14) \
	KINDS(ROW, 15)

uint64_t debug_read(uint32_t encoding)
{
	switch (encoding) {
#define ROW(n, kind)                        \
	case ENCODING(2u, 0u, 0u, n, kind): \
		return READ_REGISTER(s2_0_c0_c##n##_##kind);
		ROWS(ROW)
#undef ROW
	default:
		return 0;
	}
}

void debug_write(uint32_t encoding, uint64_t value)
{
	switch (encoding) {
#define ROW(n, kind)                                          \
	case ENCODING(2u, 0u, 0u, n, kind):                   \
		WRITE_REGISTER(s2_0_c0_c##n##_##kind, value); \
		break;
		ROWS(ROW)
#undef ROW
	default:
		break;
	}
}
