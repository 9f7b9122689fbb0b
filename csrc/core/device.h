/* Drivers of devices other than the CPU. */
#ifndef RL_CORE_DEVICE_H
#define RL_CORE_DEVICE_H
#include "contract/kernel.h"

/* A device extension brings its memory and its kernels. */
typedef struct rl_device_driver {
    int abi;
    int device;
    int (*count)(void);
    void *(*alloc)(int index, size_t bytes);
    void (*free)(int index, void *p);
    rl_status (*copy)(int index, void *to, const void *from, size_t bytes, int to_device, int from_device,
                      void *stream);
    void *(*stream)(int index); /* the current stream of this thread */
    rl_status (*synchronize)(int index);
    rl_kernel_fn (*kernel)(const char *name);
    const char *(*last_error)(void);
} rl_device_driver;
rl_status rl_device_register(const rl_device_driver *driver); /* refuses one of another version */
const rl_device_driver *rl_device_driver_get(int device);     /* NULL when there is none */
#endif
