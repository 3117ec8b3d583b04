/* Creates, loads and ends VMs; see vm.h. */
#include "vm/vm.h"

#include "common/arm64_image.h"
#include "common/word.h"
#include "core/arch.h"
#include "core/guest_tree.h"
#include "core/memory.h"

#define BLOCK	       0x200000ull /* alignment of everything that is loaded */
#define MAX_TREE_BYTES 16384
#define PMEM_ENDS      2 /* tables for its first and last 2 MiB, of which it may have only a part */

struct vm vms[MAX_VMS];
unsigned vm_count;

/* ---- Devices -------------------------------------------------------------------------------- */

static void uart_row(struct vcpu *vcpu, void *context, struct access *access)
{
	struct vm *vm = vcpu->vm;
	struct pl011 *port = context;

	if (access->write)
		pl011_write(port, access->offset, (uint32_t)access->value);
	else
		pl011_read(port, access->offset, &access->value);
	arch_set_line(vm, vcpu, port == &vm->uarts[0] ? GUEST_UART_INTID : GUEST_UART2_INTID,
		      pl011_line(port));
}

static void send_to_console(void *context, uint8_t byte)
{
	console_guest_text(context, (const char *)&byte, 1);
}

static void test_row(struct vcpu *vcpu, void *context, struct access *access)
{
	uint64_t *scratch = context;

	if (access->write && access->offset == TEST_DOORBELL && access->bytes == 8)
		bell_ring(vcpu, access->value);
	else if (access->offset == TEST_SCRATCH && access->write)
		*scratch = access->value;
	else if (access->offset == TEST_SCRATCH)
		access->value = *scratch;
}

static bool add_devices(struct vm *vm)
{
	const struct device rows[] = {
		{ "uart", GUEST_UART, PL011_BYTES, CAUSE_UART_READ, uart_row, &vm->uarts[0] },
		{ "uart2", GUEST_UART2, PL011_BYTES, CAUSE_UART_READ, uart_row, &vm->uarts[1] },
		{ "test", GUEST_TEST, GUEST_TEST_BYTES, CAUSE_TEST_READ, test_row, &vm->scratch }
	};

	vm->uarts[0].send = send_to_console;
	vm->uarts[0].context = &vm->console;
	for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		if (!devices_add(&vm->devices, &rows[i]))
			return false;
	return true;
}

void vm_receive(struct vm *vm, uint8_t byte)
{
	lock_take(&vm->lock);
	pl011_receive(&vm->uarts[0], byte);
	arch_set_line(vm, NULL, GUEST_UART_INTID, pl011_line(&vm->uarts[0]));
	lock_release(&vm->lock);
}

/* ---- Memory --------------------------------------------------------------------------------- */

static bool copy(struct vm *vm, uint64_t ipa, uint8_t *ours, uint64_t bytes, bool write)
{
	while (bytes) {
		uint64_t piece;
		uint8_t *its = arch_guest_memory(vm, ipa, &piece);

		if (!its)
			return false;
		piece = piece < bytes ? piece : bytes;
		__builtin_memcpy(write ? its : ours, write ? ours : its, piece);
		if (write)
			arch_publish(its, piece);
		ipa += piece;
		ours += piece;
		bytes -= piece;
	}
	return true;
}

bool vm_write(struct vm *vm, uint64_t ipa, const void *from, uint64_t bytes)
{
	return copy(vm, ipa, (uint8_t *)from, bytes, true);
}

bool vm_read(struct vm *vm, void *to, uint64_t ipa, uint64_t bytes)
{
	return copy(vm, ipa, to, bytes, false);
}

static const char *take_memory(struct vm *vm)
{
	const struct memory_range *pmem = &vm->config->pmem;
	uint64_t size = vm->config->stage2_bytes;
	uint64_t pages = table_pages_needed(vm->ram_bytes, size) +
			 table_pages_needed(pmem->end - pmem->start, size) + PMEM_ENDS;
	uint64_t tables;

	vm->ram = memory_take(&machine_memory, vm->ram_bytes, BLOCK);
	if (!vm->ram)
		return "the machine has not enough contiguous memory left: give the machine more, or "
		       "the VM less (memory=)";
	tables = memory_take(&machine_memory, pages * PAGE_BYTES, PAGE_BYTES);
	if (!tables)
		return "the machine has no memory left for its tables";
	__builtin_memset((void *)tables, 0, pages * PAGE_BYTES);
	vm->arch.pool = (struct table_pool){ .next = tables, .end = tables + pages * PAGE_BYTES };
	return NULL;
}

/* ---- Start ---------------------------------------------------------------------------------- */

