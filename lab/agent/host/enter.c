/*
 * Enters namespaces of this host, in which the agent is the first process and sees a root file system of the
 * lab's: what QEMU is for a machine of the lab, this program is for the host itself.
 *	enter --usr FOLDER --files ARCHIVE [--root-image FILE]
 *	enter --check		only says whether this user may make the namespaces
 * FOLDER is the /usr of the root; the archive has all else, and /lab/init, which is started. Everything is in
 * memory and in namespaces, which end with this program, however it ends. Standard output is the agent's console.
 *
 * Exit status: 0 when the agent has "powered off", and for --check; 1 and a line on standard error for anything that failed.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../paths.h"
#include "unpack.h"

/* Any folder that every system has: it is hidden by a file system in memory, in our namespace only. */
#define HERE "/tmp"

struct asked {
	const char *usr, *files, *image;
	int usr_fd, image_fd; /* -1: none */
	bool one_user, check;
	const char *archive;
	size_t archive_bytes;
};

static _Noreturn void fail(const char *format, ...) __attribute__((format(printf, 1, 2)));
static _Noreturn void fail(const char *format, ...)
{
	va_list values;

	fprintf(stderr, "enter: ");
	va_start(values, format);
	vfprintf(stderr, format, values);
	va_end(values);
	fprintf(stderr, "\n");
	exit(1);
}

static void read_arguments(struct asked *asked, int count, char *const words[])
{
	static const struct option options[] = { { "usr", required_argument, NULL, 'u' },
						 { "files", required_argument, NULL, 'f' },
						 { "root-image", required_argument, NULL, 'i' },
						 { "check", no_argument, NULL, 'c' },
						 { NULL, 0, NULL, 0 } };
	int option;

	*asked = (struct asked){ .usr_fd = -1, .image_fd = -1 };
	while ((option = getopt_long(count, words, "", options, NULL)) >= 0)
		switch (option) {
		case 'u':
			asked->usr = optarg;
			break;
		case 'f':
			asked->files = optarg;
			break;
		case 'i':
			asked->image = optarg;
			break;
		case 'c':
			asked->check = true;
			break;
		default:
			exit(2);
		}
	if (optind != count || (!asked->check && (!asked->usr || !asked->files)))
		fail("usage: enter --check | --usr FOLDER --files ARCHIVE [--root-image FILE]");
}

/* Before anything is mounted over them, and in our namespace of mounts: those of another can't be mounted again. */
static void open_all(struct asked *asked)
{
	struct stat status;
	void *archive;
	int fd;

	asked->usr_fd = open(asked->usr, O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (asked->usr_fd < 0)
		fail("can't open %s: %s", asked->usr, strerror(errno));
	if (asked->image) {
		asked->image_fd = open(asked->image, O_PATH | O_CLOEXEC);
		if (asked->image_fd < 0)
			fail("can't open %s: %s", asked->image, strerror(errno));
	}
	fd = open(asked->files, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &status) < 0)
		fail("can't read %s: %s", asked->files, strerror(errno));
	asked->archive_bytes = (size_t)status.st_size;
	archive = mmap(NULL, asked->archive_bytes, PROT_READ, MAP_PRIVATE, fd, 0);
	if (archive == MAP_FAILED)
		fail("can't map %s: %s", asked->files, strerror(errno));
	asked->archive = archive;
	close(fd);
}

static bool write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);
	bool done = fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text);

	if (fd >= 0)
		close(fd);
	return done;
}

static void make_file(const char *path)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);

	if (fd < 0)
		fail("can't make %s of the root file system: %s", path, strerror(errno));
	close(fd);
}

/* Without root: a user namespace, in which this user is root. Returns whether it is one. */
static bool become_root(void)
{
	unsigned user = geteuid(), group = getegid();
	char map[64];

	if (user == 0)
		return false;
	if (unshare(CLONE_NEWUSER) < 0)
		fail("this system does not let users make user namespaces (%s): run as root, or allow them: "
		     "sysctl kernel.unprivileged_userns_clone=1, user.max_user_namespaces=10000 or "
		     "kernel.apparmor_restrict_unprivileged_userns=0, whichever it has",
		     strerror(errno));
	snprintf(map, sizeof(map), "0 %u 1", user);
	if (!write_text("/proc/self/setgroups", "deny") || !write_text("/proc/self/uid_map", map))
		fail("can't become root of a user namespace: %s: run as root", strerror(errno));
	snprintf(map, sizeof(map), "0 %u 1", group);
	if (!write_text("/proc/self/gid_map", map))
		fail("can't become root of a user namespace: %s: run as root", strerror(errno));
	return true;
}

/* Its only user: servers that change to another one stay who they are. */
static void name_one_user(void)
{
	static const char users[] =
		"root:x:0:0:root:/root:/bin/sh\nnobody:x:0:0:nobody:/tmp:/bin/sh\n";
	static const char groups[] = "root:x:0:\nnogroup:x:0:\n";

	if (unlink("etc/passwd") < 0 || unlink("etc/group") < 0)
		fail("the root file system has no etc/passwd and etc/group");
	make_file("etc/passwd");
	make_file("etc/group");
	if (!write_text("etc/passwd", users) || !write_text("etc/group", groups))
		fail("can't write etc/passwd of the root file system: %s", strerror(errno));
}

static void leave_the_host(void)
{
	if (unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWUTS | CLONE_NEWIPC) < 0)
		fail("can't make namespaces: %s: run as root, or where a container allows it",
		     strerror(errno));
}

