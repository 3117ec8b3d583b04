/* CRC-32 ISO-HDLC, as in zlib. Pure. */
#ifndef COMMON_CRC32_H
#define COMMON_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over `length` bytes. */
uint32_t crc32(uint32_t crc, const void *bytes, size_t length);

#endif
