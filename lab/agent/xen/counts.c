/* What is counted of the VM's exits under Xen, in place of KVM's counters: nothing. */
#include "kvm_counts.h"

void kvm_counts_setup(void)
{
}

void kvm_counts_read(struct kvm_counts *counts)
{
	*counts = (struct kvm_counts){ .values = { 0 } };
}

void kvm_counts_learn(const struct kvm_counts *begin, const struct kvm_counts *end)
{
	(void)begin;
	(void)end;
}

void kvm_counts_add(struct kvm_counts *sum, const struct kvm_counts *begin,
		    const struct kvm_counts *end, bool marked)
{
	(void)sum;
	(void)begin;
	(void)end;
	(void)marked;
}

void kvm_counts_send(struct record *record, const struct kvm_counts *sum)
{
	(void)record;
	(void)sum;
}
