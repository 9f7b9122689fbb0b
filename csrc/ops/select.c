/* The operator table and the walk over a row's kernels: the first that does not refuse does the work. */
#include "core/core.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* ---- the table, from the rows ---- */
#define K(name)                                                      rl_status name(rl_call *k);
#define CPU(...)                                                     __VA_ARGS__
#define SHAPE(fn)                                                    rl_status shape_##fn(rl_call *k);
#define RL_OP(id, schema, types, shape, flags, node, cpu, cuda, doc) shape cpu
#define RL_VIEW(id, schema, shape, flags, node, doc)                 shape
#define RL_COMPOSE(id, schema, flags, doc)
#include "ops/declarations/all.def"
#undef K
#undef SHAPE
#undef RL_OP
#undef RL_VIEW
#undef RL_COMPOSE

#define K(name)             name,
#define SHAPE(fn)           shape_##fn
#define NODE(n)             .node = n
#define GRAD(fn, n, ...)    .node = n, .saves = __VA_ARGS__
#define TITLE(fn)           .title = rl_title_##fn
#define FLAGS(...)          (__VA_ARGS__)
#define CUDA(...)           #__VA_ARGS__
#define TYPES(r, mask, ...) .rule = RL_TYPES_##r, .dtypes = RL_SET_##mask, .refusal = "" __VA_ARGS__
#define RL_OP(id_, schema_, types_, shape_, flags_, node_, cpu_, cuda_, doc_)                                \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     types_,                                                                                                 \
     .shape = shape_,                                                                                        \
     .flags = flags_,                                                                                        \
     node_,                                                                                                  \
     .cpu = {cpu_},                                                                                          \
     .cpu_names = #cpu_,                                                                                     \
     .cuda_names = cuda_,                                                                                    \
     .doc = doc_,                                                                                            \
     .kind = RL_ROW_OP},
#define RL_VIEW(id_, schema_, shape_, flags_, node_, doc_)                                                   \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     .shape = shape_,                                                                                        \
     .flags = flags_,                                                                                        \
     node_,                                                                                                  \
     .doc = doc_,                                                                                            \
     .dtypes = RL_SET_ANY,                                                                                   \
     .kind = RL_ROW_VIEW},
#define RL_COMPOSE(id_, schema_, flags_, doc_)                                                               \
    {.id = #id_,                                                                                             \
     .schema = schema_,                                                                                      \
     .flags = flags_,                                                                                        \
     .doc = doc_,                                                                                            \
     .dtypes = RL_SET_ANY,                                                                                   \
     .kind = RL_ROW_COMPOSE},
rl_row rl_rows[RL_OP_COUNT] = {
#include "ops/declarations/all.def"
};

/* ---- services ---- */
static void *call_scratch(rl_call *k, rl_count n, size_t itemsize);
static rl_status call_fail(rl_call *k, rl_error kind, const char *format, ...) {
    char text[1024];
    va_list args;
    (void)k;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return rl_error_set(kind, "%s", text);
}
static rl_services services = {
    .abi = RL_KERNEL_ABI,
    .scratch = call_scratch,
    .parallel = rl_threads_parallel,
    .openmp = rl_threads_lend,
    .fail = call_fail,
    .packed_find = rl_packed_find,
    .packed_new = rl_packed_new,
    .packed_ready = rl_packed_ready,
};
static bool only_ref, trace;

void rl_dispatch_init(void) {
    rl_storage_guard_fork();
    rl_generator_guard_fork();
    const char *kernels = getenv("RL_KERNELS"), *tracing = getenv("RL_TRACE");
    only_ref = kernels && strcmp(kernels, "ref") == 0;
    trace = tracing && *tracing && strcmp(tracing, "0") != 0;
#if defined(__x86_64__)
    __builtin_cpu_init();
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) services.isa |= RL_ISA_AVX2;
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        services.isa |= RL_ISA_AVX512;
    const char *isa = getenv("RL_ISA"); /* "avx2" or "none": what a lesser machine would run */
    if (isa && strcmp(isa, "avx2") == 0) services.isa &= RL_ISA_AVX2;
    if (isa && strcmp(isa, "none") == 0) services.isa = 0;
