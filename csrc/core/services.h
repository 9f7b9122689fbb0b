/* What the core does for a kernel while it runs. */
#ifndef RL_CORE_SERVICES_H
#define RL_CORE_SERVICES_H
#include "kernel_abi/kernel.h"

void rl_services_init(
    void); /* asks the CPU what it can; RUSHLIGHT_ISA=avx2|none limits the instruction set */
/* What svc->vendor asks from now on; any thread, with or without the GIL. */
void rl_services_onednn(bool (*open)(void));
void rl_services_deterministic(bool on, bool fill_unset);
void rl_services_tf32(bool matmul, bool conv); /* at first: convolutions alone, as in PyTorch */
const char *rl_services_isa_torch(void);       /* PyTorch's name of the instruction set that kernels use */
int rl_services_isa_named(const char *name);   /* RL_ISA_*, or -1 */
const char *rl_services_isa_name(int isa);     /* "none", "avx2" ...; NULL behind the last */
void rl_services_limit(int isa);               /* none better than this, or than at the start; calls wait */
void rl_call_begin(rl_call *k);
void rl_call_end(rl_call *k); /* gives the scratch back */
#endif
