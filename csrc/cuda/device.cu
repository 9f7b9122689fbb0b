/* Device context: the only file of this component with state, which is each thread's current stream and last
 * error. Memory comes from cudaMalloc, whose cudaFree waits for kernels in flight, so nothing is freed in
 * use. */
#include "device.h"
#include "launch.h"
#include <cstdio>
#include <dlfcn.h>
#include <pthread.h>
#include <type_traits>

enum { MAX_DEVICES = 64 };
static thread_local cudaStream_t current_stream[MAX_DEVICES];
static thread_local char last_error[256];
static volatile unsigned *faults[MAX_DEVICES]; /* pinned memory of the host, which kernels write to */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of `faults` */

static_assert(std::is_same<decltype(rl_call::stream), void *>::value, "a cudaStream_t travels as void *");

static rl_status check(cudaError_t error) {
    if (error == cudaSuccess) return RL_OK;
    cudaGetLastError(); /* an error that can be got over is not seen again by the next call */
    snprintf(last_error, sizeof last_error, "CUDA error: %s", cudaGetErrorString(error));
    return RL_FAIL;
}

static rl_status select_device(int index) {
    if (index < 0 || index >= MAX_DEVICES) return check(cudaErrorInvalidDevice);
    return check(cudaSetDevice(index));
}

/* After a wait: what did the kernels find? Nothing broke, so it is said once. */
static rl_status check_fault(int index) {
    unsigned found = 0;
    pthread_mutex_lock(&lock);
    if (faults[index]) {
        found = *faults[index];
        *faults[index] = 0;
    }
    pthread_mutex_unlock(&lock);
    if (!found) return RL_OK;
    return check(cudaErrorAssert);
}

extern "C" const char *rl_cuda_last_error(void) {
    return last_error;
}

extern "C" int rl_cuda_count(void) {
    int n = 0;
    if (check(cudaGetDeviceCount(&n)) != RL_OK) return 0;
    return n < MAX_DEVICES ? n : MAX_DEVICES;
}

extern "C" void *rl_cuda_alloc(int index, size_t bytes) {
    void *p = nullptr;
    if (select_device(index) != RL_OK || check(cudaMalloc(&p, bytes)) != RL_OK) return nullptr;
    return p;
}

extern "C" void rl_cuda_free(int index, void *p) {
    if (select_device(index) == RL_OK) check(cudaFree(p));
}

static cudaMemcpyKind copy_kind(int to_device, int from_device) {
    if (to_device == RL_CPU) return from_device == RL_CPU ? cudaMemcpyHostToHost : cudaMemcpyDeviceToHost;
    return from_device == RL_CPU ? cudaMemcpyHostToDevice : cudaMemcpyDefault; /* may lie on two GPUs */
}

extern "C" rl_status rl_cuda_move(int index, void *to, const void *from, size_t bytes, int to_device,
                                  int from_device, void *stream) {
    cudaStream_t s = (cudaStream_t)stream;
    if (bytes == 0) return RL_OK;
    if (select_device(index) != RL_OK ||
        check(cudaMemcpyAsync(to, from, bytes, copy_kind(to_device, from_device), s)) != RL_OK)
        return RL_FAIL;
    if (to_device != RL_CPU && from_device != RL_CPU) return RL_OK;
    /* the CPU's side may be freed or written at once */
    return check(cudaStreamSynchronize(s)) == RL_OK ? check_fault(index) : RL_FAIL;
}

/* ---- streams ---- */
extern "C" void *rl_cuda_stream(int index) {
    return index >= 0 && index < MAX_DEVICES ? current_stream[index] : nullptr;
}

extern "C" rl_status rl_cuda_stream_use(int index, void *stream) {
    if (select_device(index) != RL_OK) return RL_FAIL;
    current_stream[index] = (cudaStream_t)stream;
    return RL_OK;
}

extern "C" void *rl_cuda_stream_new(int index) {
    cudaStream_t s = nullptr;
    if (select_device(index) != RL_OK || check(cudaStreamCreateWithFlags(&s, cudaStreamNonBlocking)) != RL_OK)
        return nullptr;
    return s;
}

extern "C" rl_status rl_cuda_stream_free(int index, void *stream) {
    if (select_device(index) != RL_OK) return RL_FAIL;
    if (current_stream[index] == (cudaStream_t)stream) current_stream[index] = nullptr;
    return check(cudaStreamDestroy((cudaStream_t)stream));
}

extern "C" rl_status rl_cuda_synchronize(int index) {
    if (select_device(index) != RL_OK || check(cudaDeviceSynchronize()) != RL_OK) return RL_FAIL;
    return check_fault(index);
}

/* ---- kernels ---- */
extern "C" rl_status rl_cuda_begin(rl_call *k, const rl_view *v) {
    if (select_device(v->device_index) == RL_OK) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "%s", last_error);
}

extern "C" rl_status rl_cuda_end(rl_call *k) {
    if (check(cudaGetLastError()) == RL_OK) return RL_OK;
    return rl_fail(k, RL_RUNTIME, "%s", last_error);
}

extern "C" unsigned *rl_cuda_fault(rl_call *k) {
    volatile unsigned **word = &faults[k->device_index];
    rl_status status = RL_OK;
    void *p = nullptr;
    pthread_mutex_lock(&lock);
    if (!*word && (status = check(cudaHostAlloc(&p, sizeof **word, cudaHostAllocMapped))) == RL_OK) {
        *word = (unsigned volatile *)p;
        **word = 0;
    }
    pthread_mutex_unlock(&lock);
    if (status == RL_OK)
        return (unsigned *)*word; /* one address for both sides, where addresses are unified */
    rl_fail(k, RL_RUNTIME, "%s", last_error);
    return nullptr;
}

/* Those that CUDA_KERNEL defines are what this library shows to others. */
extern "C" rl_kernel_fn rl_cuda_kernel(const char *name) {
    Dl_info own;
    if (!dladdr((const void *)rl_cuda_kernel, &own)) return nullptr;
    void *library = dlopen(own.dli_fname, RTLD_LAZY | RTLD_NOLOAD);
    if (!library) return nullptr;
    rl_kernel_fn found = (rl_kernel_fn)dlsym(library, name);
    dlclose(library);
    return found;
}
