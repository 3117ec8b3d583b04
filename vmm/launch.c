/* Passes the lines of the lab's launch on to a monitor in the guest (common/launch_below.h), and takes the launch's nonce
 * for our own records. Runs on the vCPU that rings, under the devices' lock. */
#include <string.h>
#include <unistd.h>

#include "common/launch.h"
#include "vmm/kvm_vm.h"

/* At the first ring the lab stops this process, PID 1 of its machine: it can't write to a process in the guest. */
static void answer(struct vm *vm, const struct bell_note *note, struct bell_note *to)
{
	size_t bytes, room = sizeof(to->bench);

	if (note->index == 0 && getpid() == 1)
		vm->launch = launch_wait(note->samples);
	bytes = vm->launch ? strlen(vm->launch) : 0;
	bytes = note->index < bytes ? bytes - note->index : 0;
	memset(to->bench, 0, room);
	if (bytes)
		memcpy(to->bench, vm->launch + note->index, bytes < room ? bytes : room);
}

void launch_access(struct vm *vm, const struct bell_note *note, struct bell_note *to)
{
	if (note->kind == BELL_ASK) {
		answer(vm, note, to);
	} else if (note->kind == BELL_LAUNCH) {
		vm->console.records = (struct record_line){ .nonce = note->index };
		session_hello(vm, note->bench);
	}
}
