/* What a kernel gets from its call: scratch memory, parallel loops, errors, packed weights. */
#include "services.h"
#include "blocks.h"
#include "device.h"
#include "error.h"
#include "kernel_abi/isa_list.h"
#include "packed.h"
#include "threads.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#if defined(__SANITIZE_ADDRESS__)
#include <sanitizer/asan_interface.h>
#else
#define ASAN_POISON_MEMORY_REGION(p, n)   ((void)(p), (void)(n))
#define ASAN_UNPOISON_MEMORY_REGION(p, n) ((void)(p), (void)(n))
#endif

static void *call_scratch(rl_call *k, rl_count n, size_t itemsize);
static int64_t checked_part(rl_layout *l, rl_count bytes);
static bool call_rooms(rl_call *k, const rl_layout *l, int64_t n, rl_rooms *to);
static rl_status call_fail(rl_call *k, rl_error kind, const char *format, ...) {
    char text[1024];
    va_list args;
    (void)k;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return rl_error_set(kind, "%s", text);
}
static bool no_onednn(void) {
    return false;
}
static rl_services services = {
    .abi = RL_KERNEL_ABI,
    .scratch = call_scratch,
    .rooms = call_rooms,
    .parallel = rl_threads_parallel,
    .openmp = rl_threads_lend,
    .fail = call_fail,
    .packed_find = rl_packed_find,
    .packed_new = rl_packed_new,
    .packed_ready = rl_packed_ready,
    .onednn = no_onednn,
    .tf32 = RL_TF32_CONV,
};

/* ---- instruction sets: Note [Instruction sets] in kernel_abi/isa_list.h ---- */
#define NAMES(name, torch, has, ...) [RL_ISA_##name] = {#name, torch},
static const struct {
    const char *name, *torch;
} isas[RL_ISA_END] = {{"none", "DEFAULT"}, RL_EACH_ISA(NAMES, )};
static bool isa_here[RL_ISA_END] = {true};
static int isa_at_start;

static int isa_best(int most) {
    while (!isa_here[most]) most--;
    return most;
}

int rl_services_isa_named(const char *name) {
    for (int isa = 0; isa < RL_ISA_END; isa++)
        if (strcmp(isas[isa].name, name) == 0) return isa;
    return -1;
}

const char *rl_services_isa_name(int isa) {
    return isa < RL_ISA_END ? isas[isa].name : NULL;
}

void rl_services_init(void) {
    if (RL_CHECKED) services.fenced = checked_part;
    if (rl_fence_mode) services.fenced = rl_fence_part;
#if defined(__x86_64__)
    __builtin_cpu_init();
#endif
#define HERE(name, torch, has, ...) isa_here[RL_ISA_##name] = has;
    RL_EACH_ISA(HERE, )
    const char *wanted = getenv("RUSHLIGHT_ISA");
    const int most = wanted ? rl_services_isa_named(wanted) : -1;
    services.isa = isa_at_start = isa_best(most < 0 ? RL_ISA_END - 1 : most);
}

void rl_services_onednn(bool (*open)(void)) {
    services.onednn = open;
}

void rl_services_deterministic(bool on, bool fill_unset) {
    services.deterministic = on;
    services.fill_unset = fill_unset;
}

void rl_services_tf32(bool matmul, bool conv) {
    services.tf32 = (matmul ? RL_TF32_MATMUL : 0) | (conv ? RL_TF32_CONV : 0);
}

const char *rl_services_isa_torch(void) {
    return isas[services.isa].torch;
}

void rl_services_limit(int isa) {
    services.isa = isa_best(isa < isa_at_start ? isa : isa_at_start);
}

/* Scratch blocks hang on the call until it ends. */
typedef struct {
    char *base;
    int64_t n;
    rl_layout layout;
} watched_rooms;
typedef struct scratch {
    char head[RL_BLOCK_HEAD];
    struct scratch *next;
    const watched_rooms *rooms; /* the data of this block, which says what is looked at in the end; or NULL */
} scratch;
_Static_assert(sizeof(scratch) <= RL_SCRATCH_HEADER, "the head of a block of scratch");

/* On another device the block here only says what to give back there. */
typedef struct {
    scratch head;
    const rl_device_driver *driver;
    int index;
    void *mem;
} device_scratch;
_Static_assert(sizeof(device_scratch) <= RL_SCRATCH_HEADER, "the head of a block of scratch");

static scratch *scratch_block(rl_call *k, rl_count bytes) {
    scratch *block = rl_block_alloc(bytes, RL_BLOCK_SCRATCH);
    if (!block) return NULL;
    block->rooms = NULL;
    block->next = k->scratch_;
    k->scratch_ = block;
    return block;
}

