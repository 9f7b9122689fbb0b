/* What a device's driver and those who call it agree on. */
#ifndef RL_KERNEL_ABI_DEVICE_H
#define RL_KERNEL_ABI_DEVICE_H
#include "kernel.h"

typedef struct { /* where bytes lie */
    void *at;
    int device, index;
} rl_place;

/* errors that only devices have */
#define RL_DEVICE        ((rl_error)(RL_LINALG + 1))
#define RL_DEVICE_MEMORY ((rl_error)(RL_LINALG + 2))
/* of the driver's functions; that of kernels counts, too */
#define RL_DEVICE_ABI (RL_KERNEL_ABI << 8 | 2)
#endif
