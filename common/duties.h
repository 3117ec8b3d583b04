/* What the first process (PID 1) does before and after its work: used by lab/init, which starts another
 * monitor, by lab/agent, and by vmm when it is PID 1 itself (vmm/main.c). */
#pragma once

#include <stdbool.h>

/* Mounts /proc, /sys and /dev. Returns the mount point that failed, or NULL. */
const char *duties_mount(void);
/* Loads a kernel module: `FILE [KEY=VALUE ...]`; modifies `line`. An already loaded module is no error. On
 * false, errno says why. */
bool duties_load_module(char *line);
/* Powers off: the kernel panics when its first process exits. `who` begins the message if that fails. */
_Noreturn void duties_power_off(const char *who);
