/*
 * Memory that a protected VM shares with its host: all that the monitor reads or writes because of the doorbell, and KVM
 * because of the ITS. Only guest-protected.img shares (GUEST_SHARES; arch/aarch64/share.c). In the other images all of
 * this is nothing, so that no figure of the lab depends on it.
 */
#ifndef SHARE_H
#define SHARE_H

#include <stdint.h>

#ifdef GUEST_SHARES

/* Shares the image, which has the doorbell's notes and text, and the stack. Called before the first ring and the
 * first page of the heap. */
void share_image(void);
/* Shares the pages of [start, end), none of which is shared yet. Does not return if the hypervisor refuses. */
void share_pages(uint64_t start, uint64_t end);

#else

#define share_image()		((void)0)
#define share_pages(start, end) ((void)0)

#endif
#endif
