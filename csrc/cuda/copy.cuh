/* Copies and cast copies: iterators whose dims a kernel sets itself, and the copies that follow them. */
#ifndef RL_CUDA_COPY_H
#define RL_CUDA_COPY_H
#include "device.h"
#include "strided_iterator.cuh"
#include <string.h>

/* ---- dims and steps that are no tensor's, outermost first ---- */
typedef struct {
    int ndim;
    int64_t numel, size[RL_MAX_DIMS], step[CUDA_OPS][RL_MAX_DIMS];
} cuda_dims;
static inline cuda_dims cuda_dims_none(void) {
    cuda_dims dims;
    dims.ndim = 0, dims.numel = 1;
    return dims;
}
static inline void cuda_dims_add(cuda_dims *dims, int64_t size, int64_t step0, int64_t step1 = 0,
                                 int64_t step2 = 0, int64_t step3 = 0, int64_t step4 = 0) {
    const int64_t step[] = {step0, step1, step2, step3, step4};
    dims->numel *= size;
    if (size == 1) return; /* so that there is always room: no size has more factors */
    for (int op = 0; op < 5; op++) dims->step[op][dims->ndim] = step[op];
    dims->size[dims->ndim++] = size;
}
/* in the order of operand 0's memory; false: more dims than a launch carries */
bool cuda_dims_iter(cuda_iter *w, cuda_dims *dims, int nops);

/* ---- X(bytes of an element, a type of that size) ---- */
#define CUDA_SIZES(X) X(1, uint8_t) X(2, uint16_t) X(4, uint32_t) X(8, uint64_t) X(16, ulonglong2)

/* operand 0 takes what operand 1 has, cast where the dtypes differ; RL_UNSUPPORTED: no such cast */
rl_status cuda_cast_copy(rl_call *k, const cuda_iter &w, void *to, int to_dtype, const void *from,
                         int from_dtype);
/* ... of one size by tiles, where that is what the walk needs; false: it is not. After rl_cuda_begin */
bool cuda_cast_copy_transposed(rl_call *k, const cuda_iter &w, void *to, const void *from, int64_t item);
rl_status cuda_cast_copy_dims(rl_call *k, cuda_dims *dims, void *to, int to_dtype, const void *from,
                              int from_dtype);
/* a view takes what another one of the same device has, which stretches to it */
rl_status cuda_cast_copy_views(rl_call *k, const rl_view *to, const rl_view *from);
/* out[0] takes what argument 0 has, unless it is that: operators that change a part work in place */
rl_status cuda_start(rl_call *k);
/* A view's elements in row-major order: its own memory where they lie so, else a copy; NULL: failed. */
const void *cuda_gapless(rl_call *k, const rl_view *v);

/* ---- one element for all ---- */
/* The bits of a number in a dtype: argument `arg` is a number, or a 0-D tensor of the CPU. PyTorch's error
 * where the dtype does not hold it. */
rl_status cuda_element(rl_call *k, int arg, int dtype, uint64_t *bits);
rl_status cuda_fill_iter(rl_call *k, const cuda_iter &w, void *to, int64_t item, const uint64_t *element);
rl_status cuda_fill_view(rl_call *k, const rl_view *to, const uint64_t *element); /* two words */
template <class T> static inline T cuda_from_words(const uint64_t *words) {
    T value;
    memcpy(&value, words, sizeof value);
    return value;
}
uint64_t cuda_number_bits(int dtype, double number);
double cuda_element_number(int dtype, uint64_t bits);

static inline cudaStream_t cuda_stream_of(const rl_call *k) {
    return (cudaStream_t)k->stream;
}
/* one element of device memory: a number as cuda_element reads it, or a 0-D tensor; NULL: failed */
const void *cuda_element_there(rl_call *k, int arg, int dtype);
const void *cuda_bits_there(rl_call *k, uint64_t bits, int dtype);

static inline bool cuda_same_place(const rl_view *a, const rl_view *b) {
    return a->device == b->device && a->device_index == b->device_index;
}
/* Do all tensors lie where the call runs, but for argument `except`? */
static inline bool cuda_all_here(const rl_call *k, int except = -1) {
    for (int i = 0; i < k->n_arg; i++) {
        const rl_view *v = i == except ? NULL : rl_in(k, i);
        if (v && !cuda_same_place(v, k->out[0])) return false;
    }
    return true;
}
#endif
