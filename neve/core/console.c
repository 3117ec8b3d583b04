/* The serial port; see console.h. */
#include "core/console.h"

#include "common/bell_note.h"
#include "common/text.h"
#include "core/lock.h"

static const struct uart *port;
static volatile uint64_t *doorbell;
static struct lock lock;

void console_use(const struct uart *uart)
{
	port = uart;
	if (port)
		uart_init(port);
}

void console_use_doorbell(uint64_t address)
{
	doorbell = (uint64_t *)address;
}

/* Gives text to the hypervisor below. False: it takes none. */
static bool ring_text(volatile uint64_t *at, const char *text, size_t bytes)
{
	volatile struct bell_note note = {
		.magic = BELL_MAGIC, .kind = BELL_TEXT, .index = (uint64_t)text, .samples = bytes
	};

	/* The hypervisor reads the note. */
	__asm__ volatile("" : : "r"(&note) : "memory");
	*at = (uint64_t)&note;
	return note.kind == BELL_TAKEN;
}

void console_write(const char *text, size_t bytes)
{
	volatile uint64_t *at;
	bool taken = true;

	lock_take(&lock);
	at = doorbell;
	/* A ring that faults leads here again: then, and after one in vain, all text goes to the serial port. */
	doorbell = NULL;
	while (at && taken && bytes) {
		size_t piece = bytes < MAX_RECORD_BYTES ? bytes : MAX_RECORD_BYTES;

		taken = ring_text(at, text, piece);
		if (taken) {
			text += piece;
			bytes -= piece;
		}
	}
	if (taken)
		doorbell = at;
	if (bytes && port)
		uart_write(port, text, bytes);
	lock_release(&lock);
}

static char source[8] = "neve";

void record_use_level(unsigned level)
{
	struct text text;

	if (!level)
		return;
	text_start(&text, source, sizeof(source));
	text_printf(&text, "l%u", level);
}

void record_send(struct record *record, struct record_line *line)
{
	char text[MAX_RECORD_BYTES + 1];
	size_t bytes = record_finish(record, source, line, text);

	if (bytes)
		console_write(text, bytes);
}

void console_guest_flush(struct guest_console *console)
{
	if (console->used)
		console_write(console->line, console->used);
	console->used = 0;
}

void console_guest_byte(struct guest_console *console, uint8_t byte)
{
	console->line[console->used++] = (char)byte;
	if (!console->by_lines || byte == '\n' || console->used == sizeof(console->line))
		console_guest_flush(console);
}

void console_guest_text(struct guest_console *console, const char *text, size_t bytes)
{
	if (!console->by_lines) {
		console_guest_flush(console);
		console_write(text, bytes);
		return;
	}
	for (size_t i = 0; i < bytes; i++)
		console_guest_byte(console, (uint8_t)text[i]);
}

void console_seize(void)
{
	lock_release(&lock);
}

void console_drain(void)
{
	if (port)
		uart_wait_idle(port);
}

bool console_listen(void)
{
	return port && uart_listen(port);
}

int console_receive(void)
{
	return uart_receive(port);
}
