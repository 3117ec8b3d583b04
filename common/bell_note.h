/* The record that the guest passes by address with each doorbell ring (docs/guest.md): written by
 * guest/core/doorbell.c, copied by a monitor. */
#ifndef COMMON_BELL_NOTE_H
#define COMMON_BELL_NOTE_H

#include <stdint.h>

#define BELL_MAGIC	   0x31425357u /* "WSB1" */
#define BELL_BEGIN	   1
#define BELL_END	   2
/* The same around a run of its own in which counting may cost instructions: by reason. Monitors that count by reason
 * always need none, and ignore it. */
#define BELL_BEGIN_REASONS 3
#define BELL_END_REASONS   4
/* A monitor in the guest asks for the lines of the lab's launch (common/launch_below.h). `index`: the first byte that it
 * asks for; `samples`: whether the machine's state is worth saving. The answer is in `bench`. Only the last part of it
 * has a NUL. */
#define BELL_ASK	   5
/* It reports the launch's nonce (`index`) and unit (`bench`), for the records of the monitor below. */
#define BELL_LAUNCH	   6
/* The guest sends `samples` bytes of text, a line or more, which are at the physical address `index`. A monitor that
 * writes the text to the console sets `kind` to BELL_TAKEN. Otherwise the guest sends it by its serial port, at one exit or
 * more a byte. */
#define BELL_TEXT	   7
#define BELL_TAKEN	   0

struct bell_note {
	uint32_t magic, kind;
	uint64_t index, iterations, samples; /* the last two 0: no loop between the rings */
	char bench[64];
};

#endif
