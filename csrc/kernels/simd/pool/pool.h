/* What the kernels of pooling share. */
#ifndef RL_KERNELS_SIMD_POOL_POOL_H
#define RL_KERNELS_SIMD_POOL_POOL_H
#include "kernels/simd/common.h"
#include "kernels/shared/pool.h"

/* ---- what the kernels of pooling share. They compute in floats (halves, too) or in doubles ---- */
#include "kernels/simd/floats.h"
enum { POOL_SLACK = 64 };          /* loads run over a line's end */
static const double POOL_NS = 0.3; /* an input number */
enum { POOL_ROUNDS = 32 };         /* as many elements of a window stand in a table at most */

typedef struct {
    const rl_call *k;
    rl_pool_plan plan;
    int64_t planes, pad[3], stride[3], kernel[3]; /* adaptive with equal windows: as those */
    bool even;                                    /* are all windows of one size and step? */
    int computes;                                 /* RL_F32 or RL_F64 */
    size_t item;                                  /* bytes of a number */
    const char *in;                               /* the input; backward: the gradient */
    char *out;
    rl_rooms rooms;            /* of each thread: a line, and where gradients woven together stand */
    int64_t line, woven;       /* elements of these, */
    int64_t line_at, woven_at; /*   and where they lie */
} pool_job;
/* Reads a call whose input and output are these. RL_UNSUPPORTED where the kernels do not serve. */
rl_status simd_pool_read(rl_call *k, pool_job *j, const rl_view *input, const rl_view *output, bool adaptive);
/* Sets in, out and rooms: the first a copy where it does not lie side by side. The end puts halves where they
 * belong. */
rl_status simd_pool_begin(rl_call *k, pool_job *j, const rl_view *from, const rl_view *to);
rl_status simd_pool_end(rl_call *k, pool_job *j, const rl_view *to);
/* What means divide by along dimension i, as the numbers that j computes with, and some ones; NULL without
 * memory. */
void *simd_pool_counts(rl_call *k, const pool_job *j, int i);
typedef struct {
    int64_t first, last;
} pool_seen;
/* By an input along dimension i: the outputs from first on and below last see it. NULL without memory. */
pool_seen *simd_pool_seen(rl_call *k, const pool_job *j, int i);

typedef struct {
    simd_body floats[RL_ISA_END], doubles[RL_ISA_END];
} pool_bodies;
#define POOL_BODIES(name)                                                                                    \
    (pool_bodies) {                                                                                          \
        ISA_TABLE(name), ISA_TABLE_F64(name)                                                                 \
    }
RL_CHOOSER
static inline simd_body pool_body_of(const pool_job *j, pool_bodies all) {
    return (j->computes == RL_F64 ? all.doubles : all.floats)[j->k->svc->isa];
}

/* The indices of the maxima of windows.
 *
 * Note [Indices of maxima]
 *   The rows of the input that a row of outputs sees are copied to lines with -inf around them; then each
 *   element of V_WIDTH windows at once is compared with the largest so far, beside which stands how far from
 *   the window's corner it was found. In doubles that is a double, too. */
typedef struct {
    pool_job job;
    int64_t line, cols; /* elements of one of a thread's lines; what of it is no padding */
    int64_t *indices;
} indices_job;

/* from a corner in the padding to the first element that is none */
static inline int64_t indices_start(int64_t at, int64_t dilation) {
    return at < 0 ? simd_ceil_div(-at, dilation) * dilation : 0;
}
/* of a row of windows: its corner in the plane, and how far from there the first row begins */
static inline void indices_corner(const indices_job *s, int64_t front, int64_t top, int64_t *corner,
                                  int64_t *start) {
    const rl_pool_plan *g = &s->job.plan;
    *corner = (front * g->size[1] + top) * g->size[2];
    *start =
        (indices_start(front, g->dilation[0]) * g->size[1] + indices_start(top, g->dilation[1])) * g->size[2];
}
/* Sets line and cols; false where vectors along rows do not serve. */
RL_CHOOSER
static inline bool indices_lines(indices_job *s) {
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
    RL_UNREACHED("a plane would have to take a hundred megabytes")
    if (rows * g->size[2] + (j->kernel[2] - 1) * g->dilation[2] > INT32_MAX) return false;
    if (!j->even || j->stride[2] > MOST) return false;
    s->line = (g->out[2] - 1) * j->stride[2] + (j->kernel[2] - 1) * g->dilation[2] + 1 +
              simd_max(POOL_SLACK, 16 * j->stride[2]);
    s->cols = simd_max(0, simd_min(g->size[2], s->line - j->pad[2]));
    j->line = j->kernel[0] * j->kernel[1] * s->line;
    return true;
}
#endif
