/* READ() and WRITE() for a register that is chosen at run time, by its number in the table (registers.h). */
#ifndef HARDWARE_H
#define HARDWARE_H

#include "cpu/registers.h"

uint64_t hardware_read(enum register_number number);
void hardware_write(enum register_number number, uint64_t value);

#endif
