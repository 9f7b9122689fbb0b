/* Between the files of convolutions by patches: how input and weights lie once they are made ready. Note
 * [Patches] in kernels/simd/conv_patches.h. */
#ifndef RL_KERNELS_SIMD_CONV_PATCHES_PLAN_H
#define RL_KERNELS_SIMD_CONV_PATCHES_PLAN_H
#include "conv_patches.h"
#include "product_gemm.h"

typedef struct {
    int64_t taps, first;   /* its taps are tap[first ...] */
    int64_t strips, group; /* elements: where its weights begin; those of a group */
} rl_patch_phase;
typedef struct {
    int64_t kernel, offset; /* number in the kernel; from the prepared input of a place, in elements */
} rl_patch_tap;

typedef struct {
    const rl_patches *p;
    const rl_gemm_kit *kit;
    int inner, size;             /* the dtype that it is computed in, and its bytes */
    int64_t grid[3], step[3];    /* places of a phase; input places from one to the next */
    int64_t weave[3], spread[3]; /* phases; places of the output from one place of a phase to the next */
    int64_t lo[3], extent[3];    /* of the prepared input: padding in front, places in all */
    int64_t split, column;       /* phases of its columns, and how far apart they are */
    int64_t row, slab, channel, image; /* its steps in elements */
    bool copies;                       /* it is a copy, not the input itself */
    rl_patch_phase *phase;             /* by (depth, row, column) */
    rl_patch_tap *tap;
    const char *weights, *bias; /* strips of Note [Panels]; NULL without bias */
} rl_patch_plan;

/* RL_UNSUPPORTED: Note [Patches] does not suit. */
rl_status rl_patch_plan_make(rl_call *k, const rl_patches *p, rl_patch_plan *plan);
/* Images [first, first + count) of the input, made ready at `to`. */
void rl_patch_prepare(rl_call *k, const rl_patch_plan *plan, int64_t first, int64_t count, char *to);
#endif
