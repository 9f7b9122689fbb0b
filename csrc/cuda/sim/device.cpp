/* Devices of the simulator, and their errors. */
#include "sim.h"
#include "control.h"
#include <stdio.h>

/* ==== errors: the last one of each thread, the one that breaks a device for good, and failures that a test
 * asks for ==== */
namespace sim {
static thread_local cudaError_t last = cudaSuccess;
static cudaError_t broken = cudaSuccess;
static long calls, fail_at;
static int failing = 1; /* how many calls from there on */
static std::string failed;

void break_device(cudaError_t error) {
    if (broken == cudaSuccess) broken = error;
}
bool is_broken(void) {
    return broken != cudaSuccess;
}

Call::Call(const char *name, cudaError_t if_told_to_fail) : lock_(door), error(broken) {
    calls++;
    if (fail_at && calls >= fail_at && calls < fail_at + failing) {
        error = if_told_to_fail;
        failed = name;
    }
    if (error != cudaSuccess) last = error;
}
/* What ran meanwhile may have broken the device. */
cudaError_t Call::end(cudaError_t result) {
    if (result == cudaSuccess) result = broken;
    if (result != cudaSuccess) last = result;
    return result;
}
} // namespace sim

using namespace sim;
extern "C" {
cudaError_t cudaGetLastError(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    cudaError_t error = broken != cudaSuccess ? broken : last;
    last = cudaSuccess;
    return error;
}
cudaError_t cudaPeekAtLastError(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    return broken != cudaSuccess ? broken : last;
}

static const struct {
    cudaError_t error;
    const char *name, *text;
} errors[] = {
    {cudaSuccess, "cudaSuccess", "no error"},
    {cudaErrorInvalidValue, "cudaErrorInvalidValue", "invalid argument"},
    {cudaErrorMemoryAllocation, "cudaErrorMemoryAllocation", "out of memory"},
    {cudaErrorInitializationError, "cudaErrorInitializationError", "initialization error"},
    {cudaErrorInvalidConfiguration, "cudaErrorInvalidConfiguration", "invalid configuration argument"},
    {cudaErrorInsufficientDriver, "cudaErrorInsufficientDriver",
     "CUDA driver version is insufficient for CUDA runtime version"},
    {cudaErrorNoDevice, "cudaErrorNoDevice", "no CUDA-capable device is detected"},
    {cudaErrorInvalidDevice, "cudaErrorInvalidDevice", "invalid device ordinal"},
    {cudaErrorInvalidResourceHandle, "cudaErrorInvalidResourceHandle", "invalid resource handle"},
    {cudaErrorNotReady, "cudaErrorNotReady", "device not ready"},
    {cudaErrorIllegalAddress, "cudaErrorIllegalAddress", "an illegal memory access was encountered"},
    {cudaErrorLaunchOutOfResources, "cudaErrorLaunchOutOfResources",
     "too many resources requested for launch"},
    {cudaErrorPeerAccessAlreadyEnabled, "cudaErrorPeerAccessAlreadyEnabled",
     "peer access is already enabled"},
    {cudaErrorAssert, "cudaErrorAssert", "device-side assert triggered"},
    {cudaErrorMisalignedAddress, "cudaErrorMisalignedAddress", "misaligned address"},
    {cudaErrorLaunchFailure, "cudaErrorLaunchFailure", "unspecified launch failure"},
};
const char *cudaGetErrorString(cudaError_t error) {
    for (const auto &each : errors)
        if (each.error == error) return each.text;
    return "unknown error";
}
const char *cudaGetErrorName(cudaError_t error) {
    for (const auto &each : errors)
        if (each.error == error) return each.name;
    return "cudaErrorUnknown";
}

/* ---- for tests ---- */
long cuda_sim_calls(void) {
    return calls;
}
void cuda_sim_fail(long call, int times) {
    std::lock_guard<std::recursive_mutex> lock(door);
    fail_at = call ? calls + call : 0;
    failing = times;
    failed.clear();
}
const char *cuda_sim_failed(void) {
    return failed.c_str();
}
void cuda_sim_break(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    enqueue(nullptr, "a fault", [] { break_device(cudaErrorIllegalAddress); });
}
void cuda_sim_mend(void) {
    std::lock_guard<std::recursive_mutex> lock(door);
    broken = last = cudaSuccess;
}
}

