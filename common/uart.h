/*
 * Serial ports in memory, polled: PL011 (Arm DDI 0183), the SBSA's subset of it (DEN 0094, appendix
 * B), and 16550s (National PC16550D data sheet).
 */
#ifndef COMMON_UART_H
#define COMMON_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uart_kind { UART_PL011, UART_SBSA, UART_16550 };

struct uart {
	enum uart_kind kind;
	uint64_t base;	/* address of its first register, which takes the bytes to send */
	uint32_t shift; /* 16550: register n lies at base + (n << shift), */
	uint32_t width; /* ... and is read and written by so many bytes */
};

/* Makes it ready to send, without interrupts. Its speed stays as the firmware or the loader has it:
 * the device tree does not tell every clock. */
void uart_init(const struct uart *uart);

/* How many bytes it takes at once, without a look in between: in a virtual machine each look is an
 * exit, in a nested one many. */
unsigned uart_room(const struct uart *uart);
void uart_send(const struct uart *uart, uint8_t byte);

/* Sends it all. Waits a bounded time for room; false: the port took nothing, and the rest is given up. */
bool uart_write(const struct uart *uart, const char *text, size_t bytes);

/* Is all sent? */
bool uart_is_idle(const struct uart *uart);
/* The same, after a wait of a bounded time. */
bool uart_wait_idle(const struct uart *uart);

/* Lets it interrupt when bytes come in. False: it is none that can (a 16550). */
bool uart_listen(const struct uart *uart);
/* A byte that came in, of one that listens; -1: none. */
int uart_receive(const struct uart *uart);

/* A register that keeps a byte and does nothing else: the 16550's own, or PL011's interrupt mask,
 * which is as idle where nobody takes the port's interrupt. */
uint64_t uart_scratch(const struct uart *uart);

/* How many bytes of addresses it has. */
uint64_t uart_bytes(const struct uart *uart);

#endif
