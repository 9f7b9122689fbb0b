/* Memory of the simulated devices, and pinned memory of the host. */
#include "sim.h"
#include "control.h"
#include <fcntl.h>
#include <sanitizer/asan_interface.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

namespace sim {
enum { MAX_DEVICES = 8, GAP = 512 }; /* nothing lies in the gap between two segments */
static Arena arenas[MAX_DEVICES];
static int files[MAX_DEVICES];
static std::map<uintptr_t, size_t> pinned;

static uintptr_t map(int file, int protection) {
    void *p = mmap(nullptr, (size_t)1 << ARENA_BYTES_LOG2, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (p == MAP_FAILED) abort(); /* there is no device then: a build for development only */
    return (uintptr_t)p;
}
Arena &arena(int device) {
    Arena &a = arenas[device];
    if (a.at) return a;
    files[device] = memfd_create("cuda_sim", MFD_CLOEXEC);
    if (files[device] < 0 || ftruncate(files[device], (off_t)1 << ARENA_BYTES_LOG2)) abort();
    a.bytes = a.shadow.bytes = a.limit = (size_t)1 << ARENA_BYTES_LOG2;
    a.inside = map(files[device], PROT_READ | PROT_WRITE);
    a.at = map(files[device], PROT_NONE);
    return a;
}
Arena *arena_of(const void *p) {
    for (Arena &a : arenas)
        if (a.at && (uintptr_t)p - a.at < a.bytes) return &a;
    return nullptr;
}
void open_arenas(bool open) {
    for (Arena &a : arenas)
        if (a.at) mprotect((void *)a.at, a.bytes, open ? PROT_READ | PROT_WRITE : PROT_NONE);
}
char *inside(const void *p) {
    const Arena *a = arena_of(p);
    return (char *)(a ? (uintptr_t)p - a->at + a->inside : (uintptr_t)p);
}

static Block *find(std::map<uintptr_t, Block> &blocks, uintptr_t p) {
    auto next = blocks.upper_bound(p);
    if (next == blocks.begin()) return nullptr;
    Block &b = (--next)->second;
    return p - b.at < b.bytes ? &b : nullptr;
}
const Block *block_at(uintptr_t p) {
    Arena *a = arena_of((const void *)p);
    if (!a) return nullptr;
    Block *b = find(a->blocks, p);
    if (b) return b;
    b = find(a->segments, p);
    return b && !b->is_cut ? b : nullptr;
}
bool is_pinned(const void *p) {
    auto next = pinned.upper_bound((uintptr_t)p);
    return next != pinned.begin() && (uintptr_t)p - (--next)->first < next->second;
}

/* first fit above what is there: addresses come again only when their neighbours are gone */
static uintptr_t room_for(Arena &a, size_t bytes) {
    uintptr_t at = a.at + GAP;
    for (auto &each : a.segments) {
        if (each.first - at >= bytes + GAP && each.first > at) break;
        at = (each.second.at + each.second.bytes + GAP + 511) / 512 * 512;
    }
    return at - a.at + bytes + GAP <= a.bytes ? at : 0;
}
} // namespace sim

using namespace sim;
extern "C" {
cudaError_t cudaMalloc(void **p, size_t bytes) {
    Call call("cudaMalloc", cudaErrorMemoryAllocation);
    if (call.error) return call.error;
    if (!p) return call.end(cudaErrorInvalidValue);
    *p = nullptr;
    if (!bytes) return cudaSuccess;
    Arena &a = arena(device);
    uintptr_t at = bytes > a.limit - a.used ? 0 : room_for(a, bytes);
    if (!at) return call.end(cudaErrorMemoryAllocation);
    a.segments[at] = Block{at, bytes, false};
    ASAN_POISON_MEMORY_REGION((void *)(at - GAP), bytes + 2 * GAP);
    ASAN_UNPOISON_MEMORY_REGION((void *)at, bytes);
    a.used += bytes;
    *p = (void *)at;
    return cudaSuccess;
}
cudaError_t cudaFree(void *p) {
    Call call("cudaFree");
    if (call.error) return call.error;
    if (!p) return cudaSuccess;
    Arena *a = arena_of(p);
    auto found = a ? a->segments.find((uintptr_t)p) : std::map<uintptr_t, Block>::iterator();
    if (!a || found == a->segments.end()) return call.end(cudaErrorInvalidValue);
    drain_device((int)(a - arenas));
    if (is_broken()) return call.end(cudaSuccess);
    Block b = found->second;
    a->blocks.erase(a->blocks.lower_bound(b.at), a->blocks.lower_bound(b.at + b.bytes));
    a->segments.erase(found);
    ASAN_POISON_MEMORY_REGION((void *)b.at, b.bytes);
    a->used -= b.bytes;
    renew(p, b.bytes, false);
    /* the whole pages within go back to the system */
    size_t page = 4096, first = ((size_t)(b.at - a->at) + page - 1) / page * page,
           end = (size_t)(b.at - a->at + b.bytes) / page * page;
    if (end > first)
        (void)!fallocate(files[a - arenas], FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)first,
                         (off_t)(end - first));
    return cudaSuccess;
}
cudaError_t cudaMemGetInfo(size_t *free, size_t *total) {
    Call call("cudaMemGetInfo");
    if (call.error) return call.error;
    Arena &a = arena(device);
    *total = a.limit;
    *free = a.limit > a.used ? a.limit - a.used : 0;
    return cudaSuccess;
}

cudaError_t cudaHostAlloc(void **p, size_t bytes, unsigned) {
    Call call("cudaHostAlloc", cudaErrorMemoryAllocation);
    if (call.error) return call.error;
    if (!p || !bytes) return call.end(cudaErrorInvalidValue);
    *p = aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!*p) return call.end(cudaErrorMemoryAllocation);
    pinned[(uintptr_t)*p] = bytes;
    return cudaSuccess;
}
cudaError_t cudaMallocHost(void **p, size_t bytes) {
    return cudaHostAlloc(p, bytes, cudaHostAllocDefault);
}
cudaError_t cudaFreeHost(void *p) {
    Call call("cudaFreeHost");
    if (call.error) return call.error;
    if (!p) return cudaSuccess;
    if (!pinned.count((uintptr_t)p)) return call.end(cudaErrorInvalidValue);
    for (int i = 0; i < device_count(); i++) drain_device(i);
    pinned.erase((uintptr_t)p);
    free(p);
    return cudaSuccess;
}
cudaError_t cudaHostGetDevicePointer(void **to, void *host, unsigned) {
    Call call("cudaHostGetDevicePointer");
    if (call.error) return call.error;
    if (!is_pinned(host)) return call.end(cudaErrorInvalidValue);
    *to = host;
    return cudaSuccess;
}
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes *attributes, const void *p) {
    Call call("cudaPointerGetAttributes");
    if (call.error) return call.error;
    *attributes = cudaPointerAttributes();
    if (Arena *a = arena_of(p)) {
        attributes->type = cudaMemoryTypeDevice;
        attributes->device = (int)(a - arenas);
        attributes->devicePointer = (void *)p;
    } else if (is_pinned(p)) {
        attributes->type = cudaMemoryTypeHost;
        attributes->devicePointer = attributes->hostPointer = (void *)p;
    }
    return cudaSuccess;
}

