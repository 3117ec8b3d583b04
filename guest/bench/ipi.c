/*
 * IPI: an interrupt to another CPU, until its handler's answer is seen. The paper measures it to a halted
 * CPU and gives one figure for a running one (6.3): two rows, one loop.
 */
#include "ipi_row.h"

TIMED_DECLARE(ipi);

static struct ipi_operand operand;

IPI_INITS(operand, ipi_operand_fill)

IPI_ROW(halted, "ipi-halted", "interrupt to a halted CPU, until its answer is seen", "two CPUs",
	NULL, init_halted, ipi_row_check_halted, ipi, 0);
IPI_ROW(running, "ipi-running", "interrupt to a running CPU, until its answer is seen", "two CPUs",
	NULL, init_running, ipi_row_check_running, ipi, 0);
