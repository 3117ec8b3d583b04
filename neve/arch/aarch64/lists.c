/* The list registers by number; see lists.h. Called by gic.c. */
#include "lists.h"

#include "accessors.h"

/* They are sixteen registers, not an array. */
#define LISTS(ROW) \
	ROW(0)     \
	ROW(1)     \
	ROW(2)     \
	ROW(3)     \
	ROW(4)     \
	ROW(5)     \
	ROW(6)     \
	ROW(7)     \
	ROW(8)     \
	ROW(9)     \
	ROW(10)    \
	ROW(11)    \
	ROW(12)    \
	ROW(13)    \
	ROW(14)    \
	ROW(15)

uint64_t list_read(unsigned n)
{
	switch (n) {
#define ROW(number)  \
	case number: \
		return READ(ICH_LR##number##_EL2);
		LISTS(ROW)
#undef ROW
	}
	return 0;
}

void list_write(unsigned n, uint64_t value)
{
	switch (n) {
#define ROW(number)                                 \
	case number:                                \
		WRITE(ICH_LR##number##_EL2, value); \
		break;
		LISTS(ROW)
#undef ROW
	}
}
