/* The console of a machine with a device tree: the serial port that the tree names. For the one file of each such
 * architecture that defines TICK_UNIT, the name of a clock tick. */
#ifndef TREE_CONSOLE_H
#define TREE_CONSOLE_H

#include "guest/core/cmdline.h"
#include "guest/core/guest_console.h"

static const struct tree *tree;

void console_init(const struct tree *of_machine)
{
	tree = of_machine;
	for (unsigned i = 0; i < tree->uart_count; i++)
		uart_init(&tree->uarts[i]);
	console_use(tree->uart_count ? &tree->uarts[tree->console] : NULL);
}

/* The device tree's serial port at that address, unless it is the console; NULL: none. */
static const struct uart *other_uart(uint64_t port)
{
	for (unsigned i = 0; i < tree->uart_count; i++)
		if (tree->uarts[i].base == port && i != tree->console)
			return &tree->uarts[i];
	return NULL;
}

bool serial_port_present(uint64_t port)
{
	return other_uart(port);
}

bool serial_port_drained(uint64_t port)
{
	const struct uart *uart = other_uart(port);

	return uart && uart_wait_idle(uart);
}

void arch_cmdline_limits(struct cmdline_limits *limits)
{
	*limits = (struct cmdline_limits){
		.tick_unit = TICK_UNIT,
		.port_max = (1ull << 48) - 1,
		.scratch_port = scratch_port(),
		.print_port = PORT_NONE,
	};
	for (unsigned i = 0; i < tree->uart_count && limits->print_port == PORT_NONE; i++)
		if (i != tree->console)
			limits->print_port = tree->uarts[i].base;
}

#endif
