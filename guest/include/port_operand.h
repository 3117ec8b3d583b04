/* The operand of loops that read or write a port; arch/'s timed.h defines io_port first. */
#ifndef PORT_OPERAND_H
#define PORT_OPERAND_H

struct port_operand {
	io_port port;
	uint32_t value;	    /* written, or last read */
	const char *string; /* of print */
	uint64_t bytes;
};
TIMED_OFFSET(port_operand, port, PORT_PORT);
TIMED_OFFSET(port_operand, value, PORT_VALUE);
TIMED_OFFSET(port_operand, string, PORT_STRING);
TIMED_OFFSET(port_operand, bytes, PORT_BYTES);

#endif
