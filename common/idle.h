/* Waits until all CPUs of a machine are idle, before it is stopped. Where one CPU stops, the others go on until the
 * emulator's own thread has noticed it. How far they come depends on the host, unless they have nothing to do. */
#pragma once

#include <stdbool.h>

/* The least time that any CPU has been idle since the last call, in hundredths of a second, from the text of
 * /proc/stat (proc_stat(5)), which is modified. */
unsigned long idle_since(char *text);

/* Returns once all CPUs have been idle for a tenth of a second, and at once where there is only one. False: they were
 * busy for a minute. */
bool idle_await(void);
