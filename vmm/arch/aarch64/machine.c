/* Memory, serial ports and KVM details of the Arm machine (see vmm_arch.h). boot.c creates the interrupt
 * controller, after the vCPUs. */
#include <arch/board.h>

#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "vmm/vmm_arch.h"
#include "common/pl011.h"

/* Never on Arm: KVM requires EL2, if only a virtual one. */
bool arch_kvm_is_software(void)
{
	return false;
}

void arch_memory_layout(struct memory *memory, uint64_t bytes)
{
	*memory = (struct memory){ .bytes = bytes, .count = 1 };
	memory->regions[0] = (struct region){ .guest = RAM, .bytes = bytes };
}

uint64_t arch_pmem_address(const struct memory *memory)
{
	return (RAM + memory->bytes + PMEM_BOUNDARY - 1) & ~(PMEM_BOUNDARY - 1);
}

static struct vm *protected_vm; /* at most one in a process */

/* The host gets SIGSEGV for a page of a protected VM that the guest does not share. Such a page in a command or a ring
 * ends the guest, not the monitor. */
static void on_fault(int number, siginfo_t *info, void *context)
{
	const struct memory *memory = &protected_vm->memory;

	(void)context;
	if ((uint64_t)info->si_addr - (uint64_t)memory->base >= memory->bytes) {
		signal(number, SIG_DFL); /* our own bug: on return it happens again */
		return;
	}
	vm_end(protected_vm, END_KVM,
	       "the guest does not share a page that this monitor reads or writes: boot "
	       "guest-protected.img, or a kernel that shares its pages");
	/* Only this thread, which can't go on. If it has the devices' lock, another vCPU may wait for the lock until the
	 * monitor's own end, and the record `bye` is then lost. */
	syscall(SYS_exit, 0);
}

bool arch_machine_init(struct vm *vm)
{
	struct sigaction action = { .sa_sigaction = on_fault, .sa_flags = SA_SIGINFO };

	if (!config_protects(vm->config))
		return true;
	protected_vm = vm;
	return sigaction(SIGSEGV, &action, NULL) == 0 || fail("can't catch SIGSEGV: %m");
}

struct uart {
	struct pl011 port;
	struct vm *vm; /* NULL: no interrupt */
	bool level;    /* of the interrupt line */
};

static void uart0_send(void *context, uint8_t byte)
{
	vm_console(context, byte);
}

static void set_line(struct uart *uart, bool level)
{
	struct kvm_irq_level line = { .level = level };

	if (level == uart->level || !uart->vm)
		return;
	uart->level = level;
	line.irq = (uint32_t)KVM_ARM_IRQ_TYPE_SPI << KVM_ARM_IRQ_TYPE_SHIFT | UART0_INTID;
	if (ioctl(uart->vm->fd, KVM_IRQ_LINE, &line) < 0)
		vm_end(uart->vm, END_KVM, "can't raise the first serial port's interrupt: %m");
}

/* Not inlined, so that reads, which benchmarks measure, do as little as possible. */
static __attribute__((noinline)) void uart_write_access(struct uart *uart, struct access *access)
{
	pl011_write(&uart->port, access->offset, (uint32_t)access->value);
	set_line(uart, pl011_line(&uart->port));
}

static void uart_access(void *context, struct access *access)
{
	struct uart *uart = context;

	if (access->write)
		uart_write_access(uart, access);
	else /* nothing is received, so reads have no side effects */
		pl011_read(&uart->port, access->offset, &access->value);
}

bool arch_add_devices(struct vm *vm)
{
	struct uart *uarts = calloc(2, sizeof(*uarts)); /* never freed */
	const struct device rows[] = {
		{ "UART0", SPACE_MMIO, UART0, PL011_BYTES, uart_access, &uarts[0] },
		{ "UART1", SPACE_MMIO, UART1, PL011_BYTES, uart_access, &uarts[1] },
	};

	if (!uarts)
		return fail("no memory for serial ports");
	uarts[0] = (struct uart){ .port = { .send = uart0_send, .context = vm }, .vm = vm };
	return devices_add(&vm->devices, &rows[0]) && devices_add(&vm->devices, &rows[1]) &&
	       assigned_add(vm);
}
