/* Archives of files, as Linux' initramfs has them (Documentation/driver-api/early-userspace/buffer-format.rst). */
#pragma once

#include <stddef.h>

/* Unpacks an archive below the current folder. Returns NULL, or what is wrong, with errno where a call failed. */
const char *unpack(const char *archive, size_t bytes);
