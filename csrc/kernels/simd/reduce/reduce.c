/* Reductions: the engine that walks over any dims, counts, any and all. */
#include "kernels/shared/strided_iterator.h"
#include "reduce.h"

/* The engine of reductions: Note [Folds] in kernels/simd/reduce/reduce.h.
 *
 *   input, any strides ─► iterator over kept dims x iterator over reduced dims
 *                            tile: neighbouring outputs    piece: a range of the elements of each
 *
 * What folds cannot read where it lies (halves, gaps, short runs) goes through a small buffer. */
/* a unit of work has about this many elements; so many units are enough for any number of threads */
enum { UNIT = 1 << 15, UNITS = 128, BUFFER = 2048, RUN = 256, NARROW = 16, LOOP_NS = 20 };

#define ISA_IMPL "kernels/simd/reduce/load_impl.inc"
#include "kernels/simd/foreach_isa.h"

typedef struct {
    const fold_reduction *how;
    const fold_kind *kind;
    fold_code code;
    fold_load load;
    rl_iter kept, reduced; /* operands of kept: input, outputs; of reduced: input */
    int outputs, dtype[2];
    int64_t item, fold_item; /* bytes of an element in memory and as folds read it */
    bool across, direct;
    int64_t row, width, per_row, tiles; /* outputs of a row, of a tile; tiles */
    int64_t pieces, piece;
    double number;
    fold_cell *parts[2]; /* of pieces: planes a and b of a tile */
} reduce_job;

/* one tile of one thread */
typedef struct {
    const reduce_job *job;
    fold_state *state;
    int width, j;
    int64_t shift; /* bytes from the walk's first element to the tile's */
    int64_t held;  /* elements (along) or rows (across) in the buffer */
    union {
        double d[BUFFER];
        char bytes[1];
    } x;
} reduce_pass;

static void state_start(const reduce_job *job, fold_state *s, int64_t width) {
    s->count = 0;
    for (int64_t j = 0; j < width; j++) s->a[j] = job->kind->a, s->b[j] = job->kind->b;
}

static void pass_along(reduce_pass *pass, const void *x, int64_t n) {
    pass->job->code.along(pass->state, pass->j, pass->j + 1, x, n, 0);
    pass->state->first += n, pass->state->count += n;
}

static void pass_across(reduce_pass *pass, const char *x, int64_t n, int64_t step) {
    for (int64_t r = 0, rows; r < n; r += rows) {
        rows = simd_min(n - r, FOLD_ROWS);
        pass->job->code.across(pass->state, x + r * step, rows, step, pass->width);
        pass->state->first += rows, pass->state->count += rows;
    }
}

static void pass_flush(reduce_pass *pass) {
    if (pass->held == 0) return;
    if (pass->job->across)
        pass_across(pass, pass->x.bytes, pass->held, pass->width * pass->job->fold_item);
    else
        pass_along(pass, pass->x.bytes, pass->held);
    pass->held = 0;
}

static void loop_along(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reduce_pass *pass = (reduce_pass *)ctx;
    const reduce_job *job = pass->job;
    const char *from = p[0] + pass->shift;
    if (job->direct) {
        pass_along(pass, from, n);
        return;
    }
    for (int64_t at = 0, m; at < n; at += m) {
        if (pass->held == BUFFER) pass_flush(pass);
        m = simd_min(n - at, BUFFER - pass->held);
        job->load(from + at * step[0], step[0], m, pass->x.bytes + pass->held * job->fold_item);
        pass->held += m;
    }
}

static void loop_across(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    reduce_pass *pass = (reduce_pass *)ctx;
    const reduce_job *job = pass->job;
    const char *from = p[0] + pass->shift;
    if (job->direct) {
        pass_across(pass, from, n, step[0]);
        return;
    }
    int64_t max = BUFFER / pass->width, beside = job->kept.stride[0][job->kept.ndim - 1];
    for (int64_t r = 0; r < n; r++) {
        if (pass->held == max) pass_flush(pass);
        job->load(from + r * step[0], beside, pass->width,
                  pass->x.bytes + pass->held++ * pass->width * job->fold_item);
    }
}

