/* Memory of devices, kept from one tensor to the next.
 *
 * Note [Blocks]
 * cudaMalloc gives segments, which are cut into blocks; neighbours that are free become one again. A block
 * belongs to the stream that it was first asked for on: given back, it may be handed out there at once, since
 * whoever gets it queues behind the old owner.
 *
 *   free ──► used ──► given back ──► free                       only its own stream worked on it
 *                         └──► waits for events ──► free        others did, too: rl_cuda_record
 *
 * Sizes are PyTorch's, so that what fits there fits here: blocks are multiples of 512 bytes; those of up to
 * 1 MiB come from segments of 2 MiB, others below 10 MiB from segments of 20 MiB, larger ones from their own.
 * The lock is never held while CUDA allocates or waits. */
#include "runtime.h"
#include <cstdio>
#include <map>
#include <set>

enum {
    GRAIN = 512,
    SMALL = 1 << 20,
    SMALL_SEGMENT = 2 << 20,
    MEDIUM = 10 << 20,
    MEDIUM_SEGMENT = 20 << 20,
    LARGE_GRAIN = 2 << 20
};
struct block {
    block *prev, *next; /* its neighbours in the segment */
    int index;
    cudaStream_t stream;
    char *at;
    size_t size, requested;
    bool is_small, is_used;
    stream_use *uses;
};
struct by_size { /* within one stream */
    bool operator()(const block *a, const block *b) const {
        if (a->stream != b->stream) return (uintptr_t)a->stream < (uintptr_t)b->stream;
        return a->size != b->size ? a->size < b->size : a->at < b->at;
    }
};
struct memory {                         /* of a device */
    std::set<block *, by_size> free[2]; /* [is_small] */
    std::map<char *, block *> used;
    std::set<block *> waiting; /* given back, and not free yet */
    rl_cuda_stats stats;
};
static memory memories[CUDA_DEVICES];
static size_t allowed[CUDA_DEVICES];                     /* bytes of segments; 0: all that there are */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* of all of them */

#ifdef __CUDACC__ /* a real device needs not be told */
static void block_begins(const block *) {}
static void block_ends(const block *) {}
#else
static void block_begins(const block *b) {
    cuda_sim_block_begin(b->at, b->requested, b->stream);
}
static void block_ends(const block *b) {
    cuda_sim_block_end(b->at, b->stream);
}
#endif

/* ---- counters ---- */
static void count_one(rl_cuda_stat *s, int64_t by) {
    s->current += by;
    if (s->current > s->peak) s->peak = s->current;
    (by > 0 ? s->made : s->ended) += by > 0 ? by : -by;
}
static void count(const block *b, int what, int64_t by) {
    rl_cuda_stat *s = memories[b->index].stats.of[what];
    count_one(&s[0], by);
    count_one(&s[b->is_small ? 1 : 2], by);
}
static void count_with_bytes(const block *b, int what, int bytes, int by) {
    count(b, what, by);
    count(b, bytes, by * (int64_t)b->size);
}

/* ---- free blocks ---- */
static void pool_add(block *b) {
    if (b->prev || b->next) count_with_bytes(b, RL_CUDA_INACTIVE_SPLIT, RL_CUDA_INACTIVE_SPLIT_BYTES, 1);
    memories[b->index].free[b->is_small].insert(b);
}
static void pool_remove(block *b) {
    if (b->prev || b->next) count_with_bytes(b, RL_CUDA_INACTIVE_SPLIT, RL_CUDA_INACTIVE_SPLIT_BYTES, -1);
    memories[b->index].free[b->is_small].erase(b);
}

/* `b` takes in its neighbour, which is free. */
static void swallow(block *b, block *neighbour) {
    if (!neighbour || neighbour->is_used) return;
    pool_remove(neighbour);
    if (neighbour == b->prev) {
        b->at = neighbour->at;
        b->prev = neighbour->prev;
        if (b->prev) b->prev->next = b;
    } else {
        b->next = neighbour->next;
        if (b->next) b->next->prev = b;
    }
    b->size += neighbour->size;
    delete neighbour;
}

static void make_free(block *b) {
    count_with_bytes(b, RL_CUDA_ACTIVE, RL_CUDA_ACTIVE_BYTES, -1);
    block_ends(b);
    swallow(b, b->prev);
    swallow(b, b->next);
    b->is_used = false;
    pool_add(b);
}

static void free_what_waited(int index) {
    std::set<block *> &waiting = memories[index].waiting;
    for (auto at = waiting.begin(); at != waiting.end();) {
        block *b = *at;
        /* its events may lie on another device, from which the way back can fail */
        if (rl_cuda_uses_ended(&b->uses) && rl_cuda_select(index) == RL_OK) {
            at = waiting.erase(at);
            make_free(b);
        } else {
            ++at;
        }
    }
}

/* ---- handing out ---- */
static void split(block *b, size_t size) {
    const size_t rest = b->size - size;
    if (rest < (b->is_small ? (size_t)GRAIN : (size_t)SMALL + 1)) return;
    block *tail =
        new block{b, b->next, b->index, b->stream, b->at + size, rest, 0, b->is_small, false, nullptr};
    if (tail->next) tail->next->prev = tail;
    b->next = tail;
    b->size = size;
    pool_add(tail);
}

