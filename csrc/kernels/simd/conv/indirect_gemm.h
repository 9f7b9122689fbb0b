/* Indirect GEMM: a GEMM whose operands are addressed through tables of offsets, for the gradients of
 * convolutions.
 *
 * Note [Indirect GEMM]
 *   A tile of C, up to mr rows of nr lanes, lives in registers while k runs. Step k reads nr numbers of B
 *   side by side and one of each row of A, which lie side by side, too, but wherever a table says; and each
 *   row of C lies where another table says:
 *
 *       C[c_at[row] + lane]  (+)=  sum over k of  A[a_at[k] + row] * B[k * nr + lane]
 *
 *   With such tables no im2col matrix is built: the pixels of a strided, padded plane are entries of a table,
 *   and a tap of the window shifts all of A or C. Small planes of many images make one long k, or many rows,
 *   as large ones do.
 *
 *   Lanes are output channels for the gradient by the weight, input channels for the gradient by the input:
 *   A, B and C are blocks in NHWC order, and the tensors may have any layout whose planes are flat. Sizes
 *   alone decide how k is cut, so the number of threads does not change a result. */
#ifndef RL_KERNELS_SIMD_CONV_INDIRECT_GEMM_H
#define RL_KERNELS_SIMD_CONV_INDIRECT_GEMM_H
#include "kernels/shared/conv_read.h"
#include "kernels/simd/cast_copy.h"

typedef struct {
    const void *a, *b;
    void *c;
    const int32_t *a_at, *c_at;
    int64_t k;
    int rows, lanes; /* 1 .. mr, 1 .. nr; lanes above those wanted may be written */
    bool add;        /* to what C holds */
} rl_conv_tile;
typedef struct {
    int mr, nr;
    void (*tile)(const rl_conv_tile *t);
} rl_conv_ukernel;

/* A tensor of images whose planes are flat: steps in elements. */
typedef struct {
    const char *at;
    int64_t image, channel, place;
} rl_conv_planes;

/* What both gradients need. Halves are computed in float32. */
typedef struct {
    const rl_conv *c;
    const rl_conv_ukernel *ukernel;
    simd_cast_copy in, out; /* from the tensors to what it is computed in, and back */
    int inner, size;        /* the dtype that it is computed in, and its bytes */
    int64_t high, wide;     /* of a padded plane */
    int64_t blocks;         /* blocks of lanes of a group */
} rl_indirect_gemm;

/* False: this CPU has no such tiles, or sizes are beyond their tables. `lanes`: channels of a group. */
bool rl_indirect_gemm_make(rl_call *k, const rl_conv *c, int dtype, int64_t lanes, rl_indirect_gemm *p);
/* The planes of a view of images; `spatial` dims. A copy in scratch where they are not flat; at is NULL
 * (reported) without memory. */
rl_conv_planes rl_conv_planes_of(rl_call *k, const rl_view *v, int64_t spatial);
/* Fills table[i] with `step` times the offset in padded planes of output place i, for `images` images. */
void rl_conv_places(const rl_indirect_gemm *p, int32_t *table, int64_t images, int64_t step);
/* n strips of `width` each at most `most`, as even as can be */
static inline int64_t rl_conv_even(int64_t n, int64_t most) {
    int64_t parts = (n + most - 1) / most;
    return (n + parts - 1) / parts;
}

/* `places` of `count` channels, `width` elements from one to the next, go to planes. */
void rl_conv_put(const rl_indirect_gemm *p, char *to, const rl_conv_planes *planes, const char *from,
                 int64_t width, int64_t places, int64_t count);

/* The ways. False: this one does not take the call, and nothing was written. */
bool rl_conv_scatter_gemm(rl_call *k, const rl_conv *c, int64_t spatial, bool forward, rl_status *status);
bool rl_conv_weight_indirect_gemm(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status);
bool rl_conv_input_depthwise(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status);
bool rl_conv_weight_depthwise(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status);
#endif
