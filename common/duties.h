/* What a system's first process has to do before its work and behind it. For lab/init, which starts
 * somebody else's monitor, and for our own monitor, which may be that process itself (vmm/main.c). */
#pragma once

#include <stdbool.h>

/* Mounts what programs read: /proc, /sys and /dev. Returns the place where that failed; NULL: nowhere. */
const char *duties_mount(void);
/* `FILE [KEY=VALUE ...]`: a kernel module and its parameters; ends the line behind FILE. One that is there
 * already is no error. False: errno says why not. */
bool duties_load_module(char *line);
/* Ends the machine: a kernel whose first process ends panics. `who` complains where that fails. */
_Noreturn void duties_power_off(const char *who);
