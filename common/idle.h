/* Waits until nothing but the caller runs on the machine, before the lab stops it. When one CPU reaches the stop, the
 * others run until QEMU's main thread notices. How far they run depends on the host, unless they are idle. */
#pragma once

#include <stdbool.h>

/* Returns the shortest idle time of any CPU since the last call, in hundredths of a second; at the first call, since
 * boot. Time in which a CPU waits for a disk counts. `text` is the content of /proc/stat (proc_stat(5)), with a line of
 * at least one CPU. The call modifies it. CPUs from number 64 on are ignored. */
unsigned long idle_since(char *text);

/* Returns the number of tasks that run or are ready to, the caller among them. `text` is the content of /proc/loadavg
 * (proc_loadavg(5)). Returns 0 if it is something else. */
unsigned long idle_running(const char *text);

/* Returns true once all CPUs have been idle for a tenth of a second, and then nothing but the caller is ready to run;
 * on a machine with one CPU, at once. Returns false if that took more than a minute. */
bool idle_await(void);
