/* Memory between fences, to find what reads or writes past the end of a block. */
#include "fence.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Note [Fences]
 *
 *   RUSHLIGHT_FENCE=1     ┌ pages of a block ──────────┐┌───────────┐
 *                         │ slack │ block      │ slack ││ no access │
 *                         └───────┴────────────┴───────┘└───────────┘
 *   RUSHLIGHT_FENCE=2     ┌───────────┐┌ pages of a block ──────────┐
 *                         │ no access ││ block      │ slack         │
 *                         └───────────┘└────────────┴───────────────┘
 *
 * A block begins at a multiple of 64 bytes, so that at most 63 bytes of slack lie between its end and the
 * page without access (with 2, what is left of its last page lies behind it). Slack is filled with a pattern,
 * which is checked when the block is freed.
 *
 * A block is filled as well, so that nothing relies on zeros. Its address is never used again: freed blocks
 * stay without access, and who still uses one faults. Addresses come from one reservation, which takes no
 * memory; when it is used up, or the system has no more mappings, the rest gets plain memory. */
int rl_fence_mode = RL_FENCE_OFF;

enum { FILL_SLACK = 0xb7, FILL_FRESH = 0xa5, MAX_LIVE = 24000, BUCKETS = 1 << 14 };
typedef struct entry {
    struct entry *next;
    char *block;
    size_t bytes;
} entry;

static struct {
    pthread_mutex_t lock;
    char *base, *end, *free; /* of the reservation; its unused rest begins at `free` */
    size_t page;
    int live;
    entry *buckets[BUCKETS];
} arena = {.lock = PTHREAD_MUTEX_INITIALIZER};

static void fork_hold(void) {
    pthread_mutex_lock(&arena.lock);
}
static void fork_release(void) {
    pthread_mutex_unlock(&arena.lock);
}

void rl_fence_init(void) {
    const char *wanted = getenv("RUSHLIGHT_FENCE");
    if (!wanted || (strcmp(wanted, "1") != 0 && strcmp(wanted, "2") != 0)) return;
    arena.page = (size_t)sysconf(_SC_PAGESIZE);
    for (int bits = 42; bits >= 30; bits -= 4) { /* the address space may be limited */
        const size_t size = (size_t)1 << bits;
        char *base = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
        if (base == MAP_FAILED) continue;
        arena.base = arena.free = base;
        arena.end = base + size;
        pthread_atfork(fork_hold, fork_release, fork_release);
        rl_fence_mode = *wanted == '1' ? RL_FENCE_BEHIND : RL_FENCE_FRONT;
        return;
    }
    fprintf(stderr, "rushlight: RUSHLIGHT_FENCE=%s: there are no addresses for fences\n", wanted);
}

/* ---- sizes ---- */
static size_t round_up(size_t n, size_t multiple) {
    return (n + multiple - 1) / multiple * multiple;
}
static size_t pages_of(size_t bytes) {
    return round_up(bytes ? bytes : 1, arena.page);
}
/* from the start of its pages to a block */
static size_t slack_of(size_t bytes) {
    return rl_fence_mode == RL_FENCE_BEHIND ? pages_of(bytes) - round_up(bytes, 64) : 0;
}

/* ---- the blocks that live ---- */
static entry **bucket_of(const char *block) {
    return &arena.buckets[((uintptr_t)block / arena.page * 0x9e3779b97f4a7c15u) >> 50];
}

/* The size of a block that is forgotten from now on; SIZE_MAX: nobody knows it. */
static size_t entry_take(char *block) {
    size_t bytes = SIZE_MAX;
    pthread_mutex_lock(&arena.lock);
    entry **at = bucket_of(block), *found;
    while ((found = *at) && found->block != block) at = &found->next;
    if (found) {
        *at = found->next;
        bytes = found->bytes;
        arena.live--;
    }
    pthread_mutex_unlock(&arena.lock);
    free(found);
    return bytes;
}

