/* Errors of CUDA: each thread's last one, with what was launched since anybody waited.
 *
 * Note [Asynchronous errors]
 * A kernel fails after its launch has succeeded, and whichever call comes next hears of it. So launches are
 * noted in a ring for each device, and a wait strikes out those that it has seen the end of: what is left may
 * be the culprit. With CUDA_LAUNCH_BLOCKING=1 every launch waits, and only one is left. */
#include "runtime.h"
#include <cstdarg>
#include <cstdio>
#include <string>

enum { LAUNCHES = 16, TEXT = 1000 };
typedef struct {
    const char *name; /* of the operator; lives as long as the process */
    cudaStream_t stream;
} launched;
static launched launches[CUDA_DEVICES][LAUNCHES];
static unsigned newest[CUDA_DEVICES];
static volatile unsigned *faults[CUDA_DEVICES]; /* pinned memory of the host, which kernels write to */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the three */
static thread_local rl_error last_kind;
static thread_local int last_code;
static thread_local std::string last_text; /* no array: memory of threads is scarce in a library */

/* ---- launches ---- */
void rl_cuda_launched(const char *name, int index, cudaStream_t stream) {
    mutex_guard guard(&lock);
    launches[index][newest[index]++ % LAUNCHES] = launched{name, stream};
}

static void forget_launches(int index, cudaStream_t stream, bool all) {
    mutex_guard guard(&lock);
    for (launched &each : launches[index])
        if (all || each.stream == stream) each.name = nullptr;
}

/* ", add, mul", oldest first */
static size_t list_launches(char *to, size_t size, int index) {
    size_t used = 0;
    mutex_guard guard(&lock);
    for (unsigned i = 0; i < LAUNCHES && used < size; i++) {
        const launched &each = launches[index][(newest[index] + i) % LAUNCHES];
        if (each.name) used += (size_t)snprintf(to + used, size - used, "%s%s", used ? ", " : "", each.name);
    }
    return used;
}

/* ---- the last error ---- */
static bool comes_late(cudaError_t error) {
    return error == cudaErrorIllegalAddress || error == cudaErrorMisalignedAddress ||
           error == cudaErrorLaunchFailure || error == cudaErrorAssert || error == cudaErrorUnknown;
}

static rl_status set_error(cudaError_t error) {
    char names[TEXT / 2];
    int index = 0;
    last_kind = error == cudaErrorMemoryAllocation ? RL_DEVICE_MEMORY : RL_DEVICE;
    last_code = (int)error;
    last_text = std::string("CUDA error: ") + cudaGetErrorString(error);
    if (!comes_late(error)) return RL_FAIL;
    cudaGetDevice(&index);
    if (index < CUDA_DEVICES && list_launches(names, sizeof names, index))
        last_text +=
            "\nLaunched on cuda:" + std::to_string(index) + " since the last synchronisation: " + names + ".";
    last_text +=
        "\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace "
        "below might be incorrect.\nFor debugging consider passing CUDA_LAUNCH_BLOCKING=1";
    return RL_FAIL;
}

rl_status rl_cuda_check(cudaError_t error) {
    if (error == cudaSuccess) return RL_OK;
    cudaGetLastError(); /* an error that can be got over is not seen again by the next call */
    return set_error(error);
}

rl_status rl_cuda_refuse(rl_error kind, const char *format, ...) {
    char text[TEXT];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    last_text = text;
    last_kind = kind;
    last_code = 0;
    return RL_FAIL;
}

extern "C" rl_error rl_cuda_last_error(const char **text, int *code) {
    *text = last_text.c_str();
    *code = last_code;
    return last_kind;
}

extern "C" rl_status rl_cuda_fail(rl_call *k) {
    return rl_fail(k, last_kind, "%s", last_text.c_str());
}

/* ---- what kernels find ---- */
extern "C" unsigned *rl_cuda_fault(rl_call *k) {
    mutex_guard guard(&lock);
    volatile unsigned **word = &faults[k->device_index];
    void *p = nullptr;
    if (!*word) {
        if (rl_cuda_check(cudaHostAlloc(&p, sizeof **word, cudaHostAllocMapped)) != RL_OK) {
            rl_cuda_fail(k);
            return nullptr;
        }
        *word = (volatile unsigned *)p;
        **word = 0;
    }
    return (unsigned *)*word; /* one address for both sides, where addresses are unified */
}

static unsigned take_fault(int index) {
    mutex_guard guard(&lock);
    unsigned found = faults[index] ? *faults[index] : 0;
    if (found) *faults[index] = 0;
    return found;
}

/* Nothing broke when a kernel found a fault, so it is said once. */
rl_status rl_cuda_waited(int index, cudaStream_t stream, bool all) {
    const bool found = take_fault(index);
    if (found) set_error(cudaErrorAssert);
    forget_launches(index, stream, all);
    return found ? RL_FAIL : RL_OK;
}
