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