static void pass_range(reduce_pass *pass, int64_t begin, int64_t end) {
    const rl_iter *w = &pass->job->reduced;
    rl_inner_loop loop = pass->job->across ? loop_across : loop_along;
    pass->state->first = begin, pass->state->count = 0;
    if (w->ndim <= 2) { /* without the counters of a longer walk */
        int last = w->ndim - 1;
        int64_t inner = w->size[last], row = begin / inner, at = begin % inner;
        for (int64_t n; begin < end; begin += n, at = 0, row++) {
            char *p = w->base[0] + row * (last ? w->stride[0][0] : 0) + at * w->stride[0][last];
            n = simd_min(inner - at, end - begin);
            loop(&p, &w->stride[0][last], n, pass);
        }
    } else {
        rl_iter_range(w, begin, end, loop, pass);
    }
    pass_flush(pass);
}

/* where a tile begins: the pointers of input and outputs */
static int tile_seek(const reduce_job *job, int64_t tile, char **p) {
    int64_t from = tile % job->per_row * job->width;
    for (int i = 0; i <= job->outputs; i++) p[i] = job->kept.base[i];
    rl_iter_seek(&job->kept, tile / job->per_row * job->row + from, p);
    return (int)simd_min(job->row - from, job->width);
}

static int tile_fold(const reduce_job *job, int64_t tile, int64_t begin, int64_t end, fold_state *s) {
    char *p[RL_ITER_OPS];
    reduce_pass pass;
    int width = tile_seek(job, tile, p);
    pass.job = job, pass.state = s, pass.width = width, pass.held = 0, pass.j = 0;
    pass.shift = p[0] - job->reduced.base[0];
    state_start(job, s, job->across ? simd_ceil_div(width, NARROW) * NARROW : width);
    if (job->across) {
        pass_range(&pass, begin, end);
        return width;
    }
    int64_t beside = job->kept.stride[0][job->kept.ndim - 1];
    if (job->direct && job->reduced.ndim == 1) {
        s->first = begin, s->count = 0;
        job->code.along(s, 0, width, p[0] + begin * job->reduced.stride[0][0], end - begin, beside);
        s->count = end - begin;
        return width;
    }
    for (; pass.j < width; pass.j++, pass.shift += beside) pass_range(&pass, begin, end);
    return width;
}

#define PUT_EACH(D, T, field, store)                                                                         \
    case RL_##D:                                                                                             \
        for (int j = 0; j < width; j++, p += step) *(T *)p = store(x[j].field);                              \
        break;
#define PUT_FLOAT(D, T, store) PUT_EACH(D, T, d, store)
#define PUT_INT(D, T)          PUT_EACH(D, T, i, (T))

static void put_cells(int dtype, char *p, int64_t step, const fold_cell *x, int width) {
    switch (dtype) {
        PUT_FLOAT(F32, float, (float))
        PUT_FLOAT(F64, double, )
        PUT_FLOAT(F16, rl_half, rl_to_half)
        PUT_FLOAT(BF16, rl_bfloat, rl_to_bfloat)
        PUT_INT(BOOL, uint8_t)
        PUT_INT(U8, uint8_t)
        PUT_INT(I8, int8_t)
        PUT_INT(I16, int16_t)
        PUT_INT(I32, int32_t)
        PUT_INT(I64, int64_t)
    }
}

static void tile_put(const reduce_job *job, int64_t tile, fold_state *s, int width) {
    char *p[RL_ITER_OPS];
    int inner = job->kept.ndim - 1;
    tile_seek(job, tile, p);
    if (job->how->finish) job->how->finish(s, width, job->number);
    for (int i = 0; i < job->outputs; i++) {
        bool second = job->how->pair && i == job->outputs - 1;
        put_cells(job->dtype[i], p[1 + i], job->kept.stride[1 + i][inner], second ? s->b : s->a, width);
    }
}

