/* The 8254 of a PC (Intel 8254 data sheet); see pit.h. */
#include "guest/platform/pit.h"
#include "posih.h"

/* Ticks of rdtimer() in 10 ms of the 8254's channel 2 (Intel 8254 data sheet, mode 0), per second. 0: no
 * 8254. */
static uint64_t count_clock_hz(void)
{
	const uint64_t input_hz = 1193182, passes = input_hz / 100;
	uint8_t gate = in8(0x61);
	uint64_t start, ticks;
	bool ended = false;

	out8(0x61, (uint8_t)((gate & 0xfc) | 1)); /* gate on, speaker off */
	out8(0x43, 0xb0);
	out8(0x42, (uint8_t)passes);
	out8(0x42, (uint8_t)(passes >> 8));
	start = rdtimer();
	for (unsigned i = 0; i < 1000000 && !ended; i++)
		ended = in8(0x61) & 0x20;
	ticks = rdtimer() - start;
	out8(0x61, gate);
	return ended ? ticks * 100 : 0;
}

/* The minimum of three: preemption by the host only adds ticks. */
uint64_t pit_measure_hz(void)
{
	uint64_t least = count_clock_hz();

	for (unsigned i = 0; i < 2 && least; i++) {
		uint64_t hz = count_clock_hz();

		if (hz < least)
			least = hz;
	}
	return least;
}
