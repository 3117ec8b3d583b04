/* Archives; see unpack.h. Format "newc": headers of 110 bytes, with 13 numbers of eight hexadecimal digits behind
 * the magic number; the name; the content. Name and content end at multiples of four bytes. */
#include "unpack.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAGIC	     "070701"
#define HEADER_BYTES 110
#define TRAILER	     "TRAILER!!!"

enum field { MODE = 1, FILE_SIZE = 6, NAME_SIZE = 11 };

/* False: one of the eight is no digit. */
static bool number(const char *header, enum field field, size_t *value)
{
	const char *digits = header + sizeof(MAGIC) - 1 + 8 * (size_t)field;

	*value = 0;
	for (unsigned i = 0; i < 8; i++) {
		static const char all[] = "0123456789abcdef0123456789ABCDEF";
		const char *digit = digits[i] ? strchr(all, digits[i]) : NULL;

		if (!digit)
			return false;
		*value = *value << 4 | (size_t)((digit - all) % 16);
	}
	return true;
}

static size_t aligned(size_t bytes)
{
	return (bytes + 3) & ~(size_t)3;
}

static bool write_file(const char *path, mode_t mode, const char *content, size_t bytes)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode & 07777);
	ssize_t done;

	while (fd >= 0 && bytes > 0 && (done = write(fd, content, bytes)) > 0) {
		content += done;
		bytes -= (size_t)done;
	}
	return fd >= 0 && close(fd) == 0 && bytes == 0;
}

static bool make(const char *path, mode_t mode, const char *content, size_t bytes)
{
	char target[4096];

	if (S_ISDIR(mode))
		return mkdir(path, mode & 07777) == 0 || errno == EEXIST;
	if (S_ISREG(mode))
		return write_file(path, mode, content, bytes);
	if (!S_ISLNK(mode) || bytes >= sizeof(target)) {
		errno = EINVAL;
		return false;
	}
	memcpy(target, content, bytes);
	target[bytes] = '\0';
	return symlink(target, path) == 0;
}

/* An archive comes from our own runner; a name that leads out of the folder is refused even so. */
static bool is_inside(const char *name, size_t bytes)
{
	if (bytes < 2 || name[bytes - 1] != '\0' || strlen(name) != bytes - 1 || *name == '/')
		return false;
	return strncmp(name, "..", 2) != 0 && !strstr(name, "/..");
}

const char *unpack(const char *archive, size_t bytes)
{
	size_t at = 0;

	errno = 0;
	for (;;) {
		const char *header = archive + at, *name = header + HEADER_BYTES;
		size_t mode, content_bytes, name_bytes, content;

		if (bytes - at < HEADER_BYTES || memcmp(header, MAGIC, sizeof(MAGIC) - 1) != 0 ||
		    !number(header, MODE, &mode) || !number(header, FILE_SIZE, &content_bytes) ||
		    !number(header, NAME_SIZE, &name_bytes))
			return "the archive of files is damaged";
		if (name_bytes > bytes - at - HEADER_BYTES)
			return "the archive of files is cut";
		content = aligned(at + HEADER_BYTES + name_bytes);
		if (content > bytes || content_bytes > bytes - content)
			return "the archive of files is cut";
		if (!is_inside(name, name_bytes))
			return "the archive of files has a name that leads out of its folder";
		if (strcmp(name, TRAILER) == 0)
			return NULL;
		if (!make(name, (mode_t)mode, archive + content, content_bytes))
			return name;
		at = aligned(content + content_bytes);
		if (at > bytes)
			return "the archive of files is cut";
	}
}
