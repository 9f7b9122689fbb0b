/* Attention by blocks of queries and keys: Note [Attention] in kernels/shared/attention.h says what it is.
 *
 * Note [Attention in blocks]
 *
 *              block of keys ->
 *            ┌────────┬────────┬──     a task is a chunk of rows of a batch,
 *   block    │ scores │        │       backward a chunk of keys
 *   of rows  ├────────┼────────┼──
 *            │        │        │
 *
 *   For each block of keys, which becomes panels (Note [Panels]), and each block of rows a task makes scores,
 *   weights, and what these add to sums that stay in the second cache: there are never more weights than
 *   those of a block. Forward keeps the largest score of each row and the sum of its weights so far (Milakov
 *   and Gimelshein, 2018; Dao et al., 2022). Backward finds the weights again; gradients of keys and values
 *   are added up in the task, those of queries by chunk and then over chunks in order. Sizes alone decide
 *   what a chunk is. All is computed in float, or in double; halves and loose rows are moved to a room of
 *   the thread. */
#ifndef RL_KERNELS_SIMD_ATTENTION_H
#define RL_KERNELS_SIMD_ATTENTION_H
#include "kernels/shared/attention.h"
#include "kernels/simd/gemm/gemm.h"
#include <string.h>

/* A block of scores; elements are those that are computed with. */
typedef struct {
    int64_t rows, keys, pitch;
    int64_t first; /* the first row sees so many keys of the block, each further one more */
    void *scores;
    const char *mask; /* or NULL */
    int64_t mask_row, mask_col;
    const simd_cast_copy *mask_in;
    void *mask_room; /* of a row */
    bool truth;      /* a boolean mask */
    void *most, *total,
        *sums;    /* of each row, so far; backward: logsumexp, mean, and what came to the weights */
    int64_t wide; /* of a row of sums */
    double scale;
} attention_rows;

typedef struct {
    void (*weigh)(const attention_rows *s);
    void (*slopes)(const attention_rows *s);
    void (*end)(const attention_rows *s, void *to, int64_t step, void *lse);
    void (*scale)(void *to, int64_t n, double by);
    double (*dot)(const void *a, const void *b, int64_t n);
    void (*add)(void *to, const void *from, int64_t n);
} attention_ukernel;

enum { ATTENTION_BLOCK = 96, ATTENTION_PAD = 16, ATTENTION_ROOMS = 2 };
enum { ATTENTION_PARTS = ATTENTION_ROOMS * RL_MAX_PARTS };
typedef struct {
    rl_attention a;
    const attention_ukernel *ukernel;
    const rl_gemm_ukernel *gemm;
    simd_cast_copy in, out, mask_in;
    int64_t size, item; /* bytes of an element that is computed with, and of an argument's */
    int64_t block;      /* keys of a block */
    int64_t chunk, chunks;
    rl_rooms rooms[ATTENTION_ROOMS]; /* of each thread; part i lies in room i / RL_MAX_PARTS, from */
    int64_t part[ATTENTION_PARTS];   /* part[i] on */
} attention_job;

/* What every kernel begins with; false where it does not suit. */
bool rl_attention_begin(const rl_call *k, attention_job *j, int at, int rest);
/* Each thread gets n parts of so many elements. */
rl_status rl_attention_rooms(rl_call *k, attention_job *j, const rl_count *parts, int n);
static inline char *attention_part(const attention_job *j, int thread, int which) {
    return rl_room(&j->rooms[which / RL_MAX_PARTS], thread) + j->part[which];
}

/* a matrix whose rows are dense, as elements that are computed with */
typedef struct {
    const char *at;
    int64_t row;
} attention_matrix;
/* Rows [i0, i1) of a batch of a view: where they are, or moved to `room`. */
attention_matrix rl_attention_load(const attention_job *j, const rl_view *v, int64_t batch, int64_t i0,
                                   int64_t i1, char *room);
bool rl_attention_moves(const attention_job *j, const rl_view *v); /* is that room needed? */
/* Rows [i0, i1) of a batch of a view as panels, times a number. */
void rl_attention_panels(const attention_job *j, const rl_view *v, int64_t batch, int64_t i0, int64_t i1,
                         double by, char *to);
/* Row i of a batch of a result. */
void rl_attention_store(const attention_job *j, const rl_view *v, int64_t batch, int64_t i, const void *from);
/* The mask of rows from i0 and keys from j0 on. */
void rl_attention_mask_set(const attention_job *j, attention_rows *s, int64_t batch, int64_t i0, int64_t j0,
                           char *room);
/* A row of it. */
static inline const void *attention_mask(const attention_rows *s, int64_t r) {
    const char *from = s->mask + r * s->mask_row;
    if (!s->mask_in->convert && s->mask_col == s->mask_in->from_item) return from;
    if (s->mask_row || r == 0)
        simd_cast_copy_run(s->mask_in, s->mask_room, s->mask_in->to_item, from, s->mask_col, s->keys);
    return s->mask_room;
}

/* c (rows x cols) = a (rows x k) b, or that added; b: rows, or panels of b_panel elements */
typedef struct {
    int64_t rows, k, cols;
    const char *a, *b;
    int64_t a_row, a_col, b_row, b_panel;
    char *c;
    int64_t c_row;
    bool add;
} attention_gemm;
void rl_attention_multiply(const attention_job *j, attention_gemm p);
#endif
