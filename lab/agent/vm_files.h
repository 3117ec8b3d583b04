/* What KVM shows of the VM in debugfs, besides its statistics: a folder for each vCPU. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* The thread of a vCPU, from 0. False: there is no such vCPU. */
bool vm_files_thread(unsigned vcpu, uint64_t *tid);
/* How far vCPU 0's clock is ahead of the host's, modulo 2^64. */
bool vm_files_tsc_offset(uint64_t *offset);
