/* First steps of the boot: reads the boot protocol's information; opens the console. */
#ifndef BOOT_PROTOCOL_H
#define BOOT_PROTOCOL_H

void boot_read(void);
void console_init(void);

#endif