static void *hand_out(block *b, size_t size, size_t requested) {
    split(b, size);
    b->is_used = true;
    b->requested = requested;
    memories[b->index].used[b->at] = b;
    count_with_bytes(b, RL_CUDA_ALLOCATION, RL_CUDA_ALLOCATED_BYTES, 1);
    count_with_bytes(b, RL_CUDA_ACTIVE, RL_CUDA_ACTIVE_BYTES, 1);
    count(b, RL_CUDA_REQUESTED_BYTES, (int64_t)requested);
    block_begins(b);
    return b->at;
}

typedef struct {
    int index;
    cudaStream_t stream;
    size_t size, requested;
    bool is_small;
} request;

/* the smallest free block that holds it, or NULL */
static void *find(const request &r) {
    mutex_guard guard(&lock);
    free_what_waited(r.index);
    if (rl_cuda_select(r.index) != RL_OK) return nullptr;
    block key = {nullptr, nullptr, r.index, r.stream, nullptr, r.size, 0, r.is_small, false, nullptr};
    auto &pool = memories[r.index].free[r.is_small];
    auto found = pool.lower_bound(&key);
    if (found == pool.end() || (*found)->stream != r.stream) return nullptr;
    block *b = *found;
    pool_remove(b);
    return hand_out(b, r.size, r.requested);
}

static size_t segment_size(const request &r) {
    if (r.is_small) return SMALL_SEGMENT;
    if (r.size < MEDIUM) return MEDIUM_SEGMENT;
    return (r.size + LARGE_GRAIN - 1) / LARGE_GRAIN * LARGE_GRAIN;
}

static bool is_above_share(int index, size_t bytes) {
    mutex_guard guard(&lock);
    const int64_t held = memories[index].stats.of[RL_CUDA_RESERVED_BYTES][0].current;
    return allowed[index] && (bytes > allowed[index] || (size_t)held > allowed[index] - bytes);
}

extern "C" void rl_cuda_share(int index, size_t bytes) {
    mutex_guard guard(&lock);
    if (index >= 0 && index < CUDA_DEVICES) allowed[index] = bytes;
}

static cudaError_t get_segment(const request &r, void **p) {
    const size_t bytes = segment_size(r);
    void *memory = nullptr;
    cudaError_t error;
    if (is_above_share(r.index, bytes)) return cudaErrorMemoryAllocation;
    if (rl_cuda_select(r.index) != RL_OK) return cudaErrorUnknown;
    {
        apart_from_python apart;
        error = cudaMalloc(&memory, bytes);
    }
    if (error != cudaSuccess) {
        cudaGetLastError();
        return error;
    }
    mutex_guard guard(&lock);
    block *b =
        new block{nullptr, nullptr, r.index, r.stream, (char *)memory, bytes, 0, r.is_small, false, nullptr};
    count_with_bytes(b, RL_CUDA_SEGMENT, RL_CUDA_RESERVED_BYTES, 1);
    memories[r.index].stats.mallocs++;
    *p = hand_out(b, r.size, r.requested);
    return cudaSuccess;
}

/* ---- back to the device: whole segments, which nobody uses ---- */
static std::set<block *> take_segments(int index) {
    std::set<block *> taken;
    mutex_guard guard(&lock);
    free_what_waited(index);
    for (auto &pool : memories[index].free)
        for (auto at = pool.begin(); at != pool.end();) {
            block *b = *at++;
            if (b->prev || b->next) continue;
            pool_remove(b);
            taken.insert(b);
        }
    return taken;
}

/* Events that could not be made before are made now, so that a wait reaches them. */
static bool has_waiting(int index) {
    mutex_guard guard(&lock);
    free_what_waited(index);
    return !memories[index].waiting.empty();
}

static rl_status wait_for_uses(int index) {
    const bool has_others = has_waiting(index); /* maybe on streams of other devices */
    for (int i = 0; i < CUDA_DEVICES; i++) {
        if (i != index && !(has_others && rl_cuda_in_use(i))) continue;
        device_guard guard(i);
        if (guard.status != RL_OK || rl_cuda_check(cudaDeviceSynchronize()) != RL_OK) return RL_FAIL;
    }
    return RL_OK;
}

static rl_status release_segments(int index) {
    rl_status status = RL_OK;
    apart_from_python apart;
    device_guard guard(index);
    if (guard.status != RL_OK || wait_for_uses(index) != RL_OK) return RL_FAIL;
    for (block *b : take_segments(index)) {
        const bool is_gone = rl_cuda_check(cudaFree(b->at)) == RL_OK;
        mutex_guard locked(&lock);
        if (is_gone) {
            count_with_bytes(b, RL_CUDA_SEGMENT, RL_CUDA_RESERVED_BYTES, -1);
            memories[index].stats.frees++;
            delete b;
        } else {
            pool_add(b);
            status = RL_FAIL;
        }
    }
    return status;
}

