/* Places that an index names. */
#ifndef RL_CUDA_INDEX_H
#define RL_CUDA_INDEX_H
#include "cuda/copy.cuh"

/* Note [CUDA index offsets]
 * Each number of an index is read once, checked, and used as it was read. One that is out of range moves
 * nothing, and leaves a word behind that whoever waits for the device gets as an error. */
typedef struct {
    const void *at;
    bool is_wide, wraps; /* int64, else int32; negative numbers count from the end */
    int64_t size, step;  /* numbers lie below size; elements from one place to the next */
    unsigned *fault;
    bool skips; /* one number that names no place: a padding */
    int64_t skipped;
} cuda_indices;

__device__ inline bool cuda_place(const cuda_indices &p, int64_t i, int64_t *offset) {
    int64_t place = p.is_wide ? ((const int64_t *)p.at)[i] : ((const int32_t *)p.at)[i];
    if (p.skips && place == p.skipped) return false;
    if (p.wraps && place < 0) place += p.size;
    const bool known = place >= 0 && place < p.size;
    if (!known) cuda_fault(p.fault, CUDA_FAULT_INDEX);
    *offset = known ? place * p.step : 0;
    return known;
}

/* the places of v's dimension `dim`; after rl_cuda_begin */
rl_status cuda_indices_of(rl_call *k, cuda_indices *p, const rl_view *index, const rl_view *v, int64_t dim);
/* int64 numbers of elements below size */
rl_status cuda_indices_flat(rl_call *k, cuda_indices *p, const void *index, int64_t size);

/* Operands of the walk: target, index, source; target = source[place], or 0. */
rl_status cuda_pick(rl_call *k, const cuda_iter &w, void *to, const cuda_indices &p, const void *from,
                    int64_t item);
#endif
