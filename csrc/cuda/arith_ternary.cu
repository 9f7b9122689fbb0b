/* Three operands; and what a mask chooses. */
#include "elementwise.h"

enum { LERP, ADDCMUL, ADDCDIV };

template <class C> struct arith_ternary : cuda_job<C> {
    enum { INPUTS = 3, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        const C by = this->n[0];
        switch (this->op) {
            /* from the nearer end, so that weight 1 gives just b */
            CUDA_CASE_3(LERP, fabs(c) < (C)0.5 ? a + c * (b - a) : b - (b - a) * (1 - c))
            CUDA_CASE_3(ADDCMUL, a + by * b * c)
            CUDA_CASE_3(ADDCDIV, a + by * b / c)
        }
    }
};

template <> struct arith_ternary<int64_t> : cuda_job<int64_t> {
    typedef int64_t C;
    enum { INPUTS = 3, VECTOR = 4, HAS_INTS = 1 };
    template <int V> __device__ void operator()(const C (&x)[3][V], C (&y)[V]) const {
        const uint64_t by = (uint64_t)n[0];
        switch (op) { CUDA_CASE_3(ADDCMUL, (C)((uint64_t)a + by * (uint64_t)b * (uint64_t)c)) }
    }
};

static rl_status scaled(rl_call *k, int op) {
    const cuda_numbers numbers = {{rl_num(k, 3)}, {rl_int(k, 3)}};
    return cuda_elementwise<arith_ternary>(k, op, numbers);
}
CUDA_KERNEL(cuda_lerp) {
    return rl_in(k, 2) ? cuda_elementwise<arith_ternary>(k, LERP) : RL_UNSUPPORTED;
}
CUDA_KERNEL(cuda_addcmul) {
    return scaled(k, ADDCMUL);
}
CUDA_KERNEL(cuda_addcdiv) {
    return rl_is_float(rl_in(k, 0)->dtype) ? scaled(k, ADDCDIV) : RL_UNSUPPORTED;
}

/* ---- chosen by a mask: elements of this size ---- */
template <class T> struct choice {
    const T *at; /* NULL: it is the number */
    T number;
};
template <class T>
__global__ void __launch_bounds__(CUDA_THREADS)
    where_elements(cuda_walk w, T *out, cuda_operand<int64_t> mask, choice<T> yes, choice<T> no) {
    CUDA_EACH(i, w) {
        int64_t at[4];
        cuda_walk_seek(w, i, at);
        if (cuda_read(mask, at[1]) != 0)
            out[at[0]] = yes.at ? yes.at[at[2]] : yes.number;
        else
            out[at[0]] = no.at ? no.at[at[3]] : no.number;
    }
}

template <class T> static choice<T> choice_of(const rl_view *v) {
    const T *at = (const T *)rl_const_data(v);
    choice<T> x = {at, 0};
    if (v->device == RL_CPU) x = {nullptr, *at};
    return x;
}
template <class T> static void where_launch(rl_call *k, const cuda_walk &w, const rl_view *const *views) {
    CUDA_LAUNCH((where_elements<T>), cuda_walk_blocks(&w), CUDA_THREADS, (cudaStream_t)k->stream, w,
                (T *)rl_data(views[0], RL_WRITE), cuda_operand_of<int64_t>(views[1]), choice_of<T>(views[2]),
                choice_of<T>(views[3]));
}

CUDA_KERNEL(cuda_where) {
    const rl_view *views[] = {k->out[0], rl_in(k, 0), rl_in(k, 1), rl_in(k, 2)};
    cuda_walk w;
    for (int i = 1; i < 4; i++)
        if (!cuda_can_read(views[0], views[i])) return RL_UNSUPPORTED;
    if (!cuda_walk_make_along(&w, views, 4)) return RL_UNSUPPORTED;
    if (w.numel == 0) return RL_OK;
    if (rl_cuda_begin(k, views[0]) != RL_OK) return RL_FAIL;
    switch (rl_itemsize(views[0]->dtype)) {
    case 1: where_launch<uint8_t>(k, w, views); break;
    case 2: where_launch<uint16_t>(k, w, views); break;
    case 4: where_launch<uint32_t>(k, w, views); break;
    default: where_launch<uint64_t>(k, w, views);
    }
    return rl_cuda_end(k);
}
