/* CRC-32 ISO-HDLC, zlib's. Pure. */
#ifndef COMMON_CRC32_H
#define COMMON_CRC32_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to start) over the bytes. */
uint32_t crc32(uint32_t crc, const void *bytes, size_t length);

#endif
