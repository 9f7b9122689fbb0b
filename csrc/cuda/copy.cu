/* Copies of bytes between the CPU and devices, and from device to device. */
#include "runtime.h"

static rl_status start_copy(const rl_place *to, const rl_place *from, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
    return rl_cuda_check(cudaMemcpyAsync(to->at, from->at, bytes, kind, stream));
}

/* `host` is the side that is memory of the CPU. Other memory than pinned one is read before the call returns:
 * then it may be freed or written at once. */
static rl_status copy_with_host(const rl_place *to, const rl_place *from, size_t bytes, bool async) {
    const bool reads_host = from->device == RL_CPU;
    const rl_place *host = reads_host ? from : to;
    const int index = reads_host ? to->index : from->index;
    const cudaStream_t stream = (cudaStream_t)rl_cuda_stream(index);
    device_guard guard(index);
    const bool is_owned = rl_cuda_host_owns(host->at);
    if (guard.status != RL_OK) return RL_FAIL;
    {
        apart_from_python apart; /* a copy from other memory than pinned one waits for its turn */
        const cudaMemcpyKind kind = reads_host ? cudaMemcpyHostToDevice : cudaMemcpyDeviceToHost;
        if (start_copy(to, from, bytes, kind, stream) != RL_OK) return RL_FAIL;
    }
    if (async && (is_owned || reads_host)) {
        rl_cuda_host_used(host->at, index, stream);
        return RL_OK;
    }
    const rl_status status = rl_cuda_wait_stream(index, stream);
    if (status != RL_OK) rl_cuda_host_used(host->at, index, stream); /* it may still come */
    return status;
}

/* The copy runs on the source's stream, after what the target's still has to do, which goes on after it. */
static rl_status copy_across(const rl_place *to, const rl_place *from, size_t bytes) {
    void *there = rl_cuda_stream(to->index), *here = rl_cuda_stream(from->index);
    if (rl_cuda_stream_join(from->index, here, to->index, there) != RL_OK) return RL_FAIL;
    rl_cuda_record(to->index, to->at, from->index, here); /* for when the second join fails */
    {
        device_guard guard(from->index);
        if (guard.status != RL_OK ||
            rl_cuda_check(cudaMemcpyPeerAsync(to->at, to->index, from->at, from->index, bytes,
                                              (cudaStream_t)here)) != RL_OK)
            return RL_FAIL;
    }
    return rl_cuda_stream_join(to->index, there, from->index, here);
}

extern "C" rl_status rl_cuda_move(const rl_place *to, const rl_place *from, size_t bytes, bool async) {
    if (bytes == 0) return RL_OK;
    if (to->device == RL_CPU || from->device == RL_CPU) return copy_with_host(to, from, bytes, async);
    if (to->index != from->index) return copy_across(to, from, bytes);
    device_guard guard(to->index);
    if (guard.status != RL_OK) return RL_FAIL;
    return start_copy(to, from, bytes, cudaMemcpyDeviceToDevice, (cudaStream_t)rl_cuda_stream(to->index));
}
