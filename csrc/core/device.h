/* Drivers of devices other than the CPU. */
#ifndef RL_CORE_DEVICE_H
#define RL_CORE_DEVICE_H
#include "kernel_abi/device.h"

/* A device extension brings its memory and its kernels. What waits or takes long lets others run Python
 * meanwhile, by the two functions that `python` was given. */
typedef struct rl_device_driver {
    int abi;
    int device;
    int (*count)(void); /* 0: last_error says why */
    int (*current)(void);
    rl_status (*enter)(int index, int *before); /* to work on a device ... */
    void (*leave)(int before);                  /* ... and on the one before again */
    void *(*alloc)(int index, size_t bytes, void *stream);
    void (*free)(int index, void *p);
    /* in the order of the current streams; done when it returns if one side is the CPU's and not pinned, or
     * unless `async` */
    rl_status (*copy)(const rl_place *to, const rl_place *from, size_t bytes, bool async);
    void (*record)(int index, void *p, int stream_index, void *stream); /* p is in use there, too */
    void *(*stream)(int index); /* the current stream of this thread */
    rl_status (*stream_use)(int index, void *stream);
    rl_status (*stream_join)(int index, void *stream, int other_index, void *other); /* waits for `other` */
    rl_status (*synchronize)(int index);
    void *(*host_alloc)(size_t bytes); /* memory of the CPU that the device reads and writes by itself */
    void (*host_free)(void *p);
    bool (*host_is_pinned)(const void *p);
    rl_kernel_fn (*kernel)(const char *name);
    rl_error (*last_error)(const char **text, int *code);
    void (*python)(void *(*leave)(void), void (*enter)(void *thread));
} rl_device_driver;
extern bool rl_device_present;                                /* one is registered */
rl_status rl_device_register(const rl_device_driver *driver); /* refuses one of another version */
const rl_device_driver *rl_device_driver_get(int device);     /* NULL when there is none */
rl_status rl_device_failed(const rl_device_driver *driver);   /* RL_FAIL, with its last error */
rl_storage *rl_storage_pin(const rl_device_driver *driver, rl_count n, size_t itemsize); /* the CPU's */
void rl_storage_record(rl_storage *s, int stream_index, void *stream); /* it is in use there, too */
int rl_device_index(int device, int index); /* of "cuda" without a number: this thread's current one */
#endif
