/* What the core does for a kernel while it runs. */
#ifndef RL_CORE_SERVICES_H
#define RL_CORE_SERVICES_H
#include "contract/kernel.h"

void rl_services_init(void);  /* asks the CPU what it can; RL_ISA=avx2|none limits the instruction set */
void rl_vendor_serves(void);  /* from now on svc says that the library of a vendor is loaded */
void rl_services_limit(void); /* no vector instructions at all: RL_KERNELS=ref */
void rl_call_begin(rl_call *k);
void rl_call_end(rl_call *k); /* gives the scratch back */
#endif
