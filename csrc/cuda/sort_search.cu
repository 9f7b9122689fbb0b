/* Binary search in sorted lines, a thread for each value. */
#include "moves.h"

typedef struct {
    cuda_walk walk; /* operands: the result, values, the line that belongs to them */
    int64_t n, step;
    bool right, members, invert;
    int dtype;
    const void *lines;
} search;

/* The first place whose element is not before the value, by PyTorch's steps: of lines that are out of order,
 * or have NaN, these decide. */
template <class C>
__global__ void __launch_bounds__(CUDA_THREADS) search_lines(search s, cuda_operand<C> values, void *to) {
    CUDA_EACH(i, s.walk) {
        int64_t at[3], low = 0, end = s.n;
        cuda_walk_seek(s.walk, i, at);
        const C value = cuda_read(values, at[1]);
        while (low < end) {
            const int64_t middle = low + (end - low) / 2;
            const C x = cuda_load<C>(s.dtype, s.lines, at[2] + middle * s.step);
            const bool is_before = s.members ? x < value : s.right ? !(x > value) : !(x >= value);
            low = is_before ? middle + 1 : low;
            end = is_before ? end : middle;
        }
        if (!s.members)
            ((int64_t *)to)[at[0]] = low;
        else
            ((uint8_t *)to)[at[0]] =
                (low < s.n && cuda_load<C>(s.dtype, s.lines, at[2] + low * s.step) == value) != s.invert;
    }
}

template <class C> static void launch(const rl_call *k, const search &s) {
    CUDA_LAUNCH((search_lines<C>), cuda_walk_blocks(&s.walk), CUDA_THREADS, cuda_stream_of(k), s,
                cuda_operand_of<C>(rl_in(k, 0)), rl_data(k->out[0], RL_WRITE));
}

/* arguments: values, sorted lines; the last dimension is searched in */
static rl_status run(rl_call *k, search *s) {
    const rl_view *x = rl_in(k, 0), *lines = rl_in(k, 1), *out = k->out[0];
    const int last = lines->ndim - 1;
    cuda_dims dims = cuda_dims_none();
    if (!cuda_same_place(lines, out) || !cuda_can_read(out, x)) return RL_UNSUPPORTED;
    if (out->numel == 0) return RL_OK;
    for (int d = 0; d < out->ndim; d++)
        cuda_dims_add(&dims, out->shape[d], out->strides[d], x->strides[d],
                      last && d < last ? lines->strides[d] : 0);
    if (!cuda_dims_walk(&s->walk, &dims, 3)) return RL_UNSUPPORTED;
    s->n = lines->shape[last];
    s->step = lines->strides[last];
    s->dtype = lines->dtype;
    s->lines = rl_const_data(lines);
    if (rl_cuda_begin(k, out) != RL_OK) return RL_FAIL;
    if (!rl_is_float(x->dtype))
        launch<int64_t>(k, *s);
    else if (x->dtype == RL_F64)
        launch<double>(k, *s);
    else
        launch<float>(k, *s);
    return rl_cuda_end(k);
}

CUDA_KERNEL(cuda_search_places) {
    search s = {};
    s.right = k->attr[0] != 0;
    return run(k, &s);
}
CUDA_KERNEL(cuda_search_members) {
    search s = {};
    s.members = true;
    s.invert = k->attr[0] != 0;
    return run(k, &s);
}
