/* Access to debug registers by encoding; see debug.h. */
#include "cpu/debug.h"

#include "cpu/cpu.h"
#include "cpu/registers.h"

/* DBGBVR<n>_EL1, DBGBCR<n>_EL1, DBGWVR<n>_EL1, DBGWCR<n>_EL1: n is CRm, the kind is op2. */
#define FIRST_KIND 4
#define ROWS_OF_KIND(ROW, kind)                                                                    \
	ROW(0, kind)                                                                               \
	ROW(1, kind) ROW(2, kind) ROW(3, kind) ROW(4, kind) ROW(5, kind) ROW(6, kind) ROW(7, kind) \
		ROW(8, kind) ROW(9, kind) ROW(10, kind) ROW(11, kind) ROW(12, kind) ROW(13, kind)  \
			ROW(14, kind) ROW(15, kind)
#define ROWS(ROW) \
	ROWS_OF_KIND(ROW, 4) ROWS_OF_KIND(ROW, 5) ROWS_OF_KIND(ROW, 6) ROWS_OF_KIND(ROW, 7)

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
