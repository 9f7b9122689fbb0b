/* What a kernel gets from its call: scratch memory, parallel loops, errors, packed weights. */
#include "services.h"
#include "blocks.h"
#include "device.h"
#include "error.h"
#include "packed.h"
#include "threads.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *call_scratch(rl_call *k, rl_count n, size_t itemsize);
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
static bool no_vendor(void) {
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
    .vendor = no_vendor,
    .tf32 = RL_TF32_CONV,
};
void rl_services_init(void) {
    if (rl_fence_mode) services.fenced = rl_fence_part;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c"))
        services.isa |= RL_ISA_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        services.isa |= RL_ISA_AVX512;
    const char *isa = getenv("RUSHLIGHT_ISA");
    if (isa && strcmp(isa, "avx2") == 0) services.isa &= RL_ISA_AVX2;
    if (isa && strcmp(isa, "none") == 0) services.isa = 0;
#endif
}

void rl_services_vendor(bool (*open)(void)) {
    services.vendor = open;
}

void rl_services_deterministic(bool on, bool fill_unset) {
    services.deterministic = on;
    services.fill_unset = fill_unset;
}

void rl_services_tf32(bool matmul, bool conv) {
    services.tf32 = (matmul ? RL_TF32_MATMUL : 0) | (conv ? RL_TF32_CONV : 0);
}

int rl_services_isa(void) {
    return services.isa;
}

void rl_services_limit(void) {
    services.isa = 0;
}

/* Scratch blocks hang on the call until it ends. */
typedef struct {
    char *base;
    int64_t n;
    rl_layout layout;
} fenced_rooms;
typedef struct scratch {
    char head[RL_BLOCK_HEAD];
    struct scratch *next;
    const fenced_rooms *fenced; /* the data of this block, which says what to give back; or NULL */
} scratch;
enum { SCRATCH_HEADER = 64 };
_Static_assert(sizeof(scratch) <= SCRATCH_HEADER, "the head of a block of scratch");

/* On another device the block here only says what to give back there. */
typedef struct {
    scratch head;
    const rl_device_driver *driver;
    int index;
    void *mem;
} device_scratch;
_Static_assert(sizeof(device_scratch) <= SCRATCH_HEADER, "the head of a block of scratch");

static scratch *scratch_block(rl_call *k, rl_count bytes) {
    scratch *block = rl_block_take(bytes, SCRATCH_HEADER, RL_BLOCK_SCRATCH);
    if (!block) return NULL;
    block->fenced = NULL;
    block->next = k->scratch_;
    k->scratch_ = block;
    return block;
}

static void *scratch_on_device(rl_call *k, rl_count n, size_t itemsize) {
    const rl_device_driver *driver = rl_device_driver_get(k->device);
    rl_count bytes = rl_count_times(n, itemsize);
    device_scratch *s = rl_block_take(RL_COUNT(0), SCRATCH_HEADER, RL_BLOCK_SCRATCH);
    if (!s) return NULL;
    /* more than an address can have: the driver says that it is too much */
    void *mem = driver->alloc(k->device_index, bytes.n ? (size_t)bytes.n : 1, k->stream);
    if (!mem) {
        rl_block_give(s);
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
    return block ? rl_block_data(block, SCRATCH_HEADER) : NULL;
}

static char *rooms_fenced(rl_call *k, const rl_layout *l, int64_t n) {
    scratch *block = scratch_block(k, rl_count_times(RL_COUNT(1), sizeof(fenced_rooms)));
    char *base = block ? rl_fence_rooms(l, n) : NULL;
    if (!base) return block ? call_scratch(k, rl_count_times(l->size, n), 1) : NULL; /* no fences are left */
    fenced_rooms *r = rl_block_data(block, SCRATCH_HEADER);
    *r = (fenced_rooms){base, n, *l};
    block->fenced = r;
    return base;
}

static bool call_rooms(rl_call *k, const rl_layout *l, int64_t n, rl_rooms *to) {
    to->step = l->size.n;
    if (RL_UNLIKELY(l->fenced != NULL) && l->size.n >= 0 && k->device == RL_CPU)
        to->base = rooms_fenced(k, l, n);
    else
        to->base = call_scratch(k, rl_count_times(l->size, n), 1);
    return to->base != NULL;
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
        } else if (RL_UNLIKELY(block->fenced != NULL)) {
            rl_fence_rooms_free(block->fenced->base, &block->fenced->layout, block->fenced->n);
        }
        rl_block_give(block);
    }
    if (RL_UNLIKELY(k->packing_ || k->n_used_)) rl_packed_leave(k);
}
