/* What the kernels of pooling share. They compute in floats (halves, too) or in doubles. */
#ifndef RL_KERNELS_SIMD_POOL_H
#define RL_KERNELS_SIMD_POOL_H
#include "common.h"
#include "kernels/shared/pool.h"
#ifdef RL_SIMD_X86
#include "floats.h"
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

typedef void (*pool_body)(void *, int64_t, int64_t, int);
typedef struct {
    pool_body narrow, narrow_doubles, wide, wide_doubles;
} pool_bodies;
#define POOL_BODIES(name)                                                                                    \
    (pool_bodies) {                                                                                          \
        name##_avx2, name##_avx2_f64, name##_avx512, name##_avx512_f64                                       \
    }
RL_CHOOSER
static inline pool_body pool_body_of(const pool_job *j, pool_bodies all) {
    bool wide = j->k->svc->isa & RL_ISA_AVX512, doubles = j->computes == RL_F64;
    return wide ? (doubles ? all.wide_doubles : all.wide) : (doubles ? all.narrow_doubles : all.narrow);
}
#endif
#endif
