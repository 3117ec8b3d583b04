/* Fuzzes the loader of RISC-V Images (fuzz_image.h). */
#define MAGIC	 "RSC\x05"
#define HAS_FLAT false
#include "fuzz_image.h"
