/*
 * POSIH, the portable operating system interface for HyperBench (HyperBench, SIGMETRICS 2019, Table 2):
 * everything that a benchmark may use. core/ implements the portable part, arch/ the rest; register names
 * appear only in arch/. The paper's names are kept.
 *
 * Units are in the names: _ticks are ticks of rdtimer(), _bytes are bytes, _pages are pages of the size
 * given beside them. Functions return false or NULL when they fail; none of them halts the machine.
 */
#ifndef POSIH_H
#define POSIH_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "common/limits.h"
#include "common/console_printf.h"
#include "common/device_io.h"

/* ---- SMP ---------------------------------------------------------------------------------- */

/* Starts up to `wanted` CPUs in total, including this one. Returns how many run. */
unsigned start_others(unsigned wanted);

/* How many CPUs run. */
unsigned cpus_online(void);

/* How a CPU waits for work: halted until an interrupt, or in a loop. */
enum cpu_rest { CPU_HALTED, CPU_RUNNING };

/* Makes another CPU wait that way. False: it did not reach that state. */
bool cpu_set_rest(unsigned cpu, enum cpu_rest rest);

struct spinlock {
	uint32_t taken;
};
void spin_lock(struct spinlock *lock);
void spin_unlock(struct spinlock *lock);

/* ---- Interrupts and faults ---------------------------------------------------------------- */

/* Sends CPU `cpu` an interrupt whose handler only counts it. */
void on_cpu(unsigned cpu);

/* What the receivers of on_cpu() counted since ipi_reset_counts(). */
struct ipi_counts {
	uint64_t received;
	uint64_t found_halted;	/* ... on a CPU in its halt instruction */
	uint64_t found_running; /* ... on a CPU in its waiting loop */
};
void ipi_reset_counts(void);
struct ipi_counts ipi_counts(void);

/* An exception. `name` is a short constant such as "#UD". */
struct fault {
	unsigned vector;
	const char *name;
	uint64_t error, address, ip;
};

/* Calls fn(arg). If that raises an exception, abandons the call and returns false with *fault filled. */
bool try_call(void (*fn)(void *), void *arg, struct fault *fault);

/* ---- Memory ------------------------------------------------------------------------------- */

/* Reads the machine's memory map and sets up the heap and the untouched region. Both start `shift_pages`
 * pages of 4 KiB later, fewer than 512, which moves all allocations. */
bool early_mem_init(uint64_t shift_pages);

/* Maps the whole physical memory 1:1. */
bool setup_mmu(void);

/* All the memory that the machine reports. */
uint64_t memory_bytes(void);

/* A page of 4 KiB or 2 MiB, zeroed, aligned to its size; NULL: heap exhausted. */
void *heap_alloc_page(uint64_t page_bytes);

/* Physical memory that nothing has touched since the machine started, aligned to page_bytes. Returns its
 * physical address, or 0 if there is not enough. Mapped only 1:1. */
uint64_t untouched_take(uint64_t page_bytes, uint64_t pages);

/* How many untouched pages of that size are left. */
uint64_t untouched_pages(uint64_t page_bytes);

/* Does this CPU support pages of that size (4 KiB, 2 MiB, 1 GiB)? */
bool page_size_supported(uint64_t page_bytes);

/* A range of virtual addresses that belongs to one benchmark at a time: WINDOW_BYTES of arch/'s page_entry.h. */
uint64_t window_base(void);

/* Unmaps everything in the window. */
void window_clear(void);

/* Maps [va, va + page_bytes) to pa with pages of page_bytes. False: no memory for the tables. */
bool install_pte(uint64_t va, uint64_t pa, uint64_t page_bytes);

/* The physical address of va by the page tables; *page_bytes is the page size. False: not mapped. Walks the
 * tables in software: the TLB is not used. */
bool translate(uint64_t va, uint64_t *pa, uint64_t *page_bytes);

/* Was the page at va used by this mapping since install_pte()? (The accessed bit.) */
bool page_accessed(uint64_t va);

/* Does this CPU set accessed bits? If not, page_accessed() says nothing. */
bool page_accessed_known(void);

void mem_tlb_flush(void);

/* ---- I/O ---------------------------------------------------------------------------------- */

/* in8(), out8(), mmio_read32(), mmio_write32(): common/device_io.h. */

/* The console is the first serial port; it is also the record line. */
/* console_write(), console_printf(): common/console_printf.h. Output of two CPUs may be mixed. */

/* Is there a serial port at `port`? Leaves it unchanged. */
bool serial_port_present(uint64_t port);

/* Does the console use one of the `registers` registers from `port`? That is all of its registers but
 * scratch_port(). */
bool console_needs_port(uint64_t port, uint64_t registers);

/* A read/write register of the console's device without side effects; PORT_NONE: none. scratch_pattern()
 * has values that it keeps. */
uint64_t scratch_port(void);

/* A byte, not 0, that scratch_port() keeps; different for `which` 0 and 1. */
uint8_t scratch_pattern(unsigned which);

/* Has the serial port at `port` sent all its bytes? Waits a bounded time. */
bool serial_port_drained(uint64_t port);

/* Has the console sent everything, so that the next byte leaves at once? Waits a bounded time. */
bool console_drained(void);

/* Gives one byte to the console's device without a status read: only for a console that was found drained.
 * The device has the byte when this returns. */
void console_put(uint8_t byte);

/* ---- Clock -------------------------------------------------------------------------------- */

/* The CPU's counter, ordered: everything before has completed, nothing after has started. */
uint64_t rdtimer(void);

/* ---- Hypercalls --------------------------------------------------------------------------- */

enum hypercall_abi { HYPERCALL_NONE, HYPERCALL_KVM, HYPERCALL_XEN, HYPERCALL_HYPERV };

/* ---- Parameters of a benchmark ------------------------------------------------------------- */

/* The unit of rdtimer()'s ticks: time, or executed instructions (the deterministic lab). */
enum tick_unit { UNIT_TIME, UNIT_INSNS };

struct params {
	enum tick_unit unit;
	enum hypercall_abi hypercall;
	uint64_t samples; /* 0: the row's own choice */
	uint64_t iters;	  /* 0: the row's own choice */
	uint64_t page_bytes, ws_bytes;
	uint64_t in_port, out_port, print_port; /* PORT_NONE: there is none */
	uint64_t doorbell;			/* a monitor's doorbell; PORT_NONE: none */
	uint32_t channel;	  /* Xen: event channel to a domain that answers events; 0: none */
	uint32_t channel_unpaged; /* ... and that does so with paging off */
	uint64_t answers; /* physical address at which that domain counts its answers; 0: none */
	bool answer;	  /* be the domain that answers */
	uint64_t smp;	  /* 0: all CPUs */
	uint64_t pad;	  /* passes of an empty loop before each timed batch */
	/* Which loop comes first, and where data is placed; 0: control first, default placement. */
	uint64_t seed;
	bool external; /* send marker bytes around each timed batch */
	bool xapic;    /* use the xAPIC even where there is an x2APIC */
	uint64_t nonce;
	const char *bench; /* regular expression; "" is all */
	/* Names in the order in which they run, with commas, up to a blank; NULL: the image's order. */
	const char *rows;
	/* What the architecture allows: see struct cmdline_limits in core/cmdline.h. */
	const char *tick_unit;
	uint64_t port_max;
	bool local_apic;
};
#define PORT_NONE UINT64_MAX

#endif
