/* Selects a kernel: tries the kernels of an operator in order, until one does not refuse. */
#include "select.h"
#include "core/dtype.h"
#include "core/error.h"
#include "core/generator.h"
#include "core/services.h"
#include "core/storage.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

bool rl_dispatch_watched;
static bool only_ref, trace;

void rl_dispatch_init(void) {
    const char *kernels = getenv("RUSHLIGHT_KERNELS"), *tracing = getenv("RUSHLIGHT_TRACE");
    only_ref = kernels && strcmp(kernels, "ref") == 0;
    trace = tracing && *tracing && strcmp(tracing, "0") != 0;
    rl_dispatch_watched = only_ref || trace;
    if (only_ref) rl_services_limit(0);
}

void rl_dispatch_limit(bool ref, int isa) {
    only_ref = ref;
    rl_dispatch_watched = only_ref || trace;
    rl_services_limit(ref ? 0 : isa);
}

static double now_us(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e6 + (double)t.tv_nsec * 1e-3;
}

/* the i-th name in "simd_add, ref_add" */
static void kernel_name(const char *names, int i, char *name, size_t size) {
    const char *at = names;
    for (; at && i > 0; i--)
        if ((at = strchr(at, ','))) at += 2;
    snprintf(name, size, "%.*s", at ? (int)strcspn(at, ",") : 1, at ? at : "?");
}

static void trace_call(const rl_operator *op, const rl_call *k, const char *names, int chosen, double us) {
    char name[64], dims[RL_DIMS_TEXT];
    fprintf(stderr, "rushlight: %s", op->name);
    for (int i = 0; i < k->n_arg; i++)
        if (k->arg[i].tag == RL_TENSOR)
            fprintf(stderr, " %s%s", rl_dtype_name(rl_tensor_arg(k, i)->dtype),
                    rl_dims_text(dims, rl_tensor_arg(k, i)->shape, rl_tensor_arg(k, i)->ndim));
    for (int i = 0; i < chosen; i++) {
        kernel_name(names, i, name, sizeof name);
        fprintf(stderr, " (%s refused)", name);
    }
    kernel_name(names, chosen, name, sizeof name);
    fprintf(stderr, " -> %s %.1f us\n", name, us);
}

rl_status rl_dispatch_refuse(const rl_operator *op, int device) {
    return rl_error_set(RL_NOTIMPL, "rushlight has no %s kernel for '%s' on these inputs%s",
                        device == RL_CPU ? "CPU" : "CUDA", op->name,
                        device == RL_CPU ? "" : "; RUSHLIGHT_CUDA_FALLBACK=1 runs it on the CPU");
}

/* the first of a list, from number i on, that does not refuse */
static rl_status walk(const rl_operator *op, rl_call *k, const rl_kernel_fn *list, const char *names, int i) {
    rl_status status = RL_UNSUPPORTED;
    double start = trace ? now_us() : 0;
    for (; list[i]; i++) {
        status = list[i](k);
        if (status != RL_UNSUPPORTED) break;
    }
    if (trace && list[i]) trace_call(op, k, names, i, now_us() - start);
    return status;
}

rl_status rl_dispatch_watch(const rl_operator *op, rl_call *k, int device) {
    const bool cpu = device == RL_CPU;
    const rl_kernel_fn *list = op->kernels[device];
    if (cpu && rl_format_taken(op, k)) return rl_dispatch_last(op, k);
    int first = 0;
    if (only_ref && cpu) /* the last one */
        while (list[first] && list[first + 1]) first++;
    rl_status status = walk(op, k, list, op->kernel_names[device], first);
    return status == RL_UNSUPPORTED ? rl_dispatch_refuse(op, device) : status;
}

rl_status rl_dispatch_last(const rl_operator *op, rl_call *k) {
    rl_status status = only_ref ? RL_UNSUPPORTED : walk(op, k, op->last, op->last_names, 0);
    return status == RL_UNSUPPORTED ? rl_format_contiguous(op, k, rl_dispatch) : status;
}

/* ---- kernels of other devices ---- */
rl_status rl_device_kernels(const rl_device_driver *driver) {
    if (rl_device_register(driver) != RL_OK) return RL_FAIL;
    for (int op = 0; op < RL_OP_COUNT; op++) {
        char name[64];
        for (int i = 0, n = 0; rl_operators[op].kernel_names[driver->device] && i < RL_MAX_KERNELS; i++) {
            kernel_name(rl_operators[op].kernel_names[driver->device], i, name, sizeof name);
            if (*name == '?') break;
            rl_kernel_fn fn = driver->kernel(name);
            if (!fn) return rl_error_set(RL_RUNTIME, "this device extension has no kernel '%s'", name);
            rl_operators[op].kernels[driver->device][n++] = fn;
        }
    }
    return RL_OK;
}
