/* add: input + alpha * other. Halves compute in float, integers in int64 that wraps, booleans are or'ed.
 * A 0-dim operand may lie on the CPU: its value travels with the launch. */
#include "device.h"
#include "walk.h"

template <class C> struct operand { /* `there`: in device memory, else the number itself */
    const void *there;
    C number;
};

template <class T, class C> __device__ C load(const operand<C> &x, int64_t i) {
    return x.there ? (C)((const T *)x.there)[i] : x.number;
}

template <class C> __device__ C multiply_add(C a, C alpha, C b) {
    return a + alpha * b;
}
template <> __device__ int64_t multiply_add(int64_t a, int64_t alpha, int64_t b) {
    return (int64_t)((uint64_t)a + (uint64_t)alpha * (uint64_t)b);
}

template <class T, class C>
__global__ void add_elements(cuda_walk w, T *out, operand<C> a, operand<C> b, C alpha) {
    CUDA_EACH(i, w) {
        int64_t at[CUDA_OPS];
        cuda_walk_seek(w, i, at);
        out[at[0]] = (T)multiply_add<C>(load<T, C>(a, at[1]), alpha, load<T, C>(b, at[2]));
    }
}

/* one element in the CPU's memory */
static double host_number(const rl_view *v, double) {
    const void *p = rl_const_data(v);
    switch (v->dtype) {
    case RL_F16: return rl_from_half(*(const rl_half *)p);
    case RL_BF16: return rl_from_bfloat(*(const rl_bfloat *)p);
    case RL_F32: return *(const float *)p;
    default: return *(const double *)p;
    }
}
static int64_t host_number(const rl_view *v, int64_t) {
    const void *p = rl_const_data(v);
    switch (v->dtype) {
    case RL_I8: return *(const int8_t *)p;
    case RL_I16: return *(const int16_t *)p;
    case RL_I32: return *(const int32_t *)p;
    case RL_I64: return *(const int64_t *)p;
    default: return *(const uint8_t *)p;
    }
}
static float host_number(const rl_view *v, float) {
    return (float)host_number(v, 0.0);
}

template <class C> static operand<C> operand_of(const rl_view *v) {
    operand<C> x = {nullptr, 0};
    if (v->device == RL_CPU)
        x.number = host_number(v, (C)0);
    else
        x.there = rl_const_data(v);
    return x;
}

static double alpha_of(const rl_call *k, double) {
    return rl_num(k, 2);
}
static float alpha_of(const rl_call *k, float) {
    return (float)rl_num(k, 2);
}
static int64_t alpha_of(const rl_call *k, int64_t) {
    return rl_int(k, 2);
}

template <class T, class C>
static void launch(const rl_call *k, const cuda_walk &w, const rl_view *const *views) {
    CUDA_LAUNCH((add_elements<T, C>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(views[0], RL_WRITE), operand_of<C>(views[1]), operand_of<C>(views[2]),
                alpha_of(k, (C)0));
}

CUDA_KERNEL(cuda_add) {
    const rl_view *views[3] = {k->out[0], rl_in(k, 0), rl_in(k, 1)};
    cuda_walk w;
    for (int i = 1; i < 3; i++) {
        const rl_view *v = views[i];
        bool here = v->device == views[0]->device && v->device_index == views[0]->device_index;
        if (v->dtype != views[0]->dtype || (!here && (v->device != RL_CPU || v->numel != 1)))
            return RL_UNSUPPORTED;
    }
    if (!cuda_walk_make(&w, views, 3)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (views[0]->dtype) {
#define X(tag, T, Compute)                                                                                   \
    case tag: launch<T, Compute>(k, w, views); break;
        CUDA_DTYPES(X)
#undef X
    default: return RL_UNSUPPORTED;
    }
    return rl_cuda_end(k);
}
