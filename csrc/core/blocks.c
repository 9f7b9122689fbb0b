/* The cache of blocks. */
#include "blocks.h"
#include "error.h"
#include "memory.h"
#include <errno.h>
#include <pthread.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

/* Note [Block cache]
 * A forward pass frees and takes the same sizes again and again, and memory that is fresh from the system
 * costs a page fault each 4 KiB, more than batch norm spends on them. So what is given back is kept:
 *
 *   class    0   1  ..  7   8  ..  15    16 ..   23    24 ..
 *   bytes   64 128 .. 512 576 .. 1024  1152 .. 2048  2304 ..    eight steps to a power of two
 *   kept     │              │
 *          newest         newest     taken from here, warm in the CPU's caches
 *            ┆              ┆
 *          oldest         oldest     the oldest of all goes when more than `cap` bytes are kept
 *
 * Above the cap, while allocations are to fail on request, between fences (fence.c) and under
 * AddressSanitizer, which need to see every block to the byte, a block is not rounded and not kept.
 *
 * The lock is held for some ten instructions, so it is one exchange and no call: a mutex costs as much as all
 * of the rest. Nothing is asked of the system under it. */
#if defined(__SANITIZE_ADDRESS__)
enum { CACHED = 0 };
#else
enum { CACHED = 1 };
#endif
enum { CLASSES = 248, CLASS_NONE = 255, CUT_AT_ONCE = 64 };
#define MAX_KEPT    ((size_t)1 << 38) /* the end of the last class is above it */
#define PAGES_FROM  ((size_t)2 << 20) /* from here on from the system itself, on huge pages */
#define DEFAULT_CAP ((size_t)1 << 30)

typedef struct block {
    size_t size;
    uint8_t size_class, use;
    /* only while it is kept */
    struct block *newer, *older;
    uint64_t age;
} block;
_Static_assert(offsetof(block, newer) <= RL_BLOCK_HEAD && sizeof(block) <= 64, "a block holds its links");

/* What one take or give changes does not lie side by side, or the compiler joins two of them in one vector,
 * whose load waits for the scalar stores of the call before. */
static struct {
    int lock;
    size_t in_use, cap, kept;              /* bytes */
    uint64_t misses, hits, evicted, given; /* `given` is the clock, too */
    uint64_t left;                         /* blocks that were kept and went back to the system */
    size_t used[RL_BLOCK_USES];
    struct {
        block *newest, *oldest;
    } of[CLASSES];
} cache = {.cap = DEFAULT_CAP};

/* ---- the lock ---- */
/* The holder may have lost its core: sleep, since who only yields to it may have the higher priority. */
static __attribute__((noinline)) void lock_wait(void) {
    for (int i = 0; i < 200; i++)
        if (!__atomic_load_n(&cache.lock, __ATOMIC_RELAXED)) return;
    nanosleep(&(struct timespec){.tv_nsec = 20000}, NULL);
}

static inline void lock(void) {
    while (RL_UNLIKELY(__atomic_exchange_n(&cache.lock, 1, __ATOMIC_ACQUIRE))) lock_wait();
}

static inline void unlock(void) {
    __atomic_store_n(&cache.lock, 0, __ATOMIC_RELEASE);
}

/* ---- classes and lists, lock held ---- */
/* The class of blocks of *size bytes, which it rounds up. */
static inline int class_of(size_t *size) {
    size_t last = *size - 1;
    int exponent = 63 - __builtin_clzll(last | 512), shift = exponent - 3;
    *size = ((last >> shift) + 1) << shift;
    return (exponent - 9) * 8 + (int)(last >> shift);
}

static inline block *pop_newest(int c) {
    block *b = cache.of[c].newest;
    if (!b) return NULL;
    cache.of[c].newest = b->older;
    if (b->older)
        b->older->newer = NULL;
    else
        cache.of[c].oldest = NULL;
    cache.kept -= b->size;
    return b;
}

