/* What the agent has to do: what the machine is, and what a launch asks of it. Pure. */
#pragma once

#include "common/limits.h"
#include "common/text.h"

#define MAX_MODULES   64
#define MAX_WORDS     255
#define MAX_WORKLOADS 256
#define MAX_SAMPLES   64
#define MAX_NAME      64 /* bytes of a workload's name */
#define MAX_SETUPS    32
#define MAX_SERVERS   8
#define MAX_SOCKETS   8
#define MAX_PINS      8
#define MAX_DEPTH     64

#define MAX_FILES	 16
#define MAX_SERVER_BYTES 1000

enum role { ROLE_NONE, ROLE_NATIVE, ROLE_HOST, ROLE_GUEST };

enum device_kind { DEVICE_NONE, DEVICE_DISK, DEVICE_NET };

/* Requests that the agent itself makes to a device of the VM. */
struct requests {
	enum device_kind kind;
	const char *device; /* the disk's path, or the address that echoes are sent to */
	uint64_t depth;	    /* how many at a time */
	bool busy;	    /* a process beside keeps the vCPU from ever being idle */
};

struct workload {
	const char *name;
	uint64_t units;	  /* that one `run` does */
	uint64_t shorter; /* units of the run that is subtracted from the measured one; 0: none */
	bool placed, inside;
	bool steps;				   /* its transactions are taken apart */
	const char *prepare, *serve, *run, *proof; /* for sh -c; NULL: none */
	const char *beside;			   /* beside them, on the side of clients */
	struct requests requests;		   /* in place of `run` */
};

/* What is on which CPU of the machine. */
struct place {
	const char *what; /* server: a command for sh -c; pin: how the thread's name begins */
	unsigned cpu;
};

/* A file that commands of workloads find in FILES_FOLDER. */
struct file {
	const char *name;
	char *text;
	size_t bytes;
};

/* Points into the texts that it was read from. */
struct config {
	char *modules[MAX_MODULES]; /* FILE [KEY=VALUE ...] */
	char *words[MAX_WORDS + 1]; /* of the command that starts the guest; NULL behind them */
	struct workload workloads[MAX_WORKLOADS];
	unsigned module_count, word_count, workload_count;
	char *setups[MAX_SETUPS]; /* for sh -c */
	char *sockets[MAX_SOCKETS];
	struct place servers[MAX_SERVERS], pins[MAX_PINS];
	unsigned setup_count, socket_count, server_count, pin_count;
	struct file files[MAX_FILES];
	unsigned file_count;
	const char *root, *append;
	uint64_t queues;   /* pairs of the VM's network card */
	uint64_t doorbell; /* of the hypervisor below; 0: none */
	enum role role;
};

/* Reads what is the same in each launch of a machine, and modifies the text. False: `error` says why. */
bool config_read(struct config *config, char *text, size_t bytes, struct text *error);
/* Reads what a launch adds to it: append= and the workloads. */
bool config_add(struct config *config, char *text, size_t bytes, struct text *error);
const struct workload *config_workload(const struct config *config, const char *name, size_t bytes);

/* What the runner's words ask for. */
struct selection {
	const struct workload *rows[MAX_WORKLOADS];
	unsigned count;
	uint64_t nonce, pad, seed, samples, cpus_wanted;
	bool insns; /* the unit of a tick is an instruction */
};

/* Reads append=. Words that it does not know are ignored. False: `error` says why. */
bool selection_read(struct selection *selection, const struct config *config, struct text *error);
