/* Aids that are always on: counted allocations, a failing one on demand. */
#include "memory.h"
#include "error.h"
#include "fence.h"
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

int64_t rl_live_count[RL_LIVE_KINDS];
int64_t rl_alloc_left_ = -1;

void rl_alloc_fail_after(int64_t n) {
    __atomic_store_n(&rl_alloc_left_, n, __ATOMIC_RELAXED);
}

/* Is this the allocation that is to fail, or more than an address can have? Then RL_MEMORY is pending. */
static bool is_refused(rl_count bytes) {
    if (RL_UNLIKELY(rl_alloc_armed()) && __atomic_fetch_sub(&rl_alloc_left_, 1, __ATOMIC_RELAXED) == 0) {
        rl_error_set(RL_MEMORY, "out of memory (allocating %zu bytes, on request)", (size_t)bytes.n);
        return true;
    }
    if (bytes.n >= 0 && bytes.n <= INT64_MAX - 64) return false;
    rl_error_set(RL_MEMORY,
                 "DefaultCPUAllocator: can't allocate memory: you tried to allocate more bytes than "
                 "an address can have.");
    return true;
}

static void *refused_by_system(size_t bytes) {
    rl_error_set(RL_MEMORY, "DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes.",
                 bytes);
    return NULL;
}

void *rl_alloc(rl_count n, size_t itemsize) {
    rl_count count = rl_count_times(n, itemsize);
    size_t bytes = (size_t)count.n;
    if (is_refused(count)) return NULL;
    void *p; /* to the byte, so that sanitizers see the end */
    if (RL_UNLIKELY(rl_fence_mode)) return (p = rl_fence_alloc(bytes)) ? p : refused_by_system(bytes);
    return posix_memalign(&p, 64, bytes ? bytes : 1) ? refused_by_system(bytes) : p;
}

void *rl_alloc_zero(rl_count n, size_t itemsize) {
    void *p = rl_alloc(n, itemsize);
    if (p) memset(p, 0, (size_t)n.n * itemsize);
    return p;
}

void rl_free(void *p) {
    if (RL_UNLIKELY(rl_fence_mode) && rl_fence_free(p)) return;
    free(p);
}

void *rl_alloc_pages(rl_count count) {
    enum { HUGE = 2 << 20 };
    size_t bytes = (size_t)count.n, page = (size_t)sysconf(_SC_PAGESIZE);
    if (is_refused(count)) return NULL;
    char *p = mmap(NULL, bytes + HUGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (p == MAP_FAILED) return refused_by_system(bytes);
    size_t before = -(uintptr_t)p % HUGE, used = (bytes + page - 1) / page * page;
    if (before) munmap(p, before); /* what stands around the aligned part */
    p += before;
    munmap(p + used, bytes + HUGE - before - used);
#ifdef MADV_HUGEPAGE
    madvise(p, used, MADV_HUGEPAGE);
#endif
    return p;
}

void rl_free_pages(void *p, size_t bytes) {
    munmap(p, bytes);
}