/* Makes `pages` from `start` on a block of so many bytes. */
static char *block_open(char *start, size_t bytes) {
    const size_t pages = pages_of(bytes), slack = slack_of(bytes);
    entry *e = malloc(sizeof *e);
    if (!e || mprotect(start, pages, PROT_READ | PROT_WRITE)) {
        free(e);
        return NULL;
    }
    *e = (entry){.block = start + slack, .bytes = bytes};
    memset(start, FILL_SLACK, pages);
    memset(e->block, FILL_FRESH, bytes);
    pthread_mutex_lock(&arena.lock);
    entry **at = bucket_of(e->block);
    e->next = *at;
    *at = e;
    arena.live++;
    pthread_mutex_unlock(&arena.lock);
    return start + slack;
}

static _Noreturn void found_written(const char *block, size_t bytes, int64_t at) {
    fprintf(stderr, "rushlight: somebody wrote to byte %lld of a block of %zu bytes at %p\n", (long long)at,
            bytes, (const void *)block);
    fflush(stderr);
    abort();
}

static void block_close(char *block, size_t bytes) {
    const size_t pages = pages_of(bytes);
    char *start = block - slack_of(bytes);
    for (char *c = start; c < block; c++)
        if (*c != (char)FILL_SLACK) found_written(block, bytes, c - block);
    for (char *c = block + bytes; c < start + pages; c++)
        if (*c != (char)FILL_SLACK) found_written(block, bytes, c - block);
    madvise(start, pages, MADV_DONTNEED);
    mprotect(start, pages, PROT_NONE);
}

/* So many bytes of addresses, a fence in front of them and one behind; NULL when there are no more. */
static char *addresses_take(size_t bytes) {
    char *start = NULL;
    pthread_mutex_lock(&arena.lock);
    if (arena.live < MAX_LIVE && bytes < (size_t)(arena.end - arena.free) - 2 * arena.page) {
        start = arena.free + arena.page;
        arena.free = start + bytes;
    }
    pthread_mutex_unlock(&arena.lock);
    return start;
}

void *rl_fence_alloc(size_t bytes) {
    void *plain;
    char *start = bytes < SIZE_MAX / 2 ? addresses_take(pages_of(bytes)) : NULL;
    char *block = start ? block_open(start, bytes) : NULL;
    if (block) return block;
    return posix_memalign(&plain, 64, bytes ? bytes : 1) ? NULL : plain;
}

bool rl_fence_free(void *p) {
    if ((char *)p < arena.base || (char *)p >= arena.end) return false;
    const size_t bytes = entry_take(p);
    if (bytes == SIZE_MAX) {
        fprintf(stderr, "rushlight: %p is freed, and is no block, or was freed before\n", p);
        abort();
    }
    block_close(p, bytes);
    return true;
}

/* ---- rooms: each part is a block ---- */
int64_t rl_fence_part(rl_layout *l, rl_count bytes) {
    if (bytes.n < 0 || l->size.n < 0 || l->n_parts == RL_MAX_PARTS || bytes.n > INT64_MAX / 4) {
        l->size.n = -1;
        return -1;
    }
    const size_t n = (size_t)bytes.n;
    const int64_t at = l->size.n + (int64_t)slack_of(n);
    l->at[l->n_parts] = at;
    l->bytes[l->n_parts++] = bytes.n;
    const int64_t pages = (int64_t)(pages_of(n) + arena.page);
    l->size = rl_count_plus(l->size, pages);
    return at;
}

static char *part_of(char *base, const rl_layout *l, int64_t i) {
    return base + i / l->n_parts * l->size.n + l->at[i % l->n_parts];
}

static void parts_free(char *base, const rl_layout *l, int64_t n) {
    for (int64_t i = 0; i < n; i++) rl_fence_free(part_of(base, l, i));
}

char *rl_fence_rooms(const rl_layout *l, int64_t n) {
    const rl_count bytes = rl_count_times(l->size, n);
    char *base = bytes.n < 0 ? NULL : addresses_take((size_t)bytes.n);
    for (int64_t i = 0; base && i < n * l->n_parts; i++) {
        const size_t size = (size_t)l->bytes[i % l->n_parts];
        if (block_open(part_of(base, l, i) - slack_of(size), size)) continue;
        parts_free(base, l, i);
        return NULL;
    }
    return base;
}

void rl_fence_rooms_free(char *base, const rl_layout *l, int64_t n) {
    parts_free(base, l, n * l->n_parts);
}