static inline void push_newest(block *b) {
    int c = b->size_class;
    b->newer = NULL;
    b->older = cache.of[c].newest;
    b->age = cache.given++;
    if (b->older)
        b->older->newer = b;
    else
        cache.of[c].oldest = b;
    cache.of[c].newest = b;
    cache.kept += b->size;
}

/* Puts the oldest of class c in front of a list of blocks that go; the list runs through `older`. */
static block *cut_oldest(int c, block *list) {
    block *b = cache.of[c].oldest;
    cache.of[c].oldest = b->newer;
    if (b->newer)
        b->newer->older = NULL;
    else
        cache.of[c].newest = NULL;
    cache.kept -= b->size;
    cache.left++;
    b->older = list;
    return b;
}

/* The oldest blocks above `cap` bytes, a few at a time, since others wait for the lock. Each search takes
 * those of one class that are older than the other classes' oldest. */
static block *cut_above(size_t cap) {
    block *list = NULL;
    for (int left = CUT_AT_ONCE; cache.kept > cap && left > 0;) {
        uint64_t age = UINT64_MAX, next = UINT64_MAX;
        int c = 0;
        for (int i = 0; i < CLASSES; i++) {
            const block *b = cache.of[i].oldest;
            if (b && b->age < age) {
                next = age;
                age = b->age;
                c = i;
            } else if (b && b->age < next) {
                next = b->age;
            }
        }
        for (; cache.kept > cap && left > 0 && cache.of[c].oldest && cache.of[c].oldest->age < next; left--)
            list = cut_oldest(c, list);
    }
    return list;
}

/* ---- the system ---- */
static bool from_pages(size_t size) {
    return CACHED && size >= PAGES_FROM && !rl_fence_mode;
}

static block *take_apart(size_t size, int header) {
    /* room for the links of a block */
    char *link = rl_alloc(RL_COUNT(RL_BLOCK_LINK, 2 + header / RL_BLOCK_LINK), 1);
    const rl_count bytes = {(int64_t)size - header};
    void *data = link ? rl_alloc(bytes, 1) : NULL;
    if (!data) {
        rl_free(link);
        return NULL;
    }
    *(void **)link = data;
    return (block *)(link + RL_BLOCK_LINK);
}

static block *system_take(size_t size, rl_block_use use) {
    rl_count bytes = {(int64_t)size};
    if (RL_UNLIKELY(rl_fence_mode == RL_FENCE_FRONT)) return take_apart(size, rl_block_header(use));
    return from_pages(size) ? rl_alloc_pages(bytes) : rl_alloc(bytes, 1);
}

static size_t system_give(block *list) {
    size_t n = 0;
    while (list) {
        block *next = list->older;
        n += list->size;
        if (from_pages(list->size)) {
            rl_free_pages(list, list->size);
        } else if (RL_UNLIKELY(rl_fence_mode == RL_FENCE_FRONT)) {
            char *link = (char *)list - RL_BLOCK_LINK;
            rl_free(*(void **)link);
            rl_free(link);
        } else {
            rl_free(list);
        }
        list = next;
    }
    return n;
}

/* What is kept may be what is missing. */
static __attribute__((noinline)) block *fresh_block(size_t size, rl_block_use use) {
    bool asked_to_fail = rl_alloc_armed();
    block *b = system_take(size, use);
    if (!b && !asked_to_fail && rl_blocks_empty() > 0) {
        b = system_take(size, use);
        if (b) rl_error_clear();
    }
    if (b) return b;
    lock();
    cache.in_use -= size;
    cache.used[use]--;
    unlock();
    return NULL;
}

void *rl_block_alloc_bytes(rl_count bytes, rl_block_use use) {
    if (RL_UNLIKELY(bytes.n < 0)) return rl_alloc(bytes, 1); /* which says so */
    size_t size = (size_t)bytes.n;
    int c = CLASS_NONE;
    if (RL_LIKELY(CACHED && size <= cache.cap && !rl_alloc_armed())) c = class_of(&size);
    lock();
    block *b = RL_LIKELY(c != CLASS_NONE) ? pop_newest(c) : NULL;
    if (RL_LIKELY(b))
        cache.hits++;
    else
        cache.misses++;
    cache.in_use += size;
    cache.used[use]++;
    unlock();
    if (RL_UNLIKELY(!b) && !(b = fresh_block(size, use))) return NULL;
    b->size = size;
    b->size_class = (uint8_t)c;
    b->use = (uint8_t)use;
    return b;
}