static void mount_or_fail(const char *what, const char *where, const char *kind,
			  unsigned long flags, const char *options)
{
	if (mount(what, where, kind, flags, options) < 0)
		fail("can't mount %s on %s of the root file system: %s", what, where,
		     strerror(errno));
}

/* Shows what is open as `fd` at `path`, read only. */
static void bind(int fd, const char *path)
{
	unsigned long flags = MS_BIND | MS_REMOUNT | MS_RDONLY;
	struct statvfs status;
	char from[32];

	snprintf(from, sizeof(from), "/proc/self/fd/%d", fd);
	mount_or_fail(from, path, NULL, MS_BIND, NULL);
	/* A user namespace may not take away what the file system below has. */
	if (statvfs(path, &status) == 0)
		flags |= status.f_flag & (MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_NOATIME |
					  MS_NODIRATIME | MS_RELATIME);
	mount_or_fail("itself", path, NULL, flags, NULL);
}

/* Devices of this host that programs may use: no others are there. */
static void fill_dev(void)
{
	static const char *const devices[] = { "null", "zero", "full",	  "random",   "urandom",
					       "tty",  "kvm",  "net/tun", "vhost-net" };
	static const char *const links[][2] = { { "/proc/self/fd", "dev/fd" },
						{ "/proc/self/fd/0", "dev/stdin" },
						{ "/proc/self/fd/1", "dev/stdout" },
						{ "/proc/self/fd/2", "dev/stderr" } };
	char from[64], to[64];

	(void)mkdir("dev/net", 0755);
	for (size_t i = 0; i < sizeof(devices) / sizeof(devices[0]); i++) {
		snprintf(from, sizeof(from), "/dev/%s", devices[i]);
		snprintf(to, sizeof(to), "dev/%s", devices[i]);
		if (access(from, F_OK) < 0)
			continue;
		make_file(to);
		mount_or_fail(from, to, NULL, MS_BIND, NULL);
	}
	for (size_t i = 0; i < sizeof(links) / sizeof(links[0]); i++)
		(void)symlink(links[i][0], links[i][1]);
	if (mkdir("dev/pts", 0755) == 0)
		mount_or_fail("devpts", "dev/pts", "devpts", 0, "newinstance,ptmxmode=0666");
	(void)symlink("pts/ptmx", "dev/ptmx");
	if (mkdir("dev/shm", 01777) == 0)
		mount_or_fail("tmpfs", "dev/shm", "tmpfs", 0, "mode=1777");
}

static void make_root(const struct asked *asked)
{
	const char *wrong;

	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0 ||
	    mount("tmpfs", HERE, "tmpfs", 0, "mode=0755") < 0 || chdir(HERE) < 0)
		fail("can't mount a file system in memory: %s", strerror(errno));
	umask(0);
	wrong = unpack(asked->archive, asked->archive_bytes);
	if (wrong)
		fail("can't unpack the root file system: %s%s%s", wrong, errno ? ": " : "",
		     errno ? strerror(errno) : "");
	if (asked->one_user)
		name_one_user();
	(void)mkdir("usr", 0755);
	bind(asked->usr_fd, "usr");
	if (asked->image_fd >= 0) {
		make_file("lab/root.img");
		bind(asked->image_fd, "lab/root.img");
	}
	mount_or_fail("proc", "proc", "proc", 0, NULL);
	mount_or_fail("sysfs", "sys", "sysfs", 0, NULL);
	mount_or_fail("itself", "sys", NULL, MS_BIND | MS_REMOUNT | MS_RDONLY, NULL);
	/* `ip netns exec` mounts /sys anew. A user namespace may do that only while there is one like it. */
	if (mkdir("lab/sys", 0755) == 0)
		mount_or_fail("sysfs", "lab/sys", "sysfs", 0, NULL);
	fill_dev();
	if (syscall(SYS_pivot_root, ".", ".") < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		fail("can't make it the root: %s", strerror(errno));
}

/* `life`: a pipe whose other end only the parent has. */
static _Noreturn void be_first(const struct asked *asked, const int life[2])
{
	char *const words[] = { "/lab/init", NULL };
	char *const environment[] = { ENTERED "=1", NULL };
	struct pollfd parent = { .fd = life[0] };

	close(life[1]);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
		fail("can't be ended with the parent: %s", strerror(errno));
	/* If it ended before, there is no signal. */
	if (poll(&parent, 1, 0) != 0)
		_exit(1);
	make_root(asked);
	execve(words[0], words, environment);
	fail("can't start %s: %s", words[0], strerror(errno));
}

int main(int count, char *words[])
{
	struct asked asked;
	pid_t first;
	int status, life[2];

	read_arguments(&asked, count, words);
	asked.one_user = become_root();
	leave_the_host();
	if (asked.check)
		return 0;
	open_all(&asked);
	if (pipe2(life, O_CLOEXEC) < 0)
		fail("can't make a pipe: %s", strerror(errno));
	first = fork();
	if (first < 0)
		fail("can't make a process: %s", strerror(errno));
	if (first == 0)
		be_first(&asked, life);
	while (waitpid(first, &status, 0) < 0)
		if (errno != EINTR)
			fail("lost the first process: %s", strerror(errno));
	/* The kernel ends a namespace that is powered off as if its first process had got a SIGINT (reboot(2)). */
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGINT)
		return 0;
	if (WIFSIGNALED(status))
		fail("the agent ended by signal %d", WTERMSIG(status));
	return 1;
}
