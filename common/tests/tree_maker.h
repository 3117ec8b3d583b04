/* Builds flattened device trees for tests, token by token (Devicetree Specification 0.4, chapter 5). */
#ifndef TREE_MAKER_H
#define TREE_MAKER_H

#include <assert.h>
#include <stdint.h>
#include <string.h>

#define TREE_HEADER_BYTES 56 /* the header, and an empty reservation block after it */

struct maker {
	uint8_t bytes[8192];
	uint32_t used;
	char strings[1024];
	uint32_t strings_used;
};

static void put_word(struct maker *maker, uint32_t at, uint32_t value)
{
	for (unsigned i = 0; i < 4; i++)
		maker->bytes[at + i] = (uint8_t)(value >> (24 - 8 * i));
}

static void add_word(struct maker *maker, uint32_t value)
{
	assert(maker->used + 4 <= sizeof(maker->bytes));
	put_word(maker, maker->used, value);
	maker->used += 4;
}

static void add_bytes(struct maker *maker, const void *bytes, uint32_t length)
{
	assert(maker->used + length + 4 <= sizeof(maker->bytes));
	memcpy(maker->bytes + maker->used, bytes, length);
	maker->used = (maker->used + length + 3) & ~3u;
}

static void begin_tree(struct maker *maker)
{
	memset(maker, 0, sizeof(*maker));
	maker->used = TREE_HEADER_BYTES;
}

static void begin_node(struct maker *maker, const char *name)
{
	add_word(maker, 1);
	add_bytes(maker, name, (uint32_t)strlen(name) + 1);
}

static void end_node(struct maker *maker)
{
	add_word(maker, 2);
}

static void add_property(struct maker *maker, const char *name, const void *value, uint32_t length)
{
	uint32_t bytes = (uint32_t)strlen(name) + 1;

	assert(maker->strings_used + bytes <= sizeof(maker->strings));
	memcpy(maker->strings + maker->strings_used, name, bytes);
	add_word(maker, 3);
	add_word(maker, length);
	add_word(maker, maker->strings_used);
	maker->strings_used += bytes;
	add_bytes(maker, value, length);
}

static void add_text(struct maker *maker, const char *name, const char *text)
{
	add_property(maker, name, text, (uint32_t)strlen(text) + 1);
}

/* A property of `count` cells. */
static void add_cells(struct maker *maker, const char *name, unsigned count, const uint32_t *cells)
{
	uint8_t value[64];

	assert(count * 4 <= sizeof(value));
	for (unsigned i = 0; i < count * 4; i++)
		value[i] = (uint8_t)(cells[i / 4] >> (24 - 8 * (i % 4)));
	add_property(maker, name, value, count * 4);
}
#define CELLS(maker, name, ...)                                                        \
	add_cells(maker, name, sizeof((uint32_t[]){ __VA_ARGS__ }) / sizeof(uint32_t), \
		  (uint32_t[]){ __VA_ARGS__ })

/* Ends the tree; returns its size. */
static uint32_t end_tree(struct maker *maker)
{
	uint32_t structs_end, size;

	add_word(maker, 9);
	structs_end = maker->used;
	add_bytes(maker, maker->strings, maker->strings_used);
	size = structs_end + maker->strings_used;
	put_word(maker, 0, 0xd00dfeed);
	put_word(maker, 4, size);
	put_word(maker, 8, TREE_HEADER_BYTES);
	put_word(maker, 12, structs_end);
	put_word(maker, 16, 40);
	put_word(maker, 20, 17);
	put_word(maker, 24, 16);
	put_word(maker, 32, maker->strings_used);
	put_word(maker, 36, structs_end - TREE_HEADER_BYTES);
	return size;
}

/* A machine with one of each: two CPUs, GICv3 with ITS, a console behind a bus that translates addresses,
 * and a second serial port. */
