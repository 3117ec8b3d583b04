/* Registers of the PL011 (Arm DDI 0183, chapter 3). */
#ifndef COMMON_PL011_REGISTERS_H
#define COMMON_PL011_REGISTERS_H

#define PL011_DATA	    0x00
#define PL011_FLAGS	    0x18
#define PL011_DIVISOR_WHOLE 0x24
#define PL011_DIVISOR_PART  0x28
#define PL011_LINE	    0x2c
#define PL011_CONTROL	    0x30
#define PL011_LEVELS	    0x34
#define PL011_MASK	    0x38
#define PL011_RAW	    0x3c
#define PL011_MASKED	    0x40
#define PL011_CLEAR	    0x44
#define PL011_IDENTITY	    0xfe0 /* eight registers, one byte each */
#define PL011_BYTES	    0x1000

#define PL011_FLAG_BUSY		 (1u << 3)
#define PL011_FLAG_HOLDS_NOTHING (1u << 4) /* receive FIFO empty */
#define PL011_FLAG_FULL		 (1u << 5)
#define PL011_FLAG_EMPTY	 (1u << 7) /* transmit FIFO empty */

#define PL011_LINE_FIFO	    (1u << 4)
#define PL011_LINE_8N1_FIFO 0x70u
#define PL011_CONTROL_ON    0x301u /* the port, sending, receiving */

/* Interrupt bits in PL011_MASK, RAW, MASKED and CLEAR. */
#define PL011_RECEIVED	 (1u << 4)
#define PL011_SENT	 (1u << 5)
#define PL011_WAITS	 (1u << 6) /* receive timeout: bytes received but not read for a while */
#define PL011_INTERRUPTS 0x7ffu

#endif
