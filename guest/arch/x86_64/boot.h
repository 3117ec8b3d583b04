/* Reads what the boot protocol handed over. */
#ifndef BOOT_H
#define BOOT_H

void boot_read(void);

#endif
