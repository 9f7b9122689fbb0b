/* Which kernel runs. */
#ifndef RL_OPS_SELECT_H
#define RL_OPS_SELECT_H
#include "core/device.h"
#include "table.h"

/* Walks the operator's list of kernels; the pending error says why when the answer is RL_FAIL. */
rl_status rl_dispatch(const rl_operator *op, rl_call *k, int device);
void rl_dispatch_init(void);                                 /* reads RL_KERNELS and RL_TRACE */
rl_status rl_device_kernels(const rl_device_driver *driver); /* registers a device with its kernels */
#endif