/* ---- blocks of an allocator ---- */
void cuda_sim_block_begin(void *p, size_t bytes, cudaStream_t stream) {
    std::lock_guard<std::recursive_mutex> lock(door);
    Arena *a = arena_of(p);
    Block *segment = a ? find(a->segments, (uintptr_t)p) : nullptr;
    if (!segment) return report("a block in no memory of cudaMalloc", nullptr, p);
    if (!segment->is_cut) ASAN_POISON_MEMORY_REGION((void *)segment->at, segment->bytes);
    segment->is_cut = true;
    const auto begin = [=] {
        a->blocks[(uintptr_t)p] = Block{(uintptr_t)p, bytes, false};
        ASAN_UNPOISON_MEMORY_REGION(p, bytes);
        renew(p, bytes, true);
    };
    enqueue(stream, "the beginning of a block", begin, true);
}
void cuda_sim_block_end(void *p, cudaStream_t stream) {
    std::lock_guard<std::recursive_mutex> lock(door);
    Arena *a = arena_of(p);
    if (!a) return report("the end of a block that never was", nullptr, p);
    const auto end = [=] {
        auto found = a->blocks.find((uintptr_t)p);
        if (found == a->blocks.end()) return report("the end of a block that never was", nullptr, p);
        size_t bytes = found->second.bytes;
        /* nobody may still be at work on it */
        if (!is_broken()) touch(p, bytes, WRITE, "the end of a block");
        memset(inside(p), 0xdb, bytes < 1 << 20 ? bytes : 1 << 20);
        a->blocks.erase(found);
        ASAN_POISON_MEMORY_REGION(p, bytes);
    };
    enqueue(stream, "the end of a block", end, true);
}

void cuda_sim_limit(int device, size_t bytes) {
    std::lock_guard<std::recursive_mutex> lock(door);
    arena(device).limit =
        bytes && bytes < (size_t)1 << ARENA_BYTES_LOG2 ? bytes : (size_t)1 << ARENA_BYTES_LOG2;
}
size_t cuda_sim_in_use(int device) {
    std::lock_guard<std::recursive_mutex> lock(door);
    return arena(device).used;
}
}
