/* The lines of a launch; see asked.h. */
#include "asked.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "below.h"
#include "common/launch.h"
#include "files.h"
#include "paths.h"

char *asked_lines(bool saves)
{
	/* On a host, or in a VM of it, nobody stops a machine, and the lines are a file from the start. */
	if (access(LAUNCH_FILE, R_OK) != 0)
		return below_ask(saves);
	launch_lines[file_read(LAUNCH_FILE, launch_lines, MAX_LAUNCH_BYTES - 1)] = '\0';
	return launch_lines;
}

static bool write_file(const struct file *file)
{
	char path[sizeof(FILES_FOLDER) + MAX_NAME + 1];
	ssize_t done;
	int fd;

	snprintf(path, sizeof(path), FILES_FOLDER "/%s", file->name);
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	if (fd < 0)
		return false;
	done = write(fd, file->text, file->bytes);
	close(fd);
	return done == (ssize_t)file->bytes;
}

bool asked_read(struct config *config, char *lines, struct text *error)
{
	if (!config_add(config, lines, strlen(lines), error))
		return false;
	(void)mkdir(FILES_FOLDER, 0755);
	for (unsigned i = 0; i < config->file_count; i++) {
		if (!write_file(&config->files[i])) {
			text_printf(error, "can't write " FILES_FOLDER "/%s: %s",
				    config->files[i].name, strerror(errno));
			return false;
		}
	}
	return true;
}
