/* Aids that are always on: counted allocations, a failing one on demand. */
#include "error.h"
#include "memory.h"
#include <stdlib.h>
#include <string.h>

int64_t rl_live_count[RL_LIVE_KINDS];
static int64_t fail_after = -1;

void rl_alloc_fail_after(int64_t n) {
    __atomic_store_n(&fail_after, n, __ATOMIC_RELAXED);
}

bool rl_alloc_armed(void) {
    return __atomic_load_n(&fail_after, __ATOMIC_RELAXED) >= 0;
}

void *rl_alloc(rl_count n, size_t itemsize) {
    rl_count count = rl_count_times(n, itemsize);
    size_t bytes = (size_t)count.n;
    if (RL_UNLIKELY(rl_alloc_armed()) && __atomic_fetch_sub(&fail_after, 1, __ATOMIC_RELAXED) == 0) {
        rl_error_set(RL_MEMORY, "out of memory (allocating %zu bytes, on request)", bytes);
        return NULL;
    }
    if (count.n < 0 || count.n > INT64_MAX - 64) {
        rl_error_set(RL_MEMORY,
                     "DefaultCPUAllocator: can't allocate memory: you tried to allocate more bytes than "
                     "an address can have.");
        return NULL;
    }
    void *p; /* to the byte, so that sanitizers see the end */
    if (posix_memalign(&p, 64, bytes ? bytes : 1)) p = NULL;
    if (!p)
        rl_error_set(RL_MEMORY,
                     "DefaultCPUAllocator: can't allocate memory: you tried to allocate %zu bytes.", bytes);
    return p;
}

void *rl_alloc_zero(rl_count n, size_t itemsize) {
    void *p = rl_alloc(n, itemsize);
    if (p) memset(p, 0, (size_t)n.n * itemsize);
    return p;
}

void rl_free(void *p) {
    free(p);
}
