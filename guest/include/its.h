/* A GICv3's Interrupt Translation Service (IHI 0069, chapter 5): just enough for one event of one
 * device. */
#ifndef ITS_H
#define ITS_H

#include <stdint.h>

/* The first LPI. */
#define ITS_FIRST_LPI 8192

/* For submitting commands: the ring has ITS_RING bytes of commands of ITS_COMMAND bytes, each of which
 * triggers the event (INT). */
#define ITS_COMMAND 32
#define ITS_RING    4096
struct its_ring {
	uint64_t written; /* the address of GITS_CWRITER */
	uint64_t offset;  /* its current value */
};

/* Sets up the ITS at `its` to translate an event to interrupt `lpi` of the CPU with `redistributor`, medium
 * priority. NULL: *ring is filled; else the error. Once per machine. */
const char *its_map_event(uint64_t its, uint64_t redistributor, uint32_t lpi,
			  struct its_ring *ring);

#endif
