/* IPI by KVM's hypercall in place of the APIC's register (Linux, hypercalls.rst, KVM_HC_SEND_IPI): the two rows
 * of ipi.c. */
#include "ipi_row.h"
#include <arch/kvm.h>

static struct pv_operand operand;

static const char *needs(const struct params *params)
{
	if (params->hypercall != HYPERCALL_KVM)
		return "this row needs hypercall=kvm: no KVM here is known to answer hypercalls";
	return kvm_offers(KVM_PV_SEND_IPI) ? NULL : "no KVM here offers KVM_HC_SEND_IPI (CPUID)";
}

IPI_INITS(operand, pv_operand_fill)

IPI_ROW(halted, "pv-ipi-halted", "IPI by KVM's hypercall to a halted CPU, until its answer is seen",
	"a hypervisor that answers hypercalls, KVM, two CPUs", needs, init_halted,
	ipi_row_check_halted, pv_ipi, PARAM_HYPERCALL);
IPI_ROW(running, "pv-ipi-running",
	"IPI by KVM's hypercall to a running CPU, until its answer is seen",
	"a hypervisor that answers hypercalls, KVM, two CPUs", needs, init_running,
	ipi_row_check_running, pv_ipi, PARAM_HYPERCALL);
