/* Servers of devices; see servers.h. */
#include "servers.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "paths.h"
#include "pins.h"

/* How long a server may take to make its socket, in the machine's time. */
#define WAITS	10000
#define WAIT_NS 1000000

static pid_t processes[MAX_SERVERS];
static char why[400];

const char *servers_setup(const struct config *config)
{
	struct outcome outcome;

	for (unsigned i = 0; i < config->setup_count; i++) {
		command_do(config->setups[i], STEP_OUTPUT, -1, true, &outcome);
		if (outcome.status) {
			snprintf(why, sizeof(why), "setup ended with status %lu: %s",
				 outcome.status, outcome.said);
			return why;
		}
	}
	return NULL;
}

static void output_of(unsigned server, char path[32])
{
	snprintf(path, 32, "/run/server%u.out", server);
}

static _Noreturn void become(const struct place *server, const char *output)
{
	int out = open(output, O_WRONLY | O_CREAT | O_TRUNC, 0644),
	    in = open("/dev/null", O_RDONLY);
	char line[MAX_SERVER_BYTES + 8];

	setsid();
	pins_stay(server->cpu);
	snprintf(line, sizeof(line), "exec %s", server->what);
	if (out >= 0 && in >= 0 && dup2(in, STDIN_FILENO) >= 0 && dup2(out, STDOUT_FILENO) >= 0 &&
	    dup2(out, STDERR_FILENO) >= 0)
		execl("/bin/sh", "sh", "-c", line, NULL);
	_exit(127);
}

static bool has_ended(const struct config *config, unsigned server)
{
	struct outcome said;
	char output[32];
	int status;

	if (waitpid(processes[server], &status, WNOHANG) != processes[server])
		return false;
	output_of(server, output);
	command_outcome((uint64_t)status, output, &said);
	snprintf(why, sizeof(why), "a server ended (wait status %d): %.100s: %.200s", status,
		 config->servers[server].what, said.said);
	return true;
}

static bool wait_for(const struct config *config, const char *path)
{
	struct stat status;

	for (unsigned i = 0; stat(path, &status) < 0 || !S_ISSOCK(status.st_mode); i++) {
		for (unsigned server = 0; server < config->server_count; server++)
			if (has_ended(config, server))
				return false;
		if (i == WAITS) {
			snprintf(why, sizeof(why), "no server has made its socket %s", path);
			return false;
		}
		nanosleep(&(struct timespec){ .tv_nsec = WAIT_NS }, NULL);
	}
	return true;
}

const char *servers_start(const struct config *config)
{
	char output[32];

	for (unsigned i = 0; i < config->server_count; i++) {
		output_of(i, output);
		processes[i] = fork();
		if (processes[i] == 0)
			become(&config->servers[i], output);
		if (processes[i] < 0) {
			snprintf(why, sizeof(why), "can't make a process: %s", strerror(errno));
			return why;
		}
	}
	for (unsigned i = 0; i < config->socket_count; i++)
		if (!wait_for(config, config->sockets[i]))
			return why;
	return NULL;
}
