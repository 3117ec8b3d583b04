/* Why guests exit to KVM, as the kernel's trace counts it: a histogram of the event kvm:kvm_exit in tracefs. The
 * agent and vmm use it. */
#ifndef COMMON_REASONS_H
#define COMMON_REASONS_H

#include "common/text.h"

#define REASONS_MAX 64

struct reasons {
	struct {
		uint64_t code, count;
	} rows[REASONS_MAX];
	unsigned count;
};

/* ---- Pure (reasons.c, reasons_ARCH.c) ---- */

/* The event's field that says why. */
extern const char reasons_key[];
/* On x86_64: codes are those of Intel's VMX, and not AMD's. */
extern bool reasons_of_vmx;
/* Reads the histogram. False: it is none. */
bool reasons_parse(const char *text, size_t bytes, struct reasons *reasons);
/* Takes the counts of `other` off; never below 0. */
void reasons_subtract(struct reasons *reasons, const struct reasons *other);
/* Writes the name of an exit's reason: npf, io, ... */
void reasons_name(uint64_t code, struct text *out);
/* The same of the row `row` of a struct reasons, for exits_counts(). */
void reasons_name_row(const void *reasons, unsigned row, struct text *out);

/* ---- In tracefs (reasons_trace.c) ---- */

/* Mounts tracefs, once. */
void tracefs_mount(void);
/* Counts exits by reason from here on. It costs instructions at each exit, so never in a measured window. False:
 * the kernel can't. */
bool reasons_begin(void);
/* Reads what was counted so far. */
void reasons_read(struct reasons *reasons);
void reasons_end(void);

#endif
