/* Tasks of the first process; see duties.h. */
#include "common/duties.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

const char *duties_mount(void)
{
	static const char *const mounts[][2] = { { "proc", "/proc" },
						 { "sysfs", "/sys" },
						 { "devtmpfs", "/dev" } };
	const char *failed = NULL;

	for (unsigned i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		(void)mkdir(mounts[i][1], 0755);
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) < 0 && errno != EBUSY)
			failed = mounts[i][1];
	}
	return failed;
}

bool duties_load_module(char *line)
{
	const char *file = strtok(line, " "), *parameters = strtok(NULL, "");
	int fd = open(file ? file : "", O_RDONLY | O_CLOEXEC);
	bool done;

	if (fd < 0)
		return false;
	done = syscall(SYS_finit_module, fd, parameters ? parameters : "", 0) == 0 ||
	       errno == EEXIST;
	close(fd);
	return done;
}

void duties_power_off(const char *who)
{
	/* A serial line as slow as a real one loses at power-off what it has not sent. */
	(void)tcdrain(STDOUT_FILENO);
	sync();
	if (reboot(RB_POWER_OFF) < 0)
		fprintf(stderr, "%s: the machine can't be powered off: %m\n", who);
	for (;;)
		pause();
}
