/* The console's set-up; POSIH has its use. */
#ifndef CONSOLE_H
#define CONSOLE_H

void console_init(void);

#endif
