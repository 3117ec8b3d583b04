/* Waits until all CPUs of the machine are idle, before the lab stops the machine. When one CPU reaches the stop, the
 * others run until QEMU's main thread notices. How far they run depends on the host, unless they are idle. */
#pragma once

#include <stdbool.h>

/* Returns the shortest idle time of any CPU since the last call, in hundredths of a second; at the first call, since
 * boot. Time in which a CPU waits for a disk counts. `text` is the content of /proc/stat (proc_stat(5)), with a line of
 * at least one CPU. The call modifies it. CPUs from number 64 on are ignored. */
unsigned long idle_since(char *text);

/* Returns true once all CPUs have been idle for a tenth of a second, and at once if the caller may run on only one CPU.
 * Returns false if some CPU was still busy after a minute. */
bool idle_await(void);
