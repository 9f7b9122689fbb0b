/* Pinned memory of the host: copies between it and a device run while the program goes on. Blocks are kept,
 * since pinning takes long; one that a copy may still read or write waits for its events. */
#include "runtime.h"
#include <map>

enum { LEAST = 512, CLASSES = 48 }; /* sizes are LEAST << class */
typedef struct host_block {
    struct host_block *next; /* free, or waiting */
    char *at;
    int size_class;
    stream_use *uses;
} host_block;
static std::map<char *, host_block *> used;
static host_block *pools[CLASSES], *waiting;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of the three */

static void keep(host_block **list, host_block *b) {
    b->next = *list;
    *list = b;
}

static void free_what_waited(void) {
    for (host_block **at = &waiting; *at;) {
        host_block *b = *at;
        if (rl_cuda_uses_ended(&b->uses)) {
            *at = b->next;
            keep(&pools[b->size_class], b);
        } else {
            at = &b->next;
        }
    }
}

static host_block *find(int size_class) {
    mutex_guard guard(&lock);
    free_what_waited();
    host_block *b = pools[size_class];
    if (b) pools[size_class] = b->next;
    if (b) used[b->at] = b;
    return b;
}

extern "C" void *rl_cuda_host_alloc(size_t bytes) {
    int size_class = 0;
    void *p = nullptr;
    while (size_class < CLASSES && (size_t)LEAST << size_class < bytes) size_class++;
    device_guard guard(rl_cuda_current());
    if (guard.status != RL_OK) return nullptr;
    if (size_class == CLASSES) return rl_cuda_check(cudaErrorMemoryAllocation), nullptr;
    host_block *b = find(size_class);
    if (b) return b->at;
    {
        apart_from_python apart;
        if (rl_cuda_check(cudaHostAlloc(&p, (size_t)LEAST << size_class, cudaHostAllocPortable)) != RL_OK)
            return nullptr;
    }
    mutex_guard locked(&lock);
    used[(char *)p] = new host_block{nullptr, (char *)p, size_class, nullptr};
    return p;
}

extern "C" void rl_cuda_host_free(void *p) {
    if (rl_cuda_forked()) return;
    mutex_guard guard(&lock);
    auto found = used.find((char *)p);
    if (found == used.end()) return;
    host_block *b = found->second;
    used.erase(found);
    keep(rl_cuda_uses_ended(&b->uses) ? &pools[b->size_class] : &waiting, b);
}

/* lock held */
static host_block *block_of(const void *p) {
    auto next = used.upper_bound((char *)p);
    if (next == used.begin()) return nullptr;
    host_block *b = (--next)->second;
    return (size_t)((const char *)p - b->at) < (size_t)LEAST << b->size_class ? b : nullptr;
}

bool rl_cuda_host_owns(const void *p) {
    mutex_guard guard(&lock);
    return block_of(p) != nullptr;
}

void rl_cuda_host_used(const void *p, int index, cudaStream_t stream) {
    mutex_guard guard(&lock);
    host_block *b = block_of(p);
    if (b) rl_cuda_uses_add(&b->uses, index, stream);
}

extern "C" bool rl_cuda_host_is_pinned(const void *p) {
    cudaPointerAttributes attributes;
    if (rl_cuda_host_owns(p)) return true;
    if (!rl_cuda_in_use(rl_cuda_current())) return false; /* whoever asks makes no context */
    device_guard guard(rl_cuda_current());
    return rl_cuda_check(cudaPointerGetAttributes(&attributes, p)) == RL_OK &&
           attributes.type == cudaMemoryTypeHost;
}

/* ==== copies of bytes between the CPU and devices, and from device to device ==== */
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
