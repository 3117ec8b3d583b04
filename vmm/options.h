/* vmm's options, from arguments or lines of a file. Pure; fuzzed. */
#pragma once

#include "vmm/host.h"

#define MAX_VCPUS	 64
#define MAX_HOST_CPUS	 4096
#define MAX_MODULES	 8
#define MAX_PATH_BYTES	 1024
#define MAX_APPEND_BYTES 2048 /* with its NUL: the guest's limit too */
#define MAX_CONFIG_BYTES 65536
#define MAX_SOURCE_BYTES 9 /* with its NUL (docs/records.md) */
#define PIN_NONE	 (-1)

enum action { ACTION_RUN, ACTION_PROBE, ACTION_HELP, ACTION_VERSION };

struct config {
	uint64_t action;
	char kernel[MAX_PATH_BYTES], append[MAX_APPEND_BYTES];
	char initrd[MAX_PATH_BYTES];				  /* "": none */
	char pmem[MAX_PATH_BYTES];				  /* "": none */
	char console[MAX_PATH_BYTES];				  /* "-": standard output */
	char file[MAX_PATH_BYTES];				  /* config=; "": none */
	char source[MAX_SOURCE_BYTES];				  /* of its records */
	uint64_t memory_mib, console_max_bytes, vcpus, timeout_s; /* timeout 0: none */
	int pin[MAX_VCPUS];   /* the host CPU of each vCPU, or PIN_NONE */
	uint64_t insist, el2; /* el2: start the guest at a virtual EL2 (enum el2); aarch64 only */
	uint64_t drain;	      /* wait after each line until a serial console has sent it */
	uint64_t huge_pages;  /* back its memory with pages of 2 MiB */
	uint64_t hyperv;      /* offer Hyper-V's enlightenments; x86_64 only */
	uint64_t flat;	      /* the kernel has no header; aarch64 only */
	uint64_t below;	      /* doorbell of the monitor below, an I/O port; 0: none; x86_64 only */
	char modules[MAX_MODULES][MAX_PATH_BYTES];
	unsigned module_count;
#ifdef ARCH_PROTECTED
	uint64_t protect; /* a protected VM of pKVM */
#endif
#ifdef ARCH_ASSIGNED
	char assign[MAX_PATH_BYTES]; /* address of a PCI device of the host; "": none */
#endif
#ifdef ARCH_XEN
	char xen[MAX_PATH_BYTES];	   /* Xen's Image; "": none */
	char xen_append[MAX_APPEND_BYTES]; /* Xen's command line */
#endif
};

/* Values of el2: with VHE, HCR_EL2.E2H is always 1; without VHE always 0. */
enum el2 { EL2_NONE, EL2_VHE, EL2_NO_VHE };

/* Is the VM a protected one, whose memory the host can't read? A constant where there is none. */
static inline bool config_protects(const struct config *config)
{
#ifdef ARCH_PROTECTED
	return config->protect;
#else
	(void)config;
	return false;
#endif
}

void config_defaults(struct config *config);
/* `--key=value`, `--key value`, and `--flag`. */
bool config_arguments(struct config *config, int count, char *const *words);
/* Lines `key=value` and `flag`; empty lines and lines that begin with # are skipped. */
bool config_text(struct config *config, const char *text, size_t bytes);
/* Checks options against each other. Call it after all of the above. */
bool config_check(const struct config *config);
void config_help(void);
