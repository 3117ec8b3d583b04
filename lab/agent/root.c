/* The root file system; see root.h. */
#include "root.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common/duties.h"
#include "paths.h"
#include "say.h"

#define NEW_ROOT "/root"
/* How long its driver may take to show the device, in the machine's time. */
#define WAITS	 10000
#define WAIT_NS	 1000000

/* A device is there before it can be opened. */
static void wait_for(const char *device)
{
	int fd;

	for (unsigned i = 0; (fd = open(device, O_RDONLY | O_CLOEXEC)) < 0; i++) {
		if (i == WAITS)
			give_up("there is no %s: is the NVDIMM given to the machine, and are the modules of its "
				"driver in " CONFIG_FILE "? (%s)",
				device, strerror(errno));
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	}
	close(fd);
}

static void mount_memory(const char *path)
{
	if (mount("tmpfs", path, "tmpfs", 0, "mode=1777") < 0)
		give_up("can't mount memory on %s of the root file system: %s", path,
			strerror(errno));
}

/* What udev would make elsewhere. */
static void fill_dev(void)
{
	(void)symlink("/proc/self/fd", "/dev/fd");
	(void)symlink("/proc/self/fd/0", "/dev/stdin");
	(void)symlink("/proc/self/fd/1", "/dev/stdout");
	(void)symlink("/proc/self/fd/2", "/dev/stderr");
	(void)mkdir("/dev/pts", 0755);
	(void)mount("devpts", "/dev/pts", "devpts", 0, "mode=0620,ptmxmode=0666");
	(void)mkdir("/dev/shm", 01777);
	mount_memory("/dev/shm");
}

void root_enter(const char *device)
{
	static const char *const written[] = { "/tmp", "/run", "/var/log", "/var/tmp" };
	const char *failed;

	wait_for(device);
	(void)mkdir(NEW_ROOT, 0755);
	if (mount(device, NEW_ROOT, "erofs", MS_RDONLY, NULL) < 0)
		give_up("can't mount %s as EROFS: %s", device, strerror(errno));
	if (mount("/", NEW_ROOT "/lab", NULL, MS_BIND, NULL) < 0)
		give_up("can't show the initramfs as /lab of the root file system: %s",
			strerror(errno));
	if (chdir(NEW_ROOT) < 0 || mount(".", "/", NULL, MS_MOVE, NULL) < 0 || chroot(".") < 0 ||
	    chdir("/") < 0)
		give_up("can't make %s the root: %s", device, strerror(errno));
	failed = duties_mount();
	if (failed)
		give_up("can't mount %s of the root file system: %s", failed, strerror(errno));
	fill_dev();
	for (unsigned i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		mount_memory(written[i]);
}

static int remove_one(const char *path, const struct stat *status, int kind, struct FTW *walk)
{
	static const char *const kept[] = { MARKS ".in", MARKS ".out", GUEST_CONSOLE };

	(void)status;
	for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++)
		if (strcmp(path, kept[i]) == 0)
			return 0;
	if (walk->level > 0)
		(void)(kind == FTW_DP ? rmdir(path) : unlink(path));
	return 0;
}

void root_clean(void)
{
	static const char *const written[] = { "/tmp", "/var/tmp", "/dev/shm" };

	for (unsigned i = 0; i < sizeof(written) / sizeof(written[0]); i++)
		(void)nftw(written[i], remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
}
