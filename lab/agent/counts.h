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

#define MAX_REASONS 64
struct reasons {
	struct {
		uint64_t code, count;
	} rows[MAX_REASONS];
	unsigned count;
};
/* The histogram of kvm:kvm_exit by its reason. */
bool counts_reasons(const char *text, size_t bytes, struct reasons *reasons);
/* Takes the counts of `other` off; never below 0. */
void counts_reasons_subtract(struct reasons *reasons, const struct reasons *other);
