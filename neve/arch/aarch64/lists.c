/* The list registers by number; see lists.h. Called by gic.c. */
#include "lists.h"

#include "cpu.h"

/* ICH_LR<n>_EL2 are sixteen registers, not an array. */
#define LISTS(ROW)              \
	ROW(0, s3_4_c12_c12_0)  \
	ROW(1, s3_4_c12_c12_1)  \
	ROW(2, s3_4_c12_c12_2)  \
	ROW(3, s3_4_c12_c12_3)  \
	ROW(4, s3_4_c12_c12_4)  \
	ROW(5, s3_4_c12_c12_5)  \
	ROW(6, s3_4_c12_c12_6)  \
	ROW(7, s3_4_c12_c12_7)  \
	ROW(8, s3_4_c12_c13_0)  \
	ROW(9, s3_4_c12_c13_1)  \
	ROW(10, s3_4_c12_c13_2) \
	ROW(11, s3_4_c12_c13_3) \
	ROW(12, s3_4_c12_c13_4) \
	ROW(13, s3_4_c12_c13_5) \
	ROW(14, s3_4_c12_c13_6) \
	ROW(15, s3_4_c12_c13_7)

uint64_t list_read(unsigned n)
{
	switch (n) {
#define ROW(number, name) \
	case number:      \
		return READ_REGISTER(name);
		LISTS(ROW)
#undef ROW
	}
	return 0;
}

void list_write(unsigned n, uint64_t value)
{
	switch (n) {
#define ROW(number, name)                    \
	case number:                         \
		WRITE_REGISTER(name, value); \
		break;
		LISTS(ROW)
#undef ROW
	}
}
