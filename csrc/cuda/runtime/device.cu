/* Which devices there are, and which one this thread works on.
 *
 * Note [Current device]
 * `chosen` is what torch.cuda.set_device and torch.cuda.device change: a number, no context. CUDA's own
 * current device changes between rl_cuda_enter and rl_cuda_leave only, and goes back unless that would make a
 * context on a device that nobody uses (cudaSetDevice makes one since CUDA 12). */
#include "cuda/strided_iterator.cuh"
#include "runtime.h"
#include <cstring>
#include <cstdlib>
#include <dlfcn.h>

static thread_local int chosen;
static bool in_use[CUDA_DEVICES]; /* written once each: a thread that reads the old value does no harm */
static bool is_started, is_forked;
static int found; /* devices; 0: not asked yet, or none */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static void *(*python_leave)(void);
static void (*python_enter)(void *thread);

/* ---- Python ---- */
extern "C" void rl_cuda_python(void *(*leave)(void), void (*enter)(void *thread)) {
    python_enter = enter;
    python_leave = leave;
}
apart_from_python::apart_from_python() : thread_(python_leave ? python_leave() : nullptr) {}
apart_from_python::~apart_from_python() {
    if (thread_) python_enter(thread_);
}

/* ---- fork ---- */
static void child_begins(void) {
    is_forked = is_started;
}
bool rl_cuda_forked(void) {
    return is_forked;
}

/* CUDA's state does not survive a fork: the child may not use what its parent began. */
static rl_status start(void) {
    if (is_forked)
        return rl_cuda_refuse(RL_RUNTIME, "Cannot re-initialize CUDA in forked subprocess. To use CUDA with "
                                          "multiprocessing, you must use the 'spawn' start method");
    mutex_guard guard(&lock);
    if (!is_started) pthread_atfork(nullptr, nullptr, child_begins);
    is_started = true;
    return RL_OK;
}

/* ---- devices ---- */
extern "C" int rl_cuda_count(void) {
    int n = found;
    if (n || start() != RL_OK || rl_cuda_check(cudaGetDeviceCount(&n)) != RL_OK) return n;
    return found = n < CUDA_DEVICES ? n : CUDA_DEVICES;
}

extern "C" int rl_cuda_current(void) {
    return chosen;
}

static rl_status is_there(int index) {
    if (index >= 0 && index < rl_cuda_count()) return RL_OK;
    return found ? rl_cuda_check(cudaErrorInvalidDevice) : RL_FAIL;
}

extern "C" rl_status rl_cuda_choose(int index) {
    if (is_there(index) != RL_OK) return RL_FAIL;
    chosen = index;
    return RL_OK;
}

rl_status rl_cuda_select(int index) {
    int now = 0;
    if (is_forked || !is_started) {
        if (start() != RL_OK) return RL_FAIL;
    }
    if (index < 0 || index >= CUDA_DEVICES) return rl_cuda_check(cudaErrorInvalidDevice);
    if (rl_cuda_check(cudaGetDevice(&now)) != RL_OK) return RL_FAIL;
    if (now != index && rl_cuda_check(cudaSetDevice(index)) != RL_OK) return RL_FAIL;
    in_use[index] = true;
    return RL_OK;
}

extern "C" rl_status rl_cuda_enter(int index, int *before) {
    *before = 0;
    cudaGetDevice(before);
    return rl_cuda_select(index);
}

extern "C" void rl_cuda_leave(int before) {
    int now = before;
    if (cudaGetDevice(&now) == cudaSuccess && now != before && before < CUDA_DEVICES && in_use[before])
        cudaSetDevice(before); /* where it fails, so will the next call */
}

extern "C" bool rl_cuda_in_use(int index) {
    return index >= 0 && index < CUDA_DEVICES && in_use[index] && !is_forked;
}

extern "C" rl_status rl_cuda_synchronize(int index) {
    device_guard guard(index);
    apart_from_python apart;
    if (guard.status != RL_OK || rl_cuda_check(cudaDeviceSynchronize()) != RL_OK) return RL_FAIL;
    return rl_cuda_waited(index, nullptr, true);
}

extern "C" rl_status rl_cuda_properties_of(int index, rl_cuda_properties *to) {
    cudaDeviceProp p;
    if (is_there(index) != RL_OK || rl_cuda_check(cudaGetDeviceProperties(&p, index)) != RL_OK)
        return RL_FAIL;
    memset(to, 0, sizeof *to);
    memcpy(to->name, p.name, sizeof to->name);
    memcpy(to->uuid, p.uuid.bytes, sizeof to->uuid);
    to->total_memory = p.totalGlobalMem;
    to->shared_memory = p.sharedMemPerBlock;
    to->shared_memory_optin = p.sharedMemPerBlockOptin;
    to->shared_memory_multiprocessor = p.sharedMemPerMultiprocessor;
    to->major = p.major;
    to->minor = p.minor;
    to->multiprocessors = p.multiProcessorCount;
    to->warp_size = p.warpSize;
    to->threads = p.maxThreadsPerBlock;
    to->threads_multiprocessor = p.maxThreadsPerMultiProcessor;
    to->registers = p.regsPerMultiprocessor;
    to->l2_cache = p.l2CacheSize;
    to->is_integrated = p.integrated;
    to->is_multi_gpu = p.isMultiGpuBoard;
    to->pci_bus = p.pciBusID;
    to->pci_device = p.pciDeviceID;
    to->pci_domain = p.pciDomainID;
    return RL_OK;
}

extern "C" rl_status rl_cuda_memory(int index, size_t *free, size_t *total) {
    device_guard guard(index);
    return guard.status == RL_OK ? rl_cuda_check(cudaMemGetInfo(free, total)) : RL_FAIL;
}

extern "C" bool rl_cuda_can_access(int index, int peer) {
    int can = 0;
    if (is_there(index) != RL_OK || is_there(peer) != RL_OK) return false;
    return rl_cuda_check(cudaDeviceCanAccessPeer(&can, index, peer)) == RL_OK && can;
}

extern "C" int rl_cuda_driver_version(void) {
    int version = 0;
    return cudaDriverGetVersion(&version) == cudaSuccess ? version : 0;
}

/* ---- how kernels count ---- */
static int64_t index_limit = INT64_C(1) << 31;
int64_t cuda_index_limit(void) {
    return index_limit;
}
extern "C" void rl_cuda_index_limit(int64_t limit) {
    index_limit = limit;
}

/* ==== what stands around every launch of a kernel, and how the dispatcher finds the kernels ==== */
extern "C" rl_status rl_cuda_begin(rl_call *k, const rl_view *v) {
    return rl_cuda_select(v->device_index) == RL_OK ? RL_OK : rl_cuda_fail(k);
}

static bool must_wait(void) {
    static int waits = -1; /* not asked yet */
    const char *asked = waits < 0 ? getenv("CUDA_LAUNCH_BLOCKING") : nullptr;
    if (waits < 0) waits = asked && strcmp(asked, "1") == 0;
    return waits > 0;
}

rl_status rl_cuda_sent(rl_call *k) {
    rl_cuda_launched(k->name, k->device_index, (cudaStream_t)k->stream);
    return rl_cuda_check(cudaGetLastError()) == RL_OK ? RL_OK : rl_cuda_fail(k);
}

extern "C" rl_status rl_cuda_end(rl_call *k) {
    if (rl_cuda_sent(k) != RL_OK) return RL_FAIL;
    if (!must_wait() || rl_cuda_stream_synchronize(k->device_index, k->stream) == RL_OK) return RL_OK;
    return rl_cuda_fail(k);
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