static uint32_t make_machine(struct maker *maker)
{
	begin_tree(maker);
	begin_node(maker, "");
	CELLS(maker, "#address-cells", 2);
	CELLS(maker, "#size-cells", 2);
	begin_node(maker, "aliases");
	add_text(maker, "serial0", "/soc/serial@1000");
	end_node(maker);
	begin_node(maker, "chosen");
	add_text(maker, "bootargs", "bench=idle nonce=7");
	add_text(maker, "stdout-path", "serial0:115200n8");
	CELLS(maker, "linux,initrd-start", 0x48000000);
	CELLS(maker, "linux,initrd-end", 0x48001000);
	end_node(maker);
	begin_node(maker, "memory@40000000");
	add_text(maker, "device_type", "memory");
	CELLS(maker, "reg", 0, 0x40000000, 0, 0x10000000, 8, 0, 0, 0x20000000);
	end_node(maker);
	begin_node(maker, "reserved-memory");
	CELLS(maker, "#address-cells", 2);
	CELLS(maker, "#size-cells", 2);
	add_property(maker, "ranges", "", 0);
	begin_node(maker, "keep@44000000");
	CELLS(maker, "reg", 0, 0x44000000, 0, 0x2000);
	end_node(maker);
	end_node(maker);
	begin_node(maker, "cpus");
	CELLS(maker, "#address-cells", 1);
	CELLS(maker, "#size-cells", 0);
	for (uint32_t i = 0; i < 2; i++) {
		begin_node(maker, i ? "cpu@100" : "cpu@0");
		add_text(maker, "device_type", "cpu");
		add_text(maker, "enable-method", "psci");
		CELLS(maker, "reg", i << 8);
		end_node(maker);
	}
	end_node(maker);
	begin_node(maker, "psci");
	add_property(maker, "compatible", "arm,psci-1.0\0arm,psci-0.2", 26);
	add_text(maker, "method", "smc");
	end_node(maker);
	begin_node(maker, "timer");
	add_text(maker, "compatible", "arm,armv8-timer");
	CELLS(maker, "clock-frequency", 24000000);
	end_node(maker);
	begin_node(maker, "intc@8000000");
	add_text(maker, "compatible", "arm,gic-v3");
	CELLS(maker, "#redistributor-regions", 2);
	CELLS(maker, "reg", 0, 0x8000000, 0, 0x10000, 0, 0x80a0000, 0, 0xf60000, 1, 0, 0, 0x40000);
	CELLS(maker, "#address-cells", 2);
	CELLS(maker, "#size-cells", 2);
	add_property(maker, "ranges", "", 0);
	begin_node(maker, "its@8080000");
	add_text(maker, "compatible", "arm,gic-v3-its");
	CELLS(maker, "reg", 0, 0x8080000, 0, 0x20000);
	end_node(maker);
	end_node(maker);
	begin_node(maker, "uart@9000000");
	add_property(maker, "compatible", "arm,pl011\0arm,primecell", 24);
	CELLS(maker, "reg", 0, 0x9000000, 0, 0x1000);
	CELLS(maker, "interrupts", 0, 1, 4);
	end_node(maker);
	begin_node(maker, "uart@9040000");
	add_property(maker, "compatible", "arm,pl011\0arm,primecell", 24);
	add_text(maker, "status", "disabled");
	CELLS(maker, "reg", 0, 0x9040000, 0, 0x1000);
	end_node(maker);
	begin_node(maker, "soc");
	CELLS(maker, "#address-cells", 1);
	CELLS(maker, "#size-cells", 1);
	CELLS(maker, "ranges", 0, 3, 0x10000000, 0x100000);
	begin_node(maker, "serial@1000");
	add_text(maker, "compatible", "ns16550a");
	CELLS(maker, "reg", 0x1000, 0x100);
	CELLS(maker, "reg-shift", 2);
	CELLS(maker, "reg-io-width", 4);
	end_node(maker);
	begin_node(maker, "serial@200000"); /* outside the bus's "ranges" */
	add_text(maker, "compatible", "ns16550a");
	CELLS(maker, "reg", 0x200000, 0x100);
	end_node(maker);
	end_node(maker);
	end_node(maker);
	return end_tree(maker);
}

#endif
