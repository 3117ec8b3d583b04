/* Fuzzes the loader of arm64 Images (fuzz_image.h). */
#define MAGIC	 "ARM\x64"
#define HAS_FLAT true
#include "fuzz_image.h"