static void *scratch_on_device(rl_call *k, rl_count n, size_t itemsize) {
    const rl_device_driver *driver = rl_device_driver_get(k->device);
    rl_count bytes = rl_count_times(n, itemsize);
    device_scratch *s = rl_block_alloc(RL_COUNT(0), RL_BLOCK_SCRATCH);
    if (!s) return NULL;
    /* more than an address can have: the driver says that it is too much */
    void *mem = driver->alloc(k->device_index, bytes.n ? (size_t)bytes.n : 1, k->stream);
    if (!mem) {
        rl_block_free(s);
        rl_device_failed(driver);
        return NULL;
    }
    s->driver = driver;
    s->index = k->device_index;
    s->mem = mem;
    s->head.next = k->scratch_;
    k->scratch_ = s;
    return mem;
}

static void *call_scratch(rl_call *k, rl_count n, size_t itemsize) {
    if (RL_UNLIKELY(k->device != RL_CPU)) return scratch_on_device(k, n, itemsize);
    scratch *block = scratch_block(k, rl_count_times(n, itemsize));
    return block ? rl_block_data(block, RL_BLOCK_SCRATCH) : NULL;
}

/* ---- rooms whose parts have ends: by fences, or in checked builds by bytes that nobody may change ---- */
enum { GUARD = 64, GUARD_BYTE = 0xb7 };
static int64_t checked_part(rl_layout *l, rl_count bytes) {
    const int64_t at = l->size.n;
    if (l->n_parts == RL_MAX_PARTS || bytes.n < 0 || at < 0) return l->size.n = -1;
    l->at[l->n_parts] = at;
    l->bytes[l->n_parts++] = bytes.n;
    l->size = rl_count_plus(rl_count_round_up(rl_count_plus(l->size, bytes.n), GUARD), GUARD);
    return at;
}

static int64_t guard_size(int64_t bytes) {
    return (bytes + GUARD - 1) / GUARD * GUARD + GUARD - bytes;
}

static void rooms_guard(const watched_rooms *r) {
    for (int64_t i = 0; i < r->n; i++)
        for (int part = 0; part < r->layout.n_parts; part++) {
            const size_t size = (size_t)guard_size(r->layout.bytes[part]);
            char *end = r->base + i * r->layout.size.n + r->layout.at[part] + r->layout.bytes[part];
            memset(end, GUARD_BYTE, size);
            ASAN_POISON_MEMORY_REGION(end, size);
        }
}

static void rooms_look(const watched_rooms *r) {
    for (int64_t i = 0; i < r->n; i++)
        for (int part = 0; part < r->layout.n_parts; part++) {
            const int64_t size = guard_size(r->layout.bytes[part]);
            const char *end = r->base + i * r->layout.size.n + r->layout.at[part] + r->layout.bytes[part];
            ASAN_UNPOISON_MEMORY_REGION(end, (size_t)size);
            for (int64_t at = 0; at < size; at++)
                if (end[at] != (char)GUARD_BYTE) __builtin_trap(); /* a kernel wrote behind a part */
        }
}

/* The block that says what to check comes before the memory in the list of the call, which is freed front to
 * back. */
static char *rooms_watched(rl_call *k, const rl_layout *l, int64_t n) {
    const rl_count bytes = rl_count_times(l->size, n);
    char *base = rl_fence_mode ? NULL : call_scratch(k, bytes, 1);
    scratch *block = base || rl_fence_mode ? scratch_block(k, RL_COUNT(sizeof(watched_rooms))) : NULL;
    if (!block) return NULL;
    if (rl_fence_mode && !(base = rl_fence_rooms(l, n))) return call_scratch(k, bytes, 1); /* none are left */
    watched_rooms *r = rl_block_data(block, RL_BLOCK_SCRATCH);
    *r = (watched_rooms){base, n, *l};
    block->rooms = r;
    if (!rl_fence_mode) rooms_guard(r);
    return base;
}

static bool call_rooms(rl_call *k, const rl_layout *l, int64_t n, rl_rooms *to) {
    to->step = l->size.n;
    if (RL_UNLIKELY(l->fenced != NULL) && l->size.n >= 0 && k->device == RL_CPU)
        to->base = rooms_watched(k, l, n);
    else
        to->base = call_scratch(k, rl_count_times(l->size, n), 1);
    return to->base != NULL;
}

static __attribute__((noinline)) void rooms_end(const watched_rooms *r) {
    if (rl_fence_mode)
        rl_fence_rooms_free(r->base, &r->layout, r->n);
    else
        rooms_look(r);
}

void rl_call_begin(rl_call *k) {
    k->threads = rl_threads_get();
    k->region_ns = rl_threads_region();
    k->svc = &services;
    k->device = RL_CPU;
    k->device_index = 0;
    k->stream = NULL;
    k->scratch_ = NULL;
    k->packing_ = NULL;
    k->n_used_ = 0;
}

void rl_call_end(rl_call *k) {
    while (k->scratch_) {
        scratch *block = k->scratch_;
        k->scratch_ = block->next;
        if (RL_UNLIKELY(k->device != RL_CPU)) {
            const device_scratch *s = (const device_scratch *)block;
            s->driver->free(s->index, s->mem);
        } else if (RL_UNLIKELY(block->rooms != NULL)) {
            rooms_end(block->rooms);
        }
        rl_block_free(block);
    }
    if (RL_UNLIKELY(k->packing_ || k->n_used_)) rl_packed_leave(k);
}
