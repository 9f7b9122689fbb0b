/* The CUDA device: memory, streams and copies for the driver (see cuda_init.c), and what every cuda_
 * kernel needs around its launch. Compiled as C and as C++. */
#ifndef RL_CUDA_DEVICE_H
#define RL_CUDA_DEVICE_H
#include "kernel_abi/device.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- errors: RL_FAIL and NULL leave one for this thread ---- */
rl_error rl_cuda_last_error(const char **text, int *code);
/* How a thread lets others run Python while it waits; answers NULL where it did not run Python itself. */
void rl_cuda_python(void *(*leave)(void), void (*enter)(void *thread));

/* ---- devices ---- */
typedef struct {
    char name[256];
    unsigned char uuid[16];
    size_t total_memory, shared_memory, shared_memory_optin, shared_memory_multiprocessor;
    int major, minor, multiprocessors, warp_size, threads, threads_multiprocessor, registers, l2_cache;
    int is_integrated, is_multi_gpu, pci_bus, pci_device, pci_domain;
} rl_cuda_properties;
int rl_cuda_count(void); /* 0: rl_cuda_last_error says why */
int rl_cuda_current(void);
rl_status rl_cuda_choose(int index); /* this thread's current one, without a context on it */
/* Between these two CUDA works on the device; the first tells which it was before. */
rl_status rl_cuda_enter(int index, int *before);
void rl_cuda_leave(int before);
rl_status rl_cuda_synchronize(int index);
rl_status rl_cuda_properties_of(int index, rl_cuda_properties *to);
rl_status rl_cuda_memory(int index, size_t *free, size_t *total);
bool rl_cuda_in_use(int index); /* does this process have a context there? */
bool rl_cuda_can_access(int index, int peer);
int rl_cuda_driver_version(void);
void rl_cuda_index_limit(int64_t limit); /* for tests: where kernels begin to count in 64 bits */

/* ---- memory of a device: Note [Blocks] in runtime/allocator.cu ---- */
void *rl_cuda_alloc(int index, size_t bytes, void *stream); /* in the order of the stream, as its end is */
void rl_cuda_free(int index, void *p);
void rl_cuda_record(int index, void *p, int stream_index, void *stream); /* p is in use there, too */
rl_status rl_cuda_empty_cache(void);
typedef struct { /* PyTorch's four numbers of each count, for all blocks, small ones and large ones */
    int64_t current, peak, made, ended;
} rl_cuda_stat;
enum {
    RL_CUDA_ALLOCATION,
    RL_CUDA_SEGMENT,
    RL_CUDA_ACTIVE,
    RL_CUDA_INACTIVE_SPLIT,
    RL_CUDA_ALLOCATED_BYTES,
    RL_CUDA_RESERVED_BYTES,
    RL_CUDA_ACTIVE_BYTES,
    RL_CUDA_INACTIVE_SPLIT_BYTES,
    RL_CUDA_REQUESTED_BYTES,
    RL_CUDA_STATS
};
typedef struct {
    rl_cuda_stat of[RL_CUDA_STATS][3];
    int64_t retries, ooms, mallocs, frees;
} rl_cuda_stats;
void rl_cuda_share(int index, size_t bytes); /* it takes no more of the device; 0: all */
void rl_cuda_stats_get(int index, rl_cuda_stats *to);
void rl_cuda_stats_reset(int index, bool peak); /* else what was made and has ended */

/* ---- pinned memory of the host ---- */
void *rl_cuda_host_alloc(size_t bytes);
void rl_cuda_host_free(void *p);
bool rl_cuda_host_is_pinned(const void *p);

/* ---- copies ---- */
/* In the order of both sides' current streams; done when it returns if one side is the CPU, unless `async`
 * and that side is pinned. */
rl_status rl_cuda_move(const rl_place *to, const rl_place *from, size_t bytes, bool async);

/* ---- streams: NULL is the default one; those that are made live on ---- */
void *rl_cuda_stream(int index);                       /* this thread's current one */
rl_status rl_cuda_stream_use(int index, void *stream); /* ... is now this */
void *rl_cuda_stream_new(int index, bool is_urgent);   /* one of a pool */
rl_status rl_cuda_stream_synchronize(int index, void *stream);
rl_status rl_cuda_stream_query(int index, void *stream, bool *done);
rl_status rl_cuda_stream_wait(int index, void *stream, void *event);
rl_status rl_cuda_stream_join(int index, void *stream, int other_index, void *other); /* waits for `other` */

/* ---- events ---- */
void *rl_cuda_event_new(int index, bool is_timed, bool is_blocking);
void rl_cuda_event_free(int index, void *event);
rl_status rl_cuda_event_record(int index, void *event, void *stream);
rl_status rl_cuda_event_query(int index, void *event, bool *done);
rl_status rl_cuda_event_synchronize(int index, void *event);
rl_status rl_cuda_event_elapsed(int index, void *start, void *end, float *ms);

/* ---- around a launch ---- */
rl_kernel_fn rl_cuda_kernel(const char *name);
rl_status rl_cuda_begin(rl_call *k, const rl_view *v); /* makes v's GPU the current one */
rl_status rl_cuda_end(rl_call *k);                     /* did the launch succeed? */
rl_status rl_cuda_fail(rl_call *k);                    /* RL_FAIL, with the last error */
/* A word of the call's GPU that a kernel gives a code by cuda_fault() in launch.cuh when it finds, say, an
 * index out of range; whoever waits for the GPU next gets the error. Asked for after rl_cuda_begin; NULL:
 * RL_FAIL. */
unsigned *rl_cuda_fault(rl_call *k);

#ifdef __cplusplus
}
#endif
#endif
