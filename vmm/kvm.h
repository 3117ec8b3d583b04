/* Opens /dev/kvm, and says what keeps it from being used and what to do about it. */
#ifndef KVM_H
#define KVM_H

#include "error.h"

struct kvm {
	int fd, api;
	int run_bytes; /* of struct kvm_run's mapping */
	int max_vcpus;
	bool software;	/* no hardware virtualization below: guests are emulated */
	bool has_stats; /* KVM_CAP_BINARY_STATS_FD */
};

/* False: the error says why, and behind a colon the cure. */
bool kvm_open(struct kvm *kvm, struct error *error);
void kvm_close(struct kvm *kvm);

/* KVM_CHECK_EXTENSION: 0 where it is not there. */
int kvm_capability(const struct kvm *kvm, long capability);

/* A capability that there must be, with its name. */
struct kvm_need {
	long capability;
	const char *name;
};

#endif