static void reduce_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const reduce_job *job = ctx;
    fold_state s;
    (void)thread;
    for (int64_t unit = begin; unit < end; unit++) {
        int64_t tile = unit / job->pieces, from = unit % job->pieces * job->piece;
        int width = tile_fold(job, tile, from, simd_min(from + job->piece, job->reduced.numel), &s);
        if (job->pieces == 1) {
            tile_put(job, tile, &s, width);
            continue;
        }
        const int64_t at = unit * job->width;
        __builtin_memcpy(job->parts[0] + at, s.a, (size_t)width * sizeof *s.a);
        __builtin_memcpy(job->parts[1] + at, s.b, (size_t)width * sizeof *s.b);
    }
}

/* the pieces of every tile, in order */
static void reduce_joined(const reduce_job *job) {
    fold_state s, later;
    char *p[RL_ITER_OPS];
    for (int64_t tile = 0; tile < job->tiles; tile++) {
        int width = tile_seek(job, tile, p);
        state_start(job, &s, width);
        for (int64_t i = 0; i < job->pieces; i++) {
            const int64_t at = (tile * job->pieces + i) * job->width;
            __builtin_memcpy(later.a, job->parts[0] + at, (size_t)width * sizeof *later.a);
            __builtin_memcpy(later.b, job->parts[1] + at, (size_t)width * sizeof *later.b);
            later.count = simd_min(job->piece, job->reduced.numel - i * job->piece);
            job->kind->join(&s, &later, width);
            s.count += later.count;
        }
        tile_put(job, tile, &s, width);
    }
}

/* The walks; an output's strides stand beside those of the input's kept dims. */
static void reduce_iters(rl_call *k, reduce_job *job) {
    const rl_view *x = rl_in(k, 0);
    uint64_t mask = (uint64_t)k->attr[0];
    rl_iter *kept = &job->kept, *reduced = &job->reduced;
    rl_iter_begin(kept, x, RL_READ);
    rl_iter_begin(reduced, x, RL_READ);
    for (int i = 0; i < job->outputs; i++) {
        const rl_view *out = k->out[i];
        int64_t item = rl_itemsize(out->dtype);
        bool keepdim = out->ndim == x->ndim;
        kept->base[kept->nops] = rl_data(out, RL_WRITE);
        for (int d = 0, to = 0; d < x->ndim; d++)
            if (!(mask >> d & 1)) kept->stride[kept->nops][d] = out->strides[keepdim ? d : to++] * item;
        kept->nops++;
    }
    rl_iter_drop(kept, mask);
    rl_iter_drop(reduced, ~mask);
    rl_iter_sort(kept, 0);
    if (!job->how->places) rl_iter_sort(reduced, 0);
    rl_iter_merge(kept);
    rl_iter_merge(reduced);
}

/* Which form, and how large the units are. */
RL_CHOOSER
static void reduce_plan(reduce_job *job) {
    const rl_iter *kept = &job->kept, *reduced = &job->reduced;
    int64_t inner = reduced->size[reduced->ndim - 1], numel = reduced->numel;
    int64_t beside = kept->stride[0][kept->ndim - 1], below = reduced->stride[0][reduced->ndim - 1];
    bool same = !job->load; /* folds read the dtype as it is */
    job->row = kept->size[kept->ndim - 1];
    job->across = job->row > 1 && (beside == job->item || (beside < below && beside > 0) || numel < NARROW);
    if (job->across) {
        job->direct = same && beside == job->item;
        job->width = job->direct ? FOLD_TILE : BUFFER / FOLD_ROWS;
    } else {
        job->direct = same && below == job->item && (reduced->ndim == 1 || inner >= RUN);
        job->width = simd_max(1, simd_min(UNIT / numel, FOLD_TILE));
    }
    job->width = simd_min(job->width, job->row);
    job->per_row = simd_ceil_div(job->row, job->width);
    job->tiles = kept->numel / job->row * job->per_row;
    int64_t per_tile = simd_min(simd_ceil_div(numel, simd_max(UNIT / job->width, 1)), UNITS / job->tiles);
    job->pieces = simd_max(per_tile, 1);
    job->piece = simd_ceil_div(simd_ceil_div(numel, job->pieces), FOLD_SHORT) * FOLD_SHORT;
    job->pieces = simd_ceil_div(numel, job->piece);
}

