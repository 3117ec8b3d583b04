/* What an x86 KVM must have, and how one without hardware below it is told (see arch.h). */
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <string.h>

#include "arch.h"

/*
 * A KVM without VMX and SVM emulates its guests. The kernel takes both flags away where the
 * firmware has switched virtualization off. A processor list that cannot be read counts as
 * software: then nothing is executed that such a KVM does not survive.
 */
bool arch_kvm_is_software(void)
{
	char line[8192];
	bool software = true;
	FILE *file = fopen("/proc/cpuinfo", "re");

	while (file && fgets(line, sizeof(line), file)) {
		char *rest = line;

		if (strncmp(line, "flags", 5) != 0)
			continue;
		for (char *word; (word = strtok_r(rest, " \t\n", &rest));)
			if (strcmp(word, "vmx") == 0 || strcmp(word, "svm") == 0)
				software = false;
		break;
	}
	if (file)
		fclose(file);
	return software;
}

const struct kvm_need *arch_kvm_needs(void)
{
	static const struct kvm_need needs[] = {
		{ KVM_CAP_USER_MEMORY, "KVM_CAP_USER_MEMORY" },
		{ KVM_CAP_IRQCHIP, "KVM_CAP_IRQCHIP" },
		{ KVM_CAP_PIT2, "KVM_CAP_PIT2" },
		{ KVM_CAP_EXT_CPUID, "KVM_CAP_EXT_CPUID" },
		{ KVM_CAP_SET_TSS_ADDR, "KVM_CAP_SET_TSS_ADDR" },
		{ KVM_CAP_MP_STATE, "KVM_CAP_MP_STATE" },
		{ KVM_CAP_IMMEDIATE_EXIT, "KVM_CAP_IMMEDIATE_EXIT" },
		{ 0, NULL },
	};

	return needs;
}
