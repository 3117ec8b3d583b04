/* The first process' duties; see init.h. Called by main. */
#include "init.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

void init_mounts(void)
{
	static const char *const mounts[][2] = { { "proc", "/proc" },
						 { "sysfs", "/sys" },
						 { "devtmpfs", "/dev" } };

	for (unsigned i = 0; i < sizeof(mounts) / sizeof(mounts[0]); i++) {
		(void)mkdir(mounts[i][1], 0755);
		if (mount(mounts[i][0], mounts[i][1], mounts[i][0], 0, NULL) < 0 && errno != EBUSY)
			fprintf(stderr, "vmm: can't mount %s\n", mounts[i][1]);
	}
}

bool init_modules(const struct config *config, struct error *error)
{
	for (unsigned i = 0; i < config->module_count; i++) {
		char path[MAX_PATH_BYTES];
		size_t length = strcspn(config->modules[i], " ");
		const char *options = config->modules[i] + length; /* " key=value ...", or "" */
		int fd;

		memcpy(path, config->modules[i], length);
		path[length] = '\0';
		fd = open(path, O_RDONLY | O_CLOEXEC);
		if (fd < 0 || (syscall(SYS_finit_module, fd, options, 0) < 0 && errno != EEXIST))
			return error_set(error, "can't load the module %s: %m", config->modules[i]);
		close(fd);
	}
	return true;
}

void init_power_off(void)
{
	sync();
	if (reboot(RB_POWER_OFF) < 0)
		perror("vmm: the machine can't be powered off");
	for (;;)
		pause();
}
