/* The SBI call that our own monitor answers in user space. Its extension is in the experimental space, which KVM passes on
 * (RISC-V SBI specification 2.0, "Experimental SBI Extension Space"). Also for assembly. */
#ifndef COMMON_SBI_CALL_H
#define COMMON_SBI_CALL_H

#define SBI_VMM	      0x08777377
#define SBI_VMM_ADD_1 0 /* returns its first argument, and one more */

#endif
