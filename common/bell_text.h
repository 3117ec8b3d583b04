/* Text for a monitor to write, by its doorbell: one exit for each text, instead of one or more for each byte. */
#ifndef COMMON_BELL_TEXT_H
#define COMMON_BELL_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Gives it at most MAX_RECORD_BYTES (common/record.h). Addresses are physical here. False: the monitor takes no text. */
bool bell_text(uint64_t doorbell, const char *text, size_t bytes);

#endif
