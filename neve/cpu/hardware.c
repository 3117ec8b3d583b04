/* Registers by number; see hardware.h. */
#include "cpu/hardware.h"

#include "cpu/accessors.h"

uint64_t hardware_read(enum register_number number)
{
	switch (number) {
#define ROW(name, ...)   \
	case REG_##name: \
		return READ(name);
		REGISTERS(ROW)
#undef ROW
	default:
		return 0;
	}
}

void hardware_write(enum register_number number, uint64_t value)
{
	switch (number) {
#define ROW(name, ...)              \
	case REG_##name:            \
		WRITE(name, value); \
		break;
		REGISTERS(ROW)
#undef ROW
	default:
		break;
	}
}
