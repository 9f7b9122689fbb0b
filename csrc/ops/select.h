/* Which kernel runs. */
#ifndef RL_OPS_SELECT_H
#define RL_OPS_SELECT_H
#include "core/device.h"
#include "format.h"
#include "table.h"

void rl_dispatch_init(void); /* reads RUSHLIGHT_KERNELS and RUSHLIGHT_TRACE */
/* from now on the last kernels only, or all with these RL_ISA_*; no call may run meanwhile */
void rl_dispatch_limit(bool ref, int isa);
extern bool rl_dispatch_watched;
rl_status rl_dispatch_watch(const rl_operator *op, rl_call *k, int device); /* under one of the two */
rl_status rl_dispatch_refuse(const rl_operator *op, int device);            /* RL_FAIL: no kernel does it */
rl_status rl_dispatch_last(const rl_operator *op, rl_call *k);              /* results lie channels last */
/* Walks the operator's list of kernels; the pending error says why when the answer is RL_FAIL. */
static inline rl_status rl_dispatch(const rl_operator *op, rl_call *k, int device) {
    if (RL_UNLIKELY(rl_dispatch_watched)) return rl_dispatch_watch(op, k, device);
    if (rl_format_taken(op, k) && device == RL_CPU) return rl_dispatch_last(op, k);
    for (const rl_kernel_fn *kernel = op->kernels[device]; *kernel; kernel++) {
        rl_status status = (*kernel)(k);
        if (status != RL_UNSUPPORTED) return status;
    }
    return rl_dispatch_refuse(op, device);
}
rl_status rl_device_kernels(const rl_device_driver *driver); /* registers a device with its kernels */
#endif
