/* What the files of the CUDA runtime share: errors, the current device, blocking calls apart from Python. */
#ifndef RL_CUDA_RUNTIME_H
#define RL_CUDA_RUNTIME_H
#include "cuda/device.h"
#include "cuda/launch.cuh"
#include <pthread.h>

enum { CUDA_DEVICES = 64 }; /* as many as anybody may have */

/* ---- errors.cu ---- */
rl_status rl_cuda_check(cudaError_t error); /* RL_FAIL: rl_cuda_last_error says what happened */
rl_status rl_cuda_refuse(rl_error kind, const char *format, ...) __attribute__((format(printf, 2, 3)));
void rl_cuda_launched(const char *name, int index, cudaStream_t stream);
/* Everything on a stream, or with `all` on the device, has ended: RL_FAIL when a kernel found a fault. */
rl_status rl_cuda_waited(int index, cudaStream_t stream, bool all);

/* ---- device.cu ---- */
rl_status rl_cuda_sent(rl_call *k); /* rl_cuda_end that never waits: a lock may be held */
bool rl_cuda_forked(void);          /* in the child of a process that used CUDA */
rl_status rl_cuda_select(int index);

/* The device that CUDA works on, until the end of the block. */
class device_guard {
    int before_;

  public:
    const rl_status status;
    explicit device_guard(int index) : before_(0), status(rl_cuda_enter(index, &before_)) {}
    ~device_guard() {
        if (status == RL_OK) rl_cuda_leave(before_);
    }
};

/* Other threads run Python until the end of the block, which waits or takes long. */
class apart_from_python {
    void *thread_;

  public:
    apart_from_python();
    ~apart_from_python();
};

class mutex_guard {
    pthread_mutex_t *mutex_;

  public:
    explicit mutex_guard(pthread_mutex_t *mutex) : mutex_(mutex) { pthread_mutex_lock(mutex); }
    ~mutex_guard() { pthread_mutex_unlock(mutex_); }
};

/* ---- stream.cu ---- */
rl_status rl_cuda_wait_stream(int index, cudaStream_t stream); /* its device is selected */

/* Streams on which memory is in use, and when it was given back, events behind what they had to do. */
typedef struct stream_use {
    struct stream_use *next;
    int index;
    cudaStream_t stream;
    cudaEvent_t event;
} stream_use;
void rl_cuda_uses_add(stream_use **list, int index, cudaStream_t stream);
bool rl_cuda_uses_ended(stream_use **list); /* asks, and waits for nothing */

/* ---- host.cu ---- */
bool rl_cuda_host_owns(const void *p); /* pinned memory that may be read and written later */
void rl_cuda_host_used(const void *p, int index, cudaStream_t stream);
#endif
