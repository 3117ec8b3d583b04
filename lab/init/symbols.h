/* Prints the machine's own symbols (common/kallsyms.h) on the console. */
#pragma once

/* Returns what is wrong, or NULL. */
const char *symbols_print(void);
