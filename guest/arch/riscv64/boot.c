/* Reads what the boot protocol passed. */
#include "guest/arch/riscv64/machine.h"

uint64_t boot_tree, boot_hart;

#define BOOT_PROTOCOL "riscv-image"
/* The 2 MiB below the image are the firmware's, whether the tree says so or not. */
#define MEMORY_TAKEN  (uint64_t) image_start - 2 * MIB
#include "guest/platform/tree_boot.h"
