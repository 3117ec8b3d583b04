/* The root file system that commands see. */
#pragma once

/* Mounts the device, which is read only, and makes it the root. It gets file systems in memory where programs
 * write; /lab shows the initramfs. Powers off if it can't. */
void root_enter(const char *device);
/* Removes what commands left where they may write, but for the host's own files. */
void root_clean(void);
