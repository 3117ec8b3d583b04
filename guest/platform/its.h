/* A GICv3's Interrupt Translation Service (IHI 0069, chapter 5), as far as one event of one device needs it. */
#ifndef ITS_H
#define ITS_H

#include <stdint.h>

/* The first interrupt that an ITS can give. */
#define ITS_FIRST_LPI 8192

/* Where its commands are made known: each is ITS_COMMAND bytes of a ring of ITS_RING, all of which ask for
 * the event (INT). */
#define ITS_COMMAND 32
#define ITS_RING    4096
struct its_ring {
	uint64_t written; /* the address of GITS_CWRITER */
	uint64_t offset;  /* what it holds */
};

/* Has the ITS at `its` make an event the interrupt `lpi` of the CPU that has `redistributor`, priority in the
 * middle. NULL: *ring is filled; else why not. Once for a machine. */
const char *its_map_event(uint64_t its, uint64_t redistributor, uint32_t lpi,
			  struct its_ring *ring);

#endif
