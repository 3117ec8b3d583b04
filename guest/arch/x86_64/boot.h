/* First steps: reads what the boot protocol handed over; opens the console. */
#ifndef BOOT_H
#define BOOT_H

void boot_read(void);
void console_init(void);

#endif