/* Gives what is kept above `cap` bytes back; answers the bytes. */
static __attribute__((noinline)) size_t shrink(size_t cap) {
    for (size_t n = 0;;) {
        lock();
        uint64_t before = cache.left;
        block *list = cut_above(cap);
        if (cap) cache.evicted += cache.left - before;
        unlock();
        if (!list) return n;
        n += system_give(list);
    }
}

void rl_block_free(void *taken) {
    block *b = taken;
    bool keep = b->size_class != CLASS_NONE, above = false;
    b->older = NULL;
    lock();
    cache.in_use -= b->size;
    cache.used[b->use]--;
    if (RL_LIKELY(keep)) {
        push_newest(b);
        above = cache.kept > cache.cap;
    }
    unlock();
    if (RL_UNLIKELY(!keep))
        system_give(b);
    else if (RL_UNLIKELY(above))
        shrink(cache.cap);
}

void rl_block_hollow(void *taken, size_t used) {
    block *b = taken;
    size_t page = (size_t)sysconf(_SC_PAGESIZE), from = (used + page - 1) / page * page;
    if (from_pages(b->size) && from < b->size) madvise((char *)b + from, b->size - from, MADV_DONTNEED);
}

size_t rl_blocks_empty(void) {
    size_t n = shrink(0);
#ifdef __GLIBC__
    malloc_trim(0); /* small blocks lie in malloc's own heap */
#endif
    return n;
}

rl_block_stats rl_blocks_stats(void) {
    lock();
    rl_block_stats stats = {.in_use = cache.in_use,
                            .kept = cache.kept,
                            .cap = cache.cap,
                            .n_kept = (size_t)(cache.given - cache.hits - cache.left),
                            .hits = cache.hits,
                            .misses = cache.misses,
                            .evicted = cache.evicted};
    for (int i = 0; i < RL_BLOCK_USES; i++) stats.used[i] = cache.used[i];
    unlock();
    return stats;
}

/* ---- start ---- */
/* A number in a file or an environment variable, at most `most`; `most` for any other text. */
static size_t number_of(const char *text, size_t most) {
    char *end;
    errno = 0;
    unsigned long long n = text && *text >= '0' && *text <= '9' ? strtoull(text, &end, 10) : most;
    return errno || n > most ? most : (size_t)n;
}

static size_t number_in(const char *path, size_t most) {
    char line[32] = "";
    FILE *f = fopen(path, "re");
    if (!f) return most;
    if (!fgets(line, sizeof line, f)) *line = 0;
    fclose(f);
    return number_of(line, most);
}

/* Of the machine, or of the container: its group is the root of the tree that it sees. */
static size_t memory_here(void) {
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    size_t most = pages > 0 && page > 0 ? (size_t)pages * (size_t)page : SIZE_MAX;
    most = number_in("/sys/fs/cgroup/memory.max", most);
    return number_in("/sys/fs/cgroup/memory/memory.limit_in_bytes", most);
}

static void fork_hold(void) {
    lock();
}
static void fork_release(void) {
    unlock();
}

void rl_blocks_init(void) {
    const char *wanted = getenv("RUSHLIGHT_CACHE_BYTES");
    size_t eighth = memory_here() / 8, cap = eighth < DEFAULT_CAP ? eighth : DEFAULT_CAP;
    if (wanted && *wanted >= '0' && *wanted <= '9') cap = number_of(wanted, MAX_KEPT);
    cache.cap = rl_fence_mode ? 0 : cap;
    pthread_atfork(fork_hold, fork_release, fork_release); /* a child has only the thread that forks */
}
