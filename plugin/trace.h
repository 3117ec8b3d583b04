/*
 * What a machine executed between the marks of its guest, as whole paths: each different path is kept once, with
 * all instructions in their order. Pure: no QEMU, no files.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "vm.h"

#define MAX_INSN_BYTES 16

/* An instruction as it was translated: another one at the same address is another one here. */
struct insn {
	uint64_t address;  /* virtual */
	uint64_t location; /* of its first byte in the emulator; tells address spaces apart */
	uint8_t size, bytes[MAX_INSN_BYTES];
	bool is_mark, is_vmrun, is_eret;
	bool is_halt;	/* the CPU waits in it: HLT, MWAIT, WFI, WFE */
	bool is_output; /* may power the machine off */
	uint64_t
		identity; /* a hash of address and bytes: the same in each process of an emulator */
	uint32_t index;
	struct insn *next;
	struct step *steps; /* one for each number of instructions behind it in a block */
};

/* An instruction in a translated block. */
struct step {
	const struct insn *insn;
	uint32_t rest; /* instructions of the block behind it */
	struct step *next;
};

/* A block that was left in its middle, by an exception: the clock may have been charged for its rest. */
struct cut {
	uint32_t at;   /* index in the path of the last instruction that was executed of it */
	uint32_t rest; /* instructions behind that one */
};

/* What an instruction was found to access that its bytes do not say. */
enum access_kind {
	ACCESS_NUMBER, /* the register of this number: an MSR, an extended control register */
	ACCESS_READ,   /* the field of a VMCB at this offset */
	ACCESS_WRITE,
};

struct access {
	uint32_t at; /* its index in the path */
	uint32_t kind, which;
};

/* What is kept is bounded: beyond these numbers a trace is not whole, and says so. */
struct limits {
	uint32_t insns;	       /* different ones */
	uint32_t path;	       /* instructions of one path */
	uint32_t instructions; /* of all different paths together */
	uint32_t windows;
	uint32_t cuts;	   /* of one path; of all paths together 16 times as many */
	uint32_t accesses; /* the same */
};

struct path {
	uint64_t hash;
	uint32_t begin, length;		   /* in `instructions` */
	uint32_t cuts_begin, cuts;	   /* in `cuts` */
	uint32_t accesses_begin, accesses; /* in `accesses` */
	uint32_t next; /* with the same hash, in the table; 0: none; else its index + 1 */
};

/* The addresses whose reads of the clock (RDTSC, CNTVCT_EL0) are marks, instead of the no-operation; zeroed: none. */
struct marks {
	uint64_t first, last;
};

/* The instructions that may power a machine off. */
enum outputs {
	OUTPUTS_NONE,  /* ARM: a call of the firmware, after which nothing is executed */
	OUTPUTS_PORTS, /* x86: OUT */
	OUTPUTS_WORDS, /* RISC-V: a store of a word to a device; what the firmware does after it stores none */
};

/* Zeroed but for the limits, it is ready. */
struct trace {
	struct limits limits;
	struct marks marks;
	struct insn **insns, **buckets;
	uint32_t insn_count;
	uint32_t *now; /* the path of the open window */
	uint32_t now_length;
	struct cut *now_cuts;
	uint32_t now_cut_count;
	struct access *now_accesses;
	uint32_t now_access_count;
	struct vm vm;
	bool sees_accesses; /* trace_operand() and trace_access() are called */
	enum outputs outputs;
	const struct step *last; /* of the open window */
	bool is_open;
	const struct insn *opener; /* the mark that opens windows */
	uint32_t *instructions;
	uint32_t instruction_count;
	struct cut *cuts;
	uint32_t cut_count;
	struct access *accesses;
	uint32_t access_count;
	struct path *paths;
	uint32_t path_count, *path_buckets;
	uint32_t *windows; /* index of the path of each, in their order */
	uint32_t window_count;
	uint32_t dropped;   /* windows that were begun anew before they ended */
	const char *failed; /* why it is not whole; NULL: it is */
};

bool trace_start(struct trace *trace, const struct limits *limits);
/* The instruction, a new one or one that is known; NULL: no room, and `failed` says so. */
struct insn *trace_insn(struct trace *trace, uint64_t address, uint64_t location,
			const uint8_t *bytes, size_t size);
/* The same in a block, with so many instructions behind it; NULL: as above. */
struct step *trace_step(struct trace *trace, struct insn *insn, uint32_t rest);
/* It is executed. The first mark opens a window and any other one closes it; both are part of its path. */
void trace_execute(struct trace *trace, const struct step *step);
/* The register that says what the executed instruction accesses has this value (vm_operand()). */
void trace_operand(struct trace *trace, const struct insn *insn, uint64_t value);
/* The executed instruction reads or writes memory at a physical address; vm_is_switch() says whose to leave out. */
void trace_access(struct trace *trace, uint64_t physical, bool is_write);