/* what the folds read: the memory itself, or floats made of halves */
RL_CHOOSER
static bool reduce_code(const rl_call *k, reduce_job *job, int dtype) {
    static const fold_load halves[] = ISA_TABLE(load_half), bfloats[] = ISA_TABLE(load_bfloat);
    const int isa = k->svc->isa;
    int read = dtype;
    job->code = job->how->code[isa][dtype];
    job->load = NULL;
    if (!job->code.along && rl_is_half(dtype)) {
        read = RL_F32;
        job->code = job->how->code[isa][read];
        job->load = (dtype == RL_F16 ? halves : bfloats)[isa];
    }
    job->item = rl_itemsize(dtype);
    job->fold_item = rl_itemsize(read);
    return job->code.along != NULL;
}

static fold_load load_as_is(int64_t item) {
    return item == 1 ? load_1 : item == 2 ? load_2 : item == 4 ? load_4 : load_8;
}

RL_CHOOSER
rl_status simd_reduce(rl_call *k, const fold_reduction *how, double number) {
    const rl_view *x = rl_in(k, 0);
    reduce_job job;
    job.how = how, job.number = number, job.outputs = k->n_out;
    if (!k->svc->isa || x->numel == 0 || !reduce_code(k, &job, x->dtype)) return RL_UNSUPPORTED;
    job.kind = how->truth || !rl_is_float(x->dtype) ? &how->ints : &how->floats;
    for (int i = 0; i < job.outputs; i++) job.dtype[i] = k->out[i]->dtype;
    reduce_iters(k, &job);
    reduce_plan(&job);
    if (!job.load) job.load = load_as_is(job.item);
    for (int i = 0; job.pieces > 1 && i < 2; i++) {
        job.parts[i] = k->svc->scratch(k, RL_COUNT(job.tiles, job.pieces, job.width), sizeof(fold_cell));
        if (!job.parts[i]) return RL_FAIL;
    }
    double ns = how->ns * (double)simd_min(job.piece, job.reduced.numel) * (double)job.width;
    if (!job.direct) ns *= 4;
    k->svc->parallel(k, job.tiles * job.pieces, ns + LOOP_NS, reduce_part, &job);
    if (job.pieces > 1) reduce_joined(&job);
    return RL_OK;
}

/* ---- count_nonzero: C loops over the bits of elements, which the compiler turns into vectors ---- */
/* a run of bytes is counted in bytes, so many times BYTE_LANES of them */
enum { BYTE_RUN = 255, BYTE_LANES = 32 };
static ISA_BASELINE int64_t count_bytes(const uint8_t *p, int64_t n) {
    int64_t all = 0, i = 0;
    while (i + BYTE_LANES <= n) {
        uint8_t lane[BYTE_LANES] = {0};
        int64_t runs = simd_min((n - i) / BYTE_LANES, BYTE_RUN);
        for (int64_t r = 0; r < runs; r++, i += BYTE_LANES)
            for (int j = 0; j < BYTE_LANES; j++) lane[j] = (uint8_t)(lane[j] + (p[i + j] != 0));
        for (int j = 0; j < BYTE_LANES; j++) all += lane[j];
    }
    for (; i < n; i++) all += p[i] != 0;
    return all;
}
#define COUNT(D, T, is_true, name)                                                                           \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            if (sizeof(T) == 1) {                                                                            \
                s->a[j].i += count_bytes((const uint8_t *)p, n);                                             \
                continue;                                                                                    \
            }                                                                                                \
            for (int64_t at = 0, m; at < n; at += m) {                                                       \
                T found = 0;                                                                                 \
                m = simd_min(n - at, FOLD_SHORT);                                                            \
                for (int64_t i = at; i < at + m; i++) {                                                      \
                    const T x = p[i];                                                                        \
                    found = (T)(found + (is_true));                                                          \
                }                                                                                            \
                s->a[j].i += (int64_t)found;                                                                 \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T found[FOLD_TILE];                                                                                  \
        for (int j = 0; j < width; j++) found[j] = 0;                                                        \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = p[j];                                                                            \
                found[j] = (T)(found[j] + (is_true));                                                        \
            }                                                                                                \
        }                                                                                                    \
        for (int j = 0; j < width; j++) s->a[j].i += (int64_t)found[j];                                      \
    }