/* ==== which devices there are, and what they say of themselves: small ones of compute capability 8.0 ==== */
namespace sim {
static bool is_peer[8][8];
bool may_reach(const Arena *a) {
    const int here = running_device();
    if (a == &arena(here)) return true;
    for (int i = 0; i < device_count(); i++)
        if (a == &arena(i)) return is_peer[here][i];
    return false;
}
} // namespace sim
using namespace sim;
extern "C" {
cudaError_t cudaDriverGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaRuntimeGetVersion(int *version) {
    *version = CUDART_VERSION;
    return cudaSuccess;
}
cudaError_t cudaGetDeviceCount(int *count) {
    Call call("cudaGetDeviceCount");
    if (call.error) return call.error;
    *count = device_count();
    return *count ? cudaSuccess : call.end(cudaErrorNoDevice);
}
cudaError_t cudaGetDevice(int *index) {
    *index = device;
    return cudaSuccess;
}
cudaError_t cudaSetDevice(int index) {
    Call call("cudaSetDevice");
    if (call.error) return call.error;
    if (index < 0 || index >= device_count()) return call.end(cudaErrorInvalidDevice);
    device = index;
    arena(index);
    return cudaSuccess;
}
cudaError_t cudaGetDeviceProperties(cudaDeviceProp *p, int index) {
    Call call("cudaGetDeviceProperties");
    if (call.error) return call.error;
    if (index < 0 || index >= device_count()) return call.end(cudaErrorInvalidDevice);
    *p = cudaDeviceProp();
    snprintf(p->name, sizeof p->name, "Simulated device");
    p->uuid.bytes[15] = (char)index;
    p->totalGlobalMem = arena(index).limit;
    p->sharedMemPerBlock = STATIC_SHARED;
    p->sharedMemPerBlockOptin = MAX_SHARED;
    p->sharedMemPerMultiprocessor = MAX_SHARED + 1024;
    p->regsPerBlock = p->regsPerMultiprocessor = 65536;
    p->warpSize = 32;
    p->maxThreadsPerBlock = MAX_THREADS;
    p->maxThreadsPerMultiProcessor = 2048;
    p->major = 8;
    p->multiProcessorCount = 4; /* few: grids that do not hold all elements at once are met early */
    p->l2CacheSize = 1 << 20;
    p->pciBusID = index;
    return cudaSuccess;
}
cudaError_t cudaDeviceGetAttribute(int *value, cudaDeviceAttr attribute, int index) {
    cudaDeviceProp p;
    cudaError_t error = cudaGetDeviceProperties(&p, index);
    if (error) return error;
    switch (attribute) {
    case cudaDevAttrMaxSharedMemoryPerBlock: *value = (int)p.sharedMemPerBlock; break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin: *value = (int)p.sharedMemPerBlockOptin; break;
    case cudaDevAttrWarpSize: *value = p.warpSize; break;
    case cudaDevAttrMultiProcessorCount: *value = p.multiProcessorCount; break;
    case cudaDevAttrMaxThreadsPerMultiProcessor: *value = p.maxThreadsPerMultiProcessor; break;
    case cudaDevAttrComputeCapabilityMajor: *value = p.major; break;
    case cudaDevAttrComputeCapabilityMinor: *value = p.minor; break;
    }
    return cudaSuccess;
}
cudaError_t cudaDeviceCanAccessPeer(int *can, int index, int peer) {
    Call call("cudaDeviceCanAccessPeer");
    if (call.error) return call.error;
    *can = index != peer;
    return cudaSuccess;
}
cudaError_t cudaDeviceEnablePeerAccess(int peer, unsigned) {
    Call call("cudaDeviceEnablePeerAccess");
    if (call.error) return call.error;
    if (peer < 0 || peer >= device_count() || peer == device) return call.end(cudaErrorInvalidDevice);
    if (is_peer[device][peer]) return call.end(cudaErrorPeerAccessAlreadyEnabled);
    is_peer[device][peer] = true;
    return cudaSuccess;
}
}
