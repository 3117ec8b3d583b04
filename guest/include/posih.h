/*
 * POSIH, the portable operating system interface for HyperBench (HyperBench, SIGMETRICS 2019,
 * Table 2): all that a benchmark may use. core/ implements what is portable, arch/ the rest; nothing
 * outside arch/ knows the name of a CPU's register. The paper's names are kept where it gives one.
 *
 * Units are in the names: _ticks are ticks of rdtimer(), _bytes are bytes, _pages are pages of
 * the size named beside them. Functions return false or NULL when they cannot do what is asked;
 * none of them halts the machine.
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

/* Starts up to `wanted` CPUs in all, this one included. Returns how many run. */
unsigned start_others(unsigned wanted);

/* How many CPUs run. */
unsigned cpus_online(void);

/* The state in which a CPU waits for work: halted until an interrupt comes, or running. */
enum cpu_rest { CPU_HALTED, CPU_RUNNING };

/* Puts another CPU in that state. False if it did not get there. */
bool cpu_set_rest(unsigned cpu, enum cpu_rest rest);

struct spinlock {
	uint32_t taken;
};
void spin_lock(struct spinlock *lock);
void spin_unlock(struct spinlock *lock);

/* ---- Interrupts and faults ---------------------------------------------------------------- */

/* Sends CPU `cpu` an interrupt that does nothing but be counted. */
void on_cpu(unsigned cpu);

/* What the receivers of on_cpu() counted since ipi_reset_counts(). */
struct ipi_counts {
	uint64_t received;
	uint64_t found_halted;	/* ... on a CPU that stood in its halt instruction */
	uint64_t found_running; /* ... on a CPU that ran its waiting loop */
};
void ipi_reset_counts(void);
struct ipi_counts ipi_counts(void);

/* An exception. `name` is a short constant such as "#UD". */
struct fault {
	unsigned vector;
	const char *name;
	uint64_t error, address, ip;
};

/* Calls fn(arg). If it raises an exception, gives that up and returns false with *fault filled. */
bool try_call(void (*fn)(void *), void *arg, struct fault *fault);

/* ---- Memory ------------------------------------------------------------------------------- */

/* Reads the machine's memory map and prepares the heap and the untouched region. Both begin so many pages
 * of 4 KiB, fewer than 512, later: what is given out lies elsewhere. */
bool early_mem_init(uint64_t shift_pages);

/* Maps the whole physical memory 1:1. */
bool setup_mmu(void);

/* All the memory that the machine says it has. */
uint64_t memory_bytes(void);

/* A page of 4 KiB or 2 MiB, zeroed, aligned to its size; NULL when the heap is used up. */
void *heap_alloc_page(uint64_t page_bytes);

/* Physical memory that nothing has touched since the machine started, aligned to page_bytes.
 * Returns its physical address, 0 when there is not enough. It is not mapped anywhere but 1:1. */
uint64_t untouched_take(uint64_t page_bytes, uint64_t pages);

/* How many untouched pages of that size are left. */
uint64_t untouched_pages(uint64_t page_bytes);

/* Is there a mapping granularity of that many bytes (4 KiB, 2 MiB, 1 GiB) on this CPU? */
bool page_size_supported(uint64_t page_bytes);

/* A range of virtual addresses, 512 GiB long, that belongs to one benchmark at a time. */
uint64_t window_base(void);

/* Takes all that is mapped in the window away. */
void window_clear(void);

/* Maps [va, va + page_bytes) to pa, granularity page_bytes. False: no memory for the tables. */
bool install_pte(uint64_t va, uint64_t pa, uint64_t page_bytes);

/* The physical address that the page tables give for va; *page_bytes is the granularity.
 * False where va is not mapped. Walks the tables by hand: the TLB is not asked. */
bool translate(uint64_t va, uint64_t *pa, uint64_t *page_bytes);

/* Was the page at va used by this mapping since install_pte()? (The accessed bit.) */
bool page_accessed(uint64_t va);

/* Does this CPU keep accessed bits? Where it does not, page_accessed() tells nothing. */
bool page_accessed_known(void);

void mem_tlb_flush(void);

/* ---- I/O ---------------------------------------------------------------------------------- */

/* in8(), out8(), mmio_read32(), mmio_write32(): common/device_io.h. */

/* The console is the first serial port; it is also the record line. */
/* console_write(), console_printf(): common/console.h. Bytes of two CPUs may mix. */

/* Does a serial port answer at `port`? Leaves it as it was. */
bool serial_port_present(uint64_t port);

/* Is it among `registers` registers from `port` on that the console needs as they are? All that it
 * has, but for scratch_port(). */
bool console_needs_port(uint64_t port, uint64_t registers);

/* A register of the console's device that keeps a byte and does nothing else; PORT_NONE: there is
 * none. Which bits of a byte it keeps: scratch_pattern(). */
uint64_t scratch_port(void);

/* A byte, not 0, that scratch_port() keeps; another for another `which`, 0 or 1. */
uint8_t scratch_pattern(unsigned which);

/* Are all bytes that were given to the serial port at `port` sent? Waits a bounded time. */
bool serial_port_drained(uint64_t port);

/* Is all that was written to the console sent, so that the next byte leaves at once? Waits a
 * bounded time. */
bool console_drained(void);

/* Hands one byte to the console's device, without a look at whether it has room: for a console
 * that was found drained. When this returns, the device has the byte. */
void console_put(uint8_t byte);

/* ---- Clock -------------------------------------------------------------------------------- */

/* The CPU's counter, ordered: all that stands before has been done, nothing behind has begun. */
uint64_t rdtimer(void);

/* ---- Hypercalls --------------------------------------------------------------------------- */

enum hypercall_abi { HYPERCALL_NONE, HYPERCALL_KVM, HYPERCALL_XEN, HYPERCALL_HYPERV };

/* ---- What a benchmark is told -------------------------------------------------------------- */

/* The unit of rdtimer()'s ticks: time, or executed instructions (the deterministic lab). */
enum tick_unit { UNIT_TIME, UNIT_INSNS };

struct params {
	enum tick_unit unit;
	enum hypercall_abi hypercall;
	uint64_t samples; /* 0: the row's own choice */
	uint64_t iters;	  /* 0: the row's own choice */
	uint64_t page_bytes, ws_bytes;
	uint64_t in_port, out_port, print_port; /* PORT_NONE: there is none */
	uint64_t doorbell;			/* where a monitor listens; PORT_NONE: nowhere */
	uint32_t channel;	  /* Xen: event channel to a domain that answers events; 0: none */
	uint32_t channel_unpaged; /* ... and that does so with paging off */
	uint64_t answers; /* physical address at which that domain counts its answers; 0: nowhere */
	bool answer;	  /* be that other domain */
	uint64_t smp;	  /* 0: all CPUs */
	uint64_t pad;	  /* passes of an empty loop before each timed batch */
	uint64_t
		seed; /* which loop comes first, and where data lies; 0: control, and where they lie without */
	bool external; /* send marker bytes around each timed batch */
	uint64_t nonce;
	const char *bench; /* regular expression; "" is all */
	const char *
		rows; /* names in the order in which they run, with commas, up to a blank; NULL: as in the image */
	/* What the architecture allows: see struct cmdline_limits in core/cmdline.h. */
	const char *tick_unit;
	uint64_t port_max;
};
#define PORT_NONE UINT64_MAX

#endif
