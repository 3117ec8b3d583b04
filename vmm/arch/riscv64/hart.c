/* Registers of a vCPU, and what KVM offers to it; see arch/kvm.h. */
#include <arch/kvm.h>

#include <sys/ioctl.h>

/* Since Linux 6.18; today's headers lack it. It is the config register after satp_mode. */
#define ZICBOP_BLOCK_BYTES (REGISTER(CONFIG, satp_mode) + 1)

uint64_t register_get(const struct vcpu *vcpu, uint64_t name)
{
	uint64_t value = 0;
	struct kvm_one_reg reg = { .id = name, .addr = (uint64_t)&value };

	return ioctl(vcpu->fd, KVM_GET_ONE_REG, &reg) == 0 ? value : 0;
}

bool register_try(const struct vcpu *vcpu, uint64_t name, uint64_t value)
{
	struct kvm_one_reg reg = { .id = name, .addr = (uint64_t)&value };

	return ioctl(vcpu->fd, KVM_SET_ONE_REG, &reg) == 0;
}

bool register_set(const struct vcpu *vcpu, uint64_t name, uint64_t value)
{
	return register_try(vcpu, name, value) ||
	       fail("KVM can't set a register of vCPU %u: %m", vcpu->number);
}

void hart_read(const struct vcpu *vcpu, struct hart *hart)
{
	*hart = (struct hart){
		.timebase_hz = register_get(vcpu, REGISTER(TIMER, frequency)),
		.letters = register_get(vcpu, REGISTER(CONFIG, isa)),
		.satp_mode = register_get(vcpu, REGISTER(CONFIG, satp_mode)),
		.cbom_bytes = register_get(vcpu, REGISTER(CONFIG, zicbom_block_size)),
		.cboz_bytes = register_get(vcpu, REGISTER(CONFIG, zicboz_block_size)),
		.cbop_bytes = register_get(vcpu, ZICBOP_BLOCK_BYTES)
	};
	for (unsigned i = 0; i < HART_EXTENSIONS; i++)
		hart->extensions[i] = register_get(vcpu, ISA_EXTENSION(i));
	/* The monitor would have to emulate its register of random numbers, and KVM can't switch it off. A
	 * guest that is not told of it does not use it. */
	hart->extensions[KVM_RISCV_ISA_EXT_ZKR] = false;
}
