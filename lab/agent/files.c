/* Small files; see files.h. */
#include "files.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

size_t file_read(const char *path, char *text, size_t bytes)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	size_t used = 0;
	ssize_t more = 1;

	while (fd >= 0 && used < bytes && more > 0) {
		more = read(fd, text + used, bytes - used);
		used += more > 0 ? (size_t)more : 0;
	}
	if (fd >= 0)
		close(fd);
	return used;
}

bool file_write(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}
