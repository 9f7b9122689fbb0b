/* What stands around every launch of a kernel, and how the dispatcher finds the kernels. */
#include "runtime.h"
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>

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
