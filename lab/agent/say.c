/* The console; see say.h. */
#include <fcntl.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

#include "common/duties.h"
#include "say.h"

#define END_BYTES 3000

static struct record_line lines[2];

void say_set_nonce(uint64_t nonce)
{
	lines[SOURCE_GUEST].nonce = lines[SOURCE_MONITOR].nonce = nonce;
}

/* Nobody can be told if this fails: the next record shows that one was lost. */
static void write_all(const char *text, size_t bytes)
{
	while (bytes > 0) {
		ssize_t done = write(STDOUT_FILENO, text, bytes);

		if (done <= 0)
			return;
		text += done;
		bytes -= (size_t)done;
	}
}

void say_record(struct record *record, enum source source)
{
	static const char *const names[] = { "guest", "vmm" };
	static char line[MAX_RECORD_BYTES + 1];
	size_t bytes = record_finish(record, names[source], &lines[source], line);

	if (bytes)
		write_all(line, bytes);
	else
		say("a record was longer than a line and is lost: %s", record->buffer);
}

static void say_list(const char *format, va_list values)
{
	char line[1024];
	int bytes = vsnprintf(line, sizeof(line), format, values);

	if (bytes < 0)
		return;
	write_all("agent: ", 7);
	write_all(line, (size_t)bytes < sizeof(line) ? (size_t)bytes : sizeof(line) - 1);
	write_all("\n", 1);
}

void say(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	say_list(format, values);
	va_end(values);
}

void say_end_of(const char *path, const char *who)
{
	static char text[END_BYTES];
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	off_t size = fd < 0 ? 0 : lseek(fd, 0, SEEK_END);
	ssize_t bytes =
		fd < 0 ? 0 : pread(fd, text, END_BYTES, size > END_BYTES ? size - END_BYTES : 0);
	bool begins = true;

	for (ssize_t i = 0; i < bytes; i++) {
		char c = text[i];

		if (c == '\r')
			continue;
		if (begins)
			dprintf(STDOUT_FILENO, "%s: ", who);
		begins = c == '\n';
		if (!begins && (c < ' ' || c > '~' || c == '@'))
			c = '.';
		write_all(&c, 1);
	}
	if (!begins)
		write_all("\n", 1);
	if (fd >= 0)
		close(fd);
}

void say_drain(void)
{
	(void)tcdrain(STDOUT_FILENO);
}

void give_up(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	say_list(format, values);
	va_end(values);
	say_drain();
	duties_power_off("agent");
}