const char *vm_create(unsigned number, const struct vm_config *config, unsigned first_cpu)
{
	struct vm *vm = &vms[number];
	const char *wrong;

	vm->number = number;
	vm->config = config;
	vm->vcpu_count = vm->vcpus_left = (unsigned)config->cpus;
	vm->ram_start = arch_ram_start;
	vm->ram_bytes = (config->memory_bytes + BLOCK - 1) & ~(BLOCK - 1);
	if (config->nest != MECHANISM_NONE && config->policy != POLICY_LEAN)
		return "a guest hypervisor (nest=) needs policy=lean";
	if (config->pmem.start && config->pmem.start < vm->ram_start + vm->ram_bytes)
		return "its persistent memory (pmem=) overlaps its memory: give it less (memory=)";
	if (first_cpu + vm->vcpu_count > machine_cpu_count)
		return "the machine has too few CPUs: each vCPU needs one of its own (cpus=)";
	for (unsigned i = 0; i < vm->vcpu_count; i++) {
		struct vcpu *vcpu = &vm->vcpus[i];

		vcpu->vm = vm;
		vcpu->number = i;
		vcpu->cpu = &machine_cpus[first_cpu + i];
		vcpu->cpu->vcpu = vcpu;
	}
	wrong = take_memory(vm);
	if (wrong)
		return wrong;
	if (!add_devices(vm))
		return "it has too many devices";
	return arch_vm_init(vm);
}

/* From the start of RAM: the kernel, the ramdisks, the device tree, each aligned to 2 MiB. The tree may
 * not cross a 2 MiB boundary (Linux, Documentation/arch/arm64/booting.rst). */
const char *vm_load(struct vm *vm)
{
	const struct vm_config *config = vm->config;
	uint64_t kernel_bytes = config->kernel.end - config->kernel.start;
	uint64_t entry, tree;
	struct memory_range ramdisks[MAX_RAMDISKS] = { { 0, 0 } };
	static uint8_t tree_bytes[MAX_TREE_BYTES];
	struct guest_machine machine;
	uint32_t size;
	struct arm64_image image;
	const char *wrong =
		arm64_image_read(&image, (const uint8_t *)config->kernel.start, kernel_bytes);

	if (wrong)
		return wrong;
	entry = vm->ram_start + image.offset;
	tree = (entry + image.memory_bytes + BLOCK - 1) & ~(BLOCK - 1);
	for (unsigned i = 0; i < MAX_RAMDISKS && config->ramdisks[i].start; i++) {
		ramdisks[i].start = tree;
		ramdisks[i].end = tree + config->ramdisks[i].end - config->ramdisks[i].start;
		tree = (ramdisks[i].end + BLOCK - 1) & ~(BLOCK - 1);
	}
	if (image.memory_bytes > vm->ram_bytes || tree - vm->ram_start > vm->ram_bytes - BLOCK)
		return "its kernel and ramdisk do not fit in its memory: give it more (memory=)";
	machine = (struct guest_machine){ .cpus = vm->vcpu_count,
					  .ram = { vm->ram_start, vm->ram_start + vm->ram_bytes },
					  .pmem = config->pmem,
					  .redistributor_bytes = (uint64_t)vm->vcpu_count *
								 VGIC_REDISTRIBUTOR_BYTES,
					  .ramdisks = ramdisks,
					  .bootargs = config->bootargs,
					  .hypervisor = config->nest != MECHANISM_NONE };
	size = guest_tree_write(&machine, tree_bytes, sizeof(tree_bytes));
	if (!size || !vm_write(vm, tree, tree_bytes, size) ||
	    !vm_write(vm, entry, (const void *)config->kernel.start, kernel_bytes))
		return "its kernel, ramdisk or device tree cannot be written to its memory";
	for (unsigned i = 0; i < MAX_RAMDISKS; i++)
		if (!vm_write(vm, ramdisks[i].start, (const void *)config->ramdisks[i].start,
			      ramdisks[i].end - ramdisks[i].start))
			return "its kernel, ramdisk or device tree cannot be written to its memory";
	arch_vcpu_boot(&vm->vcpus[0], entry, tree);
	return NULL;
}

void vm_launch(struct vm *vm, uint64_t nonce, const char *unit)
{
	struct record record;

	vm->line = (struct record_line){ .nonce = nonce };
	record_start(&record, "hello");
	record_string(&record, "unit", unit);
	text_printf(&record.text,
		    ",\"protocol\":1,\"neve\":\"" NEVE_VERSION
		    "\",\"arch\":\"%s\",\"vm\":%u,\"cpus\":%u,"
		    "\"memory_bytes\":%lu,\"stage2_bytes\":%lu,\"first_cpu\":%u",
		    arch_name, vm->number, vm->vcpu_count, vm->ram_bytes, vm->config->stage2_bytes,
		    vm->vcpus[0].cpu->number);
	record_send(&record, &vm->line);
}

void vm_hello(struct vm *vm)
{
	char unit[32] = "cntvct_ticks";
	uint64_t nonce = 0;

	(void)word_nonce(vm->config->bootargs, &nonce);
	(void)word_find(vm->config->bootargs, "unit", unit, sizeof(unit));
	vm_launch(vm, nonce, unit);
}

/* ---- End ------------------------------------------------------------------------------------ */

void vm_end(struct vm *vm, const char *status, const char *why, ...)
{
	enum vm_state runs = VM_RUNS;
	struct text text;
	va_list values;

	if (!__atomic_compare_exchange_n(&vm->state, &runs, VM_ENDS, false, __ATOMIC_ACQ_REL,
					 __ATOMIC_ACQUIRE))
		return;
	vm->status = status;
	text_start(&text, vm->why, sizeof(vm->why));
	va_start(values, why);
	text_vprintf(&text, why, values);
	va_end(values);
	for (unsigned i = 0; i < vm->vcpu_count; i++)
		arch_kick(vm->vcpus[i].cpu);
}