FOLD_EACH_TRUTH(COUNT, count)

#define ENTRY(D, T, is_true, name) FOLD_ENTRY(D, name, D)
FOLD_CODE_INTS(count_code, FOLD_EACH_TRUTH(ENTRY, count))
FOLD_JOIN(join_count, i, fold_add_integer)

RL_KERNEL(simd_count_nonzero) {
    static const fold_reduction how = {
        .code = count_code, .ints.join = join_count, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}

/* ---- any and all: C loops over the bits of elements, which the compiler turns into vectors ---- */
/* A run is left as soon as its answer is known, and so is the rest of what the state has to see. */
#define TRUTH(D, T, is_true, name, known, start, op)                                                         \
    FOLD_LOOP void name##_along_##D(fold_state *s, int j, int end, const void *from, int64_t n,              \
                                    int64_t step) {                                                          \
        for (const char *row = from; j < end; j++, row += step) {                                            \
            const T *p = (const T *)row;                                                                     \
            for (int64_t at = 0, m; at < n && s->a[j].i != known; at += m) {                                 \
                T found = start;                                                                             \
                m = simd_min(n - at, FOLD_SHORT);                                                            \
                for (int64_t i = at; i < at + m; i++) {                                                      \
                    const T x = p[i];                                                                        \
                    found = (T)(found op(is_true));                                                          \
                }                                                                                            \
                s->a[j].i = found;                                                                           \
            }                                                                                                \
        }                                                                                                    \
    }                                                                                                        \
    FOLD_LOOP void name##_across_##D(fold_state *s, const void *from, int64_t rows, int64_t step,            \
                                     int width) {                                                            \
        T found[FOLD_TILE];                                                                                  \
        for (int j = 0; j < width; j++) found[j] = (T)s->a[j].i;                                             \
        for (int64_t r = 0; r < rows; r++) {                                                                 \
            const T *p = (const T *)((const char *)from + r * step);                                         \
            for (int j = 0; j < width; j++) {                                                                \
                const T x = p[j];                                                                            \
                found[j] = (T)(found[j] op(is_true));                                                        \
            }                                                                                                \
        }                                                                                                    \
        for (int j = 0; j < width; j++) s->a[j].i = found[j];                                                \
    }
FOLD_EACH_TRUTH(TRUTH, any, 1, 0, |)
FOLD_EACH_TRUTH(TRUTH, all, 0, 1, &)

FOLD_CODE_INTS(any_code, FOLD_EACH_TRUTH(ENTRY, any))
FOLD_CODE_INTS(all_code, FOLD_EACH_TRUTH(ENTRY, all))
FOLD_JOIN(join_any, i, fold_max_integer)
FOLD_JOIN(join_all, i, fold_min_integer)

RL_KERNEL(simd_any) {
    static const fold_reduction how = {.code = any_code, .ints.join = join_any, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}

RL_KERNEL(simd_all) {
    static const fold_reduction how = {
        .code = all_code, .ints = {.a.i = 1, .join = join_all}, .truth = true, .ns = 0.06};
    return simd_reduce(k, &how, 0);
}
