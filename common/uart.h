/*
 * Serial ports in memory, polled: PL011 (Arm DDI 0183), its SBSA subset (DEN 0094, appendix B), and 16550s
 * (National PC16550D data sheet).
 */
#ifndef COMMON_UART_H
#define COMMON_UART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum uart_kind { UART_PL011, UART_SBSA, UART_16550 };

struct uart {
	enum uart_kind kind;
	uint64_t base;	/* address of the data register */
	uint32_t shift; /* 16550: register n is at base + (n << shift), */
	uint32_t width; /* ... accessed by this many bytes */
};

/* Prepares it to send, without interrupts. The speed stays as the firmware or loader set it: the device
 * tree does not give every clock. */
void uart_init(const struct uart *uart);

/* How many bytes it takes without another status read: each read is an exit in a VM, several exits in a
 * nested one. */
unsigned uart_room(const struct uart *uart);
void uart_send(const struct uart *uart, uint8_t byte);

/* Sends all of it, waiting a bounded time for room. False: timed out, and the rest is dropped. */
bool uart_write(const struct uart *uart, const char *text, size_t bytes);

/* Is everything sent? */
bool uart_is_idle(const struct uart *uart);
/* The same, waiting a bounded time. */
bool uart_wait_idle(const struct uart *uart);

/* Enables the receive interrupt. False: not supported (16550). */
bool uart_listen(const struct uart *uart);
/* The next received byte, after uart_listen(); -1: none. */
int uart_receive(const struct uart *uart);

/* A read/write register without side effects: the 16550's scratch register, or PL011's interrupt mask,
 * which has none while the port's interrupt is unused. */
uint64_t uart_scratch(const struct uart *uart);

/* Size of its registers, bytes. */
uint64_t uart_bytes(const struct uart *uart);

#endif
