/* Reads what the boot protocol passed. */
#include <arch/cpu.h>
#include "guest/arch/aarch64/machine.h"

/* Address of the device tree, from boot.S. */
uint64_t boot_tree;
uint64_t cpu_level;

#define BOOT_PROTOCOL "arm64-image"
#define MEMORY_TAKEN  (uint64_t) image_start
#include "guest/platform/tree_boot.h"
