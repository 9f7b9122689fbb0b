/* Where the largest elements of windows stand.
 *
 * Note [Places of windows]
 *   The rows of the input that a row of outputs sees are copied to lines with -inf around them; then each
 *   element of V_WIDTH windows at once is compared with the largest so far, beside which stands how far from
 *   the window's corner it was found. In doubles that is a double, too. */
#ifndef RL_KERNELS_SIMD_POOL_PLACES_H
#define RL_KERNELS_SIMD_POOL_PLACES_H
#include "pool.h"
#ifdef RL_SIMD_X86
typedef struct {
    pool_job job;
    int64_t line, cols; /* elements of one of a thread's lines; what of it is no padding */
    int64_t *indices;
} places_job;

/* from a corner in the padding to the first element that is none */
static inline int64_t places_start(int64_t at, int64_t dilation) {
    return at < 0 ? simd_ceil_div(-at, dilation) * dilation : 0;
}
/* of a row of windows: its corner in the plane, and how far from there the first row begins */
static inline void places_corner(const places_job *s, int64_t front, int64_t top, int64_t *corner,
                                 int64_t *start) {
    const rl_pool_plan *g = &s->job.plan;
    *corner = (front * g->size[1] + top) * g->size[2];
    *start =
        (places_start(front, g->dilation[0]) * g->size[1] + places_start(top, g->dilation[1])) * g->size[2];
}
/* Sets line and cols; false where vectors along rows do not serve. */
RL_CHOOSER
static inline bool places_lines(places_job *s) {
    enum { MOST = 64 };
    pool_job *j = &s->job;
    const rl_pool_plan *g = &j->plan;
    for (int i = 0; i < 3; i++) {
        bool padding_alone = j->pad[i] && g->dilation[i] > g->size[i];
        if (padding_alone || j->kernel[i] > MOST || g->dilation[i] > MOST) return false;
    }
    /* places are int32 */
    const int64_t rows =
        (j->kernel[0] - 1) * g->dilation[0] * g->size[1] + (j->kernel[1] - 1) * g->dilation[1];
    if (rows * g->size[2] + (j->kernel[2] - 1) * g->dilation[2] > INT32_MAX) return false;
    if (!j->even || j->stride[2] > MOST) return false;
    s->line = (g->out[2] - 1) * j->stride[2] + (j->kernel[2] - 1) * g->dilation[2] + 1 +
              simd_max(POOL_SLACK, 16 * j->stride[2]);
    s->cols = simd_max(0, simd_min(g->size[2], s->line - j->pad[2]));
    j->line = j->kernel[0] * j->kernel[1] * s->line;
    return true;
}
#endif
#endif
