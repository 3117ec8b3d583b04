/* Numbers out of what the kernel says of itself in text. Pure. */
#pragma once

#include "common/text.h"

/* A file that is one decimal number and a newline. */
bool counts_number(const char *text, size_t bytes, uint64_t *value);
/* One that may be negative, as a two's complement. */
bool counts_signed(const char *text, size_t bytes, uint64_t *value);
/* The first of numbers with blanks between them, as in /proc/PID/schedstat. */
bool counts_first(const char *text, size_t bytes, uint64_t *value);
/* /proc/timer_list: how long all CPUs of the machine were idle, since it was started. */
bool counts_idle_ns(const char *text, size_t bytes, uint64_t *idle_ns);
