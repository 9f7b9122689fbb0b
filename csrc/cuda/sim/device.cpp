/* Which devices there are, and what they say of themselves: a small one of compute capability 8.0. */
#include "sim.h"
#include <stdio.h>

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
    p->sharedMemPerBlockOptin = MOST_SHARED;
    p->sharedMemPerMultiprocessor = MOST_SHARED + 1024;
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
