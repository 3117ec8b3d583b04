/* Commands; see command.h. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "message.h"
#include "pins.h"

#define NOT_STARTED 127

void command_setup(void)
{
	static char *const variables[] = {
		"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
		"HOME=/tmp",
		"LC_ALL=C",
		"TERM=dumb",
		"SERVER=10.0.0.2",
	};

	clearenv();
	for (unsigned i = 0; i < sizeof(variables) / sizeof(variables[0]); i++)
		putenv(variables[i]);
	(void)chdir("/tmp");
	(void)sethostname("lab", 3);
}

void command_units(uint64_t units)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%lu", units);
	setenv("UNITS", digits, 1);
}

/* The command's process: waits at the gate, then becomes the shell. */
static _Noreturn void become(const char *line, const char *output, int network, int gate)
{
	int in = open("/dev/null", O_RDONLY), out;
	char byte = 0;

	setsid();
	unlink(output);
	out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (out < 0)
		out = open("/dev/null", O_WRONLY);
	if (in < 0 || out < 0 || dup2(in, STDIN_FILENO) < 0 || dup2(out, STDOUT_FILENO) < 0 ||
	    dup2(out, STDERR_FILENO) < 0)
		_exit(NOT_STARTED);
	close(in);
	close(out);
#if SEVERAL_CPUS
	/* Servers: clients have a CPU of their own, on which this process has begun. */
	if (network >= 0)
		pins_leave(CLIENTS_CPU);
#endif
	if (network >= 0 && setns(network, CLONE_NEWNET) < 0) {
		fprintf(stderr, "can't enter the network namespace: %s\n", strerror(errno));
		_exit(NOT_STARTED);
	}
	if (write(gate, &byte, 1) != 1 || read(gate, &byte, 1) != 1)
		_exit(NOT_STARTED);
	execl("/bin/sh", "sh", "-c", line, NULL);
	fprintf(stderr, "can't run /bin/sh: %s\n", strerror(errno));
	_exit(NOT_STARTED);
}

bool command_prepare(struct command *command, const char *line, const char *output, int network)
{
	int gates[2];
	char byte;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, gates) < 0)
		return false;
	command->gate = gates[0];
	command->pid = fork();
	if (command->pid == 0)
		become(line, output, network, gates[1]);
	close(gates[1]);
	command->ended = -1;
	if (command->pid < 0) {
		close(command->gate);
		return false;
	}
	/* 0 bytes: it has ended already, which command_run() sees. */
	(void)!read(command->gate, &byte, 1);
	command->ended = (int)syscall(SYS_pidfd_open, command->pid, 0);
	return true;
}

uint64_t command_run(struct command *command, bool serves)
{
	struct pollfd ended = { .fd = command->ended, .events = POLLIN };
	int status = 0, late;

	(void)!send(command->gate, "", 1, MSG_NOSIGNAL);
	do
		late = poll(&ended, 1, COMMAND_LIMIT_S * 1000);
	while (late < 0 && errno == EINTR);
	if (late == 0)
		kill(command->pid, SIGKILL);
	while (waitpid(command->pid, &status, 0) < 0 && errno == EINTR)
		;
	if (late == 0 || !serves)
		kill(-command->pid, SIGKILL);
	close(command->ended);
	close(command->gate);
	if (late == 0)
		return STATUS_LIMIT;
	return WIFSIGNALED(status) ? 128 + (uint64_t)WTERMSIG(status)
				   : (uint64_t)WEXITSTATUS(status);
}

/* The last line of a text that is not blank. */
static void last_line(char *text, size_t bytes, char *line, size_t size)
{
	struct text out;
	char *begin;

	while (bytes > 0 && (unsigned char)text[bytes - 1] <= ' ')
		bytes--;
	text[bytes] = '\0';
	begin = memrchr(text, '\n', bytes);
	text_start(&out, line, size);
	text_printf(&out, "%s", begin ? begin + 1 : text);
}

void command_outcome(uint64_t status, const char *output, struct outcome *outcome)
{
	int fd = open(output, O_RDONLY | O_CLOEXEC);
	static char text[4096];
	struct statvfs space;
	off_t size;
	ssize_t bytes;

	*outcome = (struct outcome){ .status = status };
	if (fd >= 0) {
		size = lseek(fd, 0, SEEK_END);
		bytes = pread(fd, text, sizeof(text) - 1,
			      size >= (off_t)sizeof(text) ? size - (off_t)sizeof(text) + 1 : 0);
		last_line(text, bytes > 0 ? (size_t)bytes : 0, outcome->said,
			  sizeof(outcome->said) - 16);
		close(fd);
	}
	if (status && statvfs("/tmp", &space) == 0 && space.f_bfree == 0)
		strcat(outcome->said, *outcome->said ? "; /tmp is full" : "/tmp is full");
}

void command_do(const char *line, const char *output, int network, bool serves,
		struct outcome *outcome)
{
	struct command command;

	if (command_prepare(&command, line, output, network)) {
		command_outcome(command_run(&command, serves), output, outcome);
		return;
	}
	*outcome = (struct outcome){ .status = NOT_STARTED };
	snprintf(outcome->said, sizeof(outcome->said), "can't make a process: %s", strerror(errno));
}

void command_end_all(pid_t spared)
{
	siginfo_t info;

	if (!spared)
		kill(-1, SIGKILL);
	for (;;) {
		info.si_pid = 0;
		if (waitid(P_ALL, 0, &info, WEXITED | WNOWAIT | (spared ? WNOHANG : 0)) < 0 ||
		    info.si_pid == 0 || info.si_pid == spared)
			return;
		waitpid(info.si_pid, NULL, 0);
	}
}
