/* What the processor is: arch/. */
#pragma once

/* The hypervisor's signature, or nothing. */
void processor_hypervisor(char name[13]);
/* The processor's name, or nothing. */
void processor_name(char name[49]);