extern "C" rl_status rl_cuda_empty_cache(void) {
    rl_status status = RL_OK;
    for (int i = 0; i < CUDA_DEVICES; i++)
        if (rl_cuda_in_use(i) && release_segments(i) != RL_OK) status = RL_FAIL;
    return status;
}

/* ---- out of memory ---- */
typedef struct {
    char text[32];
} size_text;
static size_text show(int64_t bytes) {
    size_text t;
    if (bytes <= 1 << 10)
        snprintf(t.text, sizeof t.text, "%lld bytes", (long long)bytes);
    else if (bytes <= 1 << 20)
        snprintf(t.text, sizeof t.text, "%.2f KiB", (double)bytes / (1 << 10));
    else if (bytes <= 1 << 30)
        snprintf(t.text, sizeof t.text, "%.2f MiB", (double)bytes / (1 << 20));
    else
        snprintf(t.text, sizeof t.text, "%.2f GiB", (double)bytes / (1 << 30));
    return t;
}

static void *out_of_memory(const request &r) {
    size_t free = 0, total = 0;
    rl_cuda_stats stats;
    if (cudaMemGetInfo(&free, &total) != cudaSuccess) cudaGetLastError();
    rl_cuda_stats_get(r.index, &stats);
    const size_t share = allowed[r.index];
    const int64_t used = stats.of[RL_CUDA_ALLOCATED_BYTES][0].current,
                  held = stats.of[RL_CUDA_RESERVED_BYTES][0].current;
    rl_cuda_refuse(
        RL_DEVICE_MEMORY,
        "CUDA out of memory. Tried to allocate %s. GPU %d has a total capacity of %s of which %s is "
        "free. %s%sOf the allocated memory %s is allocated by PyTorch, and %s is reserved by PyTorch but "
        "unallocated.",
        show((int64_t)r.requested).text, r.index, show((int64_t)total).text, show((int64_t)free).text,
        share ? show((int64_t)share).text : "", share ? " allowed; " : "", show(used).text,
        show(held - used).text);
    return nullptr;
}

static void count_retry(int index, bool was_in_vain) {
    mutex_guard guard(&lock);
    rl_cuda_stats &stats = memories[index].stats;
    (was_in_vain ? stats.ooms : stats.retries)++;
}

extern "C" void *rl_cuda_alloc(int index, size_t bytes, void *stream) {
    enum { MOST = 62 };
    device_guard guard(index);
    if (guard.status != RL_OK) return nullptr;
    const size_t size = bytes >> MOST ? bytes : (bytes + GRAIN - 1) / GRAIN * GRAIN;
    const request r = {index, (cudaStream_t)stream, size, bytes, size <= SMALL};
    void *p = bytes >> MOST ? nullptr : find(r);
    cudaError_t error = cudaErrorMemoryAllocation;
    if (p || (!(bytes >> MOST) && (error = get_segment(r, &p)) == cudaSuccess)) return p;
    if (error == cudaErrorMemoryAllocation && release_segments(index) == RL_OK) {
        count_retry(index, false);
        if ((p = find(r)) || (!(bytes >> MOST) && (error = get_segment(r, &p)) == cudaSuccess)) return p;
    }
    count_retry(index, true);
    if (error == cudaErrorMemoryAllocation) return out_of_memory(r);
    rl_cuda_check(error);
    return nullptr;
}

/* ---- giving back ---- */
extern "C" void rl_cuda_free(int index, void *p) {
    if (!p || rl_cuda_forked()) return;
    device_guard guard(index);
    mutex_guard locked(&lock);
    memory &m = memories[index];
    auto found = m.used.find((char *)p);
    if (found == m.used.end()) return;
    block *b = found->second;
    m.used.erase(found);
    count_with_bytes(b, RL_CUDA_ALLOCATION, RL_CUDA_ALLOCATED_BYTES, -1);
    count(b, RL_CUDA_REQUESTED_BYTES, -(int64_t)b->requested);
    if (guard.status == RL_OK && rl_cuda_uses_ended(&b->uses) && rl_cuda_select(index) == RL_OK)
        make_free(b);
    else
        m.waiting.insert(b); /* until somebody asks for memory */
}

extern "C" void rl_cuda_record(int index, void *p, int stream_index, void *stream) {
    mutex_guard guard(&lock);
    auto &used = memories[index].used;
    auto next = used.upper_bound((char *)p);
    if (next == used.begin()) return;
    block *b = (--next)->second;
    const bool is_own = index == stream_index && b->stream == (cudaStream_t)stream;
    if ((size_t)((char *)p - b->at) < b->size && !is_own)
        rl_cuda_uses_add(&b->uses, stream_index, (cudaStream_t)stream);
}

extern "C" void rl_cuda_stats_get(int index, rl_cuda_stats *to) {
    mutex_guard guard(&lock);
    *to = memories[index].stats;
}

extern "C" void rl_cuda_stats_reset(int index, bool peak) {
    mutex_guard guard(&lock);
    for (auto &sizes : memories[index].stats.of)
        for (rl_cuda_stat &s : sizes) {
            if (peak)
                s.peak = s.current;
            else
                s.made = s.ended = 0;
        }
}
