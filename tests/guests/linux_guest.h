/*
 * What the static programs have that are the first process of a Linux guest (disk.c, net.c): lines of output, an
 * end, and modules. A program says first what its lines start with: #define SAYS "disk: ".
 */
#ifndef LINUX_GUEST_H
#define LINUX_GUEST_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <termios.h>
#include <unistd.h>

static void say(const char *format, ...)
{
	va_list values;

	va_start(values, format);
	fputs(SAYS, stdout);
	vprintf(format, values);
	fputs("\n", stdout);
	va_end(values);
	fflush(stdout);
}

/* Waits for a line from the console: the host looks at its counters before the device is gone. */
static void wait_for_host(void)
{
	for (int c = getchar(); c != EOF && c != '\n';)
		c = getchar();
}

/* Powers the guest off. On the host, only the program ends. */
static _Noreturn void stop(int status)
{
	if (getpid() != 1)
		exit(status);
	sync();
	/* The console's output may not be out yet. */
	tcdrain(STDOUT_FILENO);
	reboot(RB_POWER_OFF);
	for (;;)
		pause();
}

#define need(holds, ...)                  \
	do {                              \
		if (!(holds)) {           \
			say(__VA_ARGS__); \
			stop(1);          \
		}                         \
	} while (0)

static bool load(const char *name)
{
	char path[512];
	int fd;
	bool loaded;

	snprintf(path, sizeof(path), "/modules/%s", name);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	need(fd >= 0, "can't open %s: %m", path);
	loaded = syscall(SYS_finit_module, fd, "", 0) == 0 || errno == EEXIST;
	close(fd);
	return loaded;
}

/* Loads all modules. One that depends on others fails until these are loaded, so it tries again as long as
 * a round loads at least one. */
static void load_modules(void)
{
	struct dirent **names;
	int count = scandir("/modules", &names, NULL, alphasort), left = 0, before;

	need(count >= 0, "there is no /modules: %m");
	for (int i = 0; i < count; i++)
		if (names[i]->d_name[0] == '.')
			names[i] = NULL;
		else
			left++;
	do {
		before = left;
		for (int i = 0; i < count; i++) {
			if (names[i] && load(names[i]->d_name)) {
				names[i] = NULL;
				left--;
			}
		}
	} while (left > 0 && left < before);
	for (int i = 0; i < count; i++)
		need(!names[i], "can't load the module %s", names[i]->d_name);
}

static void mount_devices(void)
{
	mkdir("/dev", 0755);
	if (mount("devtmpfs", "/dev", "devtmpfs", 0, NULL) < 0 && errno != EBUSY)
		stop(1);
}

#endif