#endif
    if (only_ref) services.isa = 0;
}

/* Scratch blocks hang on the call until it ends; the first 64 bytes are the link. */
static void *call_scratch(rl_call *k, rl_count n, size_t itemsize) {
    void **block = rl_alloc(rl_count_plus(rl_count_times(n, itemsize), 64), 1);
    if (!block) return NULL;
    *block = k->scratch_;
    k->scratch_ = block;
    return (char *)block + 64;
}

void rl_call_begin(rl_call *k) {
    k->threads = rl_threads_get();
    k->svc = &services;
    k->stream = NULL;
    k->scratch_ = NULL;
    k->packing_ = NULL;
    k->n_used_ = 0;
}

void rl_call_end(rl_call *k) {
    while (k->scratch_) {
        void **block = k->scratch_;
        k->scratch_ = *block;
        rl_free(block);
    }
    if (RL_UNLIKELY(k->packing_ || k->n_used_)) rl_packed_leave(k);
}

/* ---- the walk ---- */
static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* the i-th name in "K(simd_add) K(ref_add)" */
static void kernel_name(const char *names, int i, char *name, size_t size) {
    const char *at = names;
    for (; at && i >= 0; i--) {
        at = strstr(at, "K(");
        if (at) at += 2;
    }
    snprintf(name, size, "%.*s", at ? (int)strcspn(at, ")") : 1, at ? at : "?");
}

static void trace_call(const rl_row *row, const rl_call *k, int device, int chosen, double us) {
    char name[64], dims[RL_DIMS_TEXT];
    fprintf(stderr, "rushlight: %s", row->name);
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_TENSOR)
            fprintf(stderr, " %s%s", rl_dtype_name(k->arg[i].u.t->dtype),
                    rl_dims_text(dims, k->arg[i].u.t->shape, k->arg[i].u.t->ndim));
    const char *names = device == RL_CPU ? row->cpu_names : row->cuda_names;
    for (int i = 0; i < chosen; i++) {
        kernel_name(names, i, name, sizeof name);
        fprintf(stderr, " (%s refused)", name);
    }
    kernel_name(names, chosen, name, sizeof name);
    fprintf(stderr, " -> %s %.1f us\n", name, us);
}

rl_status rl_dispatch(const rl_row *row, rl_call *k, int device) {
    const rl_kernel_fn *list = device == RL_CPU ? row->cpu : row->cuda;
    int i = 0;
    rl_status status = RL_UNSUPPORTED;
    double start = trace ? now_us() : 0;
    if (only_ref && device == RL_CPU) /* the last one */
        while (i + 1 < RL_MAX_KERNELS && list[i + 1]) i++;
    for (; i < RL_MAX_KERNELS && list[i]; i++) {
        status = list[i](k);
        if (status != RL_UNSUPPORTED) break;
    }
    if (RL_UNLIKELY(trace)) trace_call(row, k, device, i, now_us() - start);
    if (status == RL_UNSUPPORTED)
        return rl_error_set(RL_NOTIMPL, "rushlight has no %s kernel for '%s' on these inputs",
                            device == RL_CPU ? "CPU" : "CUDA", row->name);
    return status;
}

/* ---- device drivers ---- */
static const rl_device_driver *drivers[RL_NDEVICES];

rl_status rl_device_register(const rl_device_driver *driver) {
    if (driver->abi != RL_KERNEL_ABI || driver->device <= RL_CPU || driver->device >= RL_NDEVICES)
        return rl_error_set(RL_RUNTIME, "this device extension was built for another version of rushlight");
    drivers[driver->device] = driver;
    for (int op = 0; op < RL_OP_COUNT; op++) {
        char name[64];
        for (int i = 0, n = 0; rl_rows[op].cuda_names && i < RL_MAX_KERNELS; i++) {
            kernel_name(rl_rows[op].cuda_names, i, name, sizeof name);
            if (*name == '?') break;
            rl_kernel_fn fn = driver->kernel(name);
            if (fn) rl_rows[op].cuda[n++] = fn;
        }
    }
    return RL_OK;
}

const rl_device_driver *rl_device_driver_get(int device) {
    return device > RL_CPU && device < RL_NDEVICES ? drivers[device] : NULL;
}
