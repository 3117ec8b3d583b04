/* Calls of the machine's own firmware by the SMC calling convention (Arm DEN 0028). */
#ifndef SMC_H
#define SMC_H

#include <stdint.h>

uint64_t firmware_call(uint64_t function, uint64_t a, uint64_t b, uint64_t c);

#endif
