/* The CUDA device: memory, streams and copies for the driver (see cuda_init.c), and what every cuda_
 * kernel needs around its launch. Compiled as C and as C++. */
#ifndef RL_CUDA_DEVICE_H
#define RL_CUDA_DEVICE_H
#include "contract/kernel.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- the driver's functions: rl_device_driver in the core says what each does ---- */
int rl_cuda_count(void);
void *rl_cuda_alloc(int index, size_t bytes);
void rl_cuda_free(int index, void *p);
/* Done when it returns if one side is the CPU; else in the order of the stream. */
rl_status rl_cuda_move(int index, void *to, const void *from, size_t bytes, int to_device, int from_device,
                       void *stream);
void *rl_cuda_stream(int index);
rl_status rl_cuda_synchronize(int index);
rl_kernel_fn rl_cuda_kernel(const char *name);
const char *rl_cuda_last_error(void);

/* ---- streams: NULL is the default one ---- */
void *rl_cuda_stream_new(int index); /* NULL: rl_cuda_last_error() */
rl_status rl_cuda_stream_free(int index, void *stream);
rl_status rl_cuda_stream_use(int index, void *stream); /* this thread's current one */

/* ---- around a launch ---- */
rl_status rl_cuda_begin(rl_call *k, const rl_view *v); /* makes v's GPU the current one */
rl_status rl_cuda_end(rl_call *k);                     /* did the launch succeed? */
/* A word of the call's GPU that a kernel gives a code by cuda_fault() in launch.h when it finds, say, an
 * index out of range; whoever waits for the GPU next gets the error. Asked for after rl_cuda_begin; NULL:
 * RL_FAIL. */
unsigned *rl_cuda_fault(rl_call *k);

#ifdef __cplusplus
}
#endif
#endif
