/* dom0's clock on each CPU of the machine. */
#ifndef CLOCKS_H
#define CLOCKS_H

#include "common/answers_page.h"

/* Fills in the page's clocks, on all CPUs in turn. */
void clocks_tell(volatile struct answers_page *page);

#endif
