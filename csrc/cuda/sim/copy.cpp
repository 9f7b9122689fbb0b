/* Copies and fills of the simulated device, with CUDA's rules for memory of the host: pinned memory is read
 * and written when the stream gets there, other memory before the call returns. */
#include "sim.h"
#include <string.h>

namespace sim {
/* Is [p, p + bytes) within one block, or memory of the host? */
static bool is_whole(const void *p, size_t bytes) {
    if (!arena_of(p)) return true;
    const Block *b = block_at((uintptr_t)p);
    return b && (uintptr_t)p - b->at + bytes <= b->bytes;
}

static void copy_now(void *to, const void *from, size_t bytes) {
    if (!is_whole(to, bytes) || !is_whole(from, bytes)) {
        report("a copy out of bounds", nullptr, is_whole(to, bytes) ? from : to);
        return break_device(cudaErrorIllegalAddress);
    }
    if (arena_of(from)) touch(from, bytes, READ, "a copy");
    if (arena_of(to)) touch(to, bytes, WRITE, "a copy");
    memmove(inside(to), inside(from), bytes);
}

static cudaError_t copy(const char *name, void *to, const void *from, size_t bytes, cudaStream_t stream) {
    Call call(name, cudaErrorInvalidValue);
    if (call.error) return call.error;
    if (!bytes) return cudaSuccess;
    if (!to || !from) return call.end(cudaErrorInvalidValue);
    const bool from_host = !arena_of(from) && !is_pinned(from), to_host = !arena_of(to) && !is_pinned(to);
    if (from_host) {
        std::string staged((const char *)from, bytes);
        enqueue(stream, name, [=] { copy_now(to, staged.data(), bytes); });
    } else {
        enqueue(stream, name, [=] { copy_now(to, from, bytes); });
    }
    if (to_host) drain(stream); /* no call of its own, which could fail alone and leave the copy to come */
    return call.end(cudaSuccess);
}
} // namespace sim

using namespace sim;
extern "C" {
cudaError_t cudaMemcpyAsync(void *to, const void *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    const bool to_device = kind == cudaMemcpyHostToDevice || kind == cudaMemcpyDeviceToDevice,
               from_device = kind == cudaMemcpyDeviceToHost || kind == cudaMemcpyDeviceToDevice;
    if (bytes && kind != cudaMemcpyDefault &&
        (to_device != (arena_of(to) != nullptr) || from_device != (arena_of(from) != nullptr))) {
        report("a copy whose kind is not that of its memory", nullptr, to);
        return cudaErrorInvalidValue;
    }
    return copy("cudaMemcpyAsync", to, from, bytes, stream);
}
cudaError_t cudaMemcpy(void *to, const void *from, size_t bytes, cudaMemcpyKind kind) {
    cudaError_t error = cudaMemcpyAsync(to, from, bytes, kind, nullptr);
    return error ? error : cudaStreamSynchronize(nullptr);
}
cudaError_t cudaMemcpyPeerAsync(void *to, int, const void *from, int, size_t bytes, cudaStream_t stream) {
    return copy("cudaMemcpyPeerAsync", to, from, bytes, stream);
}
cudaError_t cudaMemsetAsync(void *p, int value, size_t bytes, cudaStream_t stream) {
    Call call("cudaMemsetAsync");
    if (call.error) return call.error;
    if (!bytes) return cudaSuccess;
    if (!arena_of(p)) return call.end(cudaErrorInvalidValue);
    enqueue(stream, "cudaMemsetAsync", [=] {
        if (!is_whole(p, bytes)) {
            report("a fill out of bounds", nullptr, p);
            return break_device(cudaErrorIllegalAddress);
        }
        touch(p, bytes, WRITE, "a fill");
        memset(inside(p), value, bytes);
    });
    return cudaSuccess;
}
}
