/* Runs elementwise ops over tensors: Note [Elementwise ops]. */
#include "elementwise.h"
#include "kernels/shared/strided_iterator.h"

typedef struct {
    const simd_elementwise_op *op;
    simd_inner_loop loop;
    const void *numbers;
    int64_t size[1 + SIMD_OPERANDS];               /* bytes of an element: of the result, of the operands */
    int64_t item[1 + SIMD_OPERANDS];               /* ... as the strip sees it */
    simd_cast_copy move[1 + SIMD_OPERANDS];        /* from the strip's room, to the strip's rooms */
    const void *constant[1 + SIMD_OPERANDS];       /* a block of one number, or NULL */
    double (*total)(const void *block, int64_t n); /* of what the strip answers, where that is added up */
} map_job;

/* ---- one run of elements ---- */
typedef char map_room[SIMD_BLOCK * 8];

/* Does the strip work where it lies? */
static bool is_near(const map_job *j, int i, const int64_t *step) {
    return !j->move[i].convert && step[i] == j->item[i];
}

/* where the strip finds `count` elements of each operand, from element `at` of the run */
static void map_operands(const map_job *j, char *const *p, const int64_t *step, int64_t at, int64_t count,
                         map_room *room, const void **from) {
    for (int i = 1; i <= j->op->operands; i++) {
        char *x = p[i] + at * step[i];
        from[i - 1] = j->constant[i] ? j->constant[i] : is_near(j, i, step) ? x : room[i];
        if (from[i - 1] == room[i]) simd_cast_copy_run(&j->move[i], room[i], j->item[i], x, step[i], count);
    }
}

static void map_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const map_job *j = ctx;
    _Alignas(64) map_room room[1 + SIMD_OPERANDS];
    const void *from[SIMD_OPERANDS];
    const bool near = is_near(j, 0, step);
    bool whole = near;
    for (int i = 1; i <= j->op->operands; i++) whole &= is_near(j, i, step) && !j->constant[i];
    const int64_t block = whole ? n : SIMD_BLOCK;
    for (int64_t at = 0; at < n; at += block) {
        const int64_t count = simd_min(block, n - at);
        char *to = p[0] + at * step[0];
        map_operands(j, p, step, at, count, room, from);
        j->loop(near ? to : room[0], from, count, j->numbers);
        if (!near) simd_cast_copy_run(&j->move[0], to, step[0], room[0], j->item[0], count);
    }
}

typedef struct {
    const map_job *job;
    char *p[1 + SIMD_OPERANDS];
} flat_job;

static void flat_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const flat_job *flat = ctx;
    const map_job *j = flat->job;
    char *p[1 + SIMD_OPERANDS];
    (void)thread;
    for (int i = 0; i <= j->op->operands; i++) p[i] = flat->p[i] + begin * j->size[i];
    map_loop(p, j->size, end - begin, j);
}

/* ---- a whole call ---- */
static bool same_shape(const rl_view *a, const rl_view *b) {
    if (a->ndim != b->ndim) return false;
    for (int d = 0; d < a->ndim; d++)
        if (a->shape[d] != b->shape[d]) return false;
    return true;
}

/* one element in every place, as the gradient of a sum is */
static bool is_constant(const rl_view *v) {
    for (int d = 0; d < v->ndim; d++)
        if (v->shape[d] != 1 && v->strides[d] != 0) return false;
    return v->numel > 0;
}

static void number_put(int dtype, void *to, double x) {
    switch (dtype) {
    case RL_F32: *(float *)to = (float)x; break;
    case RL_F64: *(double *)to = x; break;
    case RL_I8: *(int8_t *)to = (int8_t)x; break;
    case RL_I16: *(int16_t *)to = (int16_t)x; break;
    case RL_I32: *(int32_t *)to = (int32_t)x; break;
    case RL_I64: *(int64_t *)to = (int64_t)x; break;
    default: *(uint8_t *)to = (uint8_t)(int64_t)x; break;
    }
}

static bool numbers_read(int dtype, const double *numbers, char *to) {
    const int64_t item = rl_itemsize(dtype);
    if (RL_LIKELY(dtype == RL_F32)) {
        for (int i = 0; i < SIMD_NUMBERS; i++) ((float *)to)[i] = (float)numbers[i];
        return true;
    }
    static const double low[SIMD_DTYPES] = {
        [RL_I8] = INT8_MIN, [RL_I16] = INT16_MIN, [RL_I32] = INT32_MIN, [RL_I64] = -0x1p53, [RL_BOOL] = 0};
    static const double high[SIMD_DTYPES] = {[RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX, [RL_I16] = INT16_MAX,
                                             [RL_I32] = INT32_MAX, [RL_I64] = 0x1p53,  [RL_BOOL] = 1};
    for (int i = 0; i < SIMD_NUMBERS; i++) { /* what does not fit is left to the reference kernel */
        if (!rl_is_float(dtype) && !(numbers[i] >= low[dtype] && numbers[i] <= high[dtype])) return false;
        number_put(dtype, to + i * item, numbers[i]);
    }
    return true;
}

/* the dtype that strips see: halves are computed as floats, what is only moved goes by its size */
static int compute_dtype(const simd_elementwise_op *op, int dtype) {
    static const uint8_t by_size[9] = {[1] = RL_U8, [2] = RL_I16, [4] = RL_I32, [8] = RL_I64};
    if (op->masked) return dtype < SIMD_DTYPES ? by_size[rl_itemsize(dtype)] : dtype;
    return rl_is_half(dtype) ? RL_F32 : dtype;
}

/* what the operands of a call become: blocks[] is room for those that are one number everywhere */
static bool map_begin(const rl_call *k, map_job *j, const rl_view *const *operand, int64_t places,
                      const double *numbers, char *read, map_room *blocks) {
    const simd_elementwise_op *op = j->op;
    const int dtype = operand[op->masked]->dtype, compute = compute_dtype(op, dtype);
    if (!k->svc->isa || compute >= SIMD_DTYPES) return false;
    j->loop = op->loop[k->svc->isa][compute];
    j->numbers = read;
    if (!j->loop || !numbers_read(compute, numbers, read)) return false;
    for (int i = 1; i <= op->operands; i++) {
        const rl_view *v = operand[i - 1];
        const int own = i == 1 && op->masked ? RL_BOOL : compute;
        const bool wide = v && !op->masked && v->dtype == own; /* TRAITS(WIDE_NUMBER) */
        const int is = own == RL_BOOL || wide ? own : dtype;
        const int64_t block = simd_min(places, SIMD_BLOCK);
        if (v && v->dtype != is) return false;
        j->size[i] = rl_itemsize(is), j->item[i] = rl_itemsize(own);
        j->move[i] =
            simd_cast_copy_between(k, own, op->masked ? own : is); /* what is masked is not converted */
        if (v && (places < 2 || !is_constant(v))) continue;
        if (v) /* its memory may be overwritten while others read it */
            simd_cast_copy_run(&j->move[i], blocks[i - 1], j->item[i], rl_const_data(v), 0, block);
        for (int64_t n = 0; !v && n < block; n++) number_put(own, blocks[i - 1] + n * j->item[i], 1);
        j->constant[i] = blocks[i - 1];
    }
    return true;
}

static void map_add(const map_job *j, rl_iter *w, const rl_view *const *operand) {
    for (int i = 0; i < j->op->operands; i++) rl_iter_add(w, operand[operand[i] ? i : 0]);
}

RL_CHOOSER
rl_status simd_map_views(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                         const double *numbers) {
    const rl_view *out = k->out[0];
    _Alignas(64) map_room blocks[SIMD_OPERANDS];
    char read[SIMD_NUMBERS * 8];
    const int dtype = operand[op->masked]->dtype, answer = op->answer == SIMD_TRUTH ? RL_BOOL : dtype;
    const int own = answer == RL_BOOL ? RL_BOOL : compute_dtype(op, dtype);
    map_job j = {.op = op};
    if (!map_begin(k, &j, operand, out->numel, numbers, read, blocks)) return RL_UNSUPPORTED;
    j.size[0] = rl_itemsize(answer), j.item[0] = rl_itemsize(own);
    j.move[0] = simd_cast_copy_between(k, op->masked ? own : answer, own);
    bool flat = rl_is_contiguous(out);
    for (int i = 1; i <= op->operands && flat && out->numel != 1; i++)
        flat = j.constant[i] || (same_shape(operand[i - 1], out) && rl_is_contiguous(operand[i - 1]));
    if (!flat) {
        rl_iter w;
        rl_iter_begin(&w, out, RL_WRITE);
        map_add(&j, &w, operand);
        rl_iter_sort(&w, 0);
        rl_iter_merge(&w);
        rl_iter_parallel(k, &w, op->ns + 1, map_loop, &j);
        return RL_OK;
    }
    flat_job job = {.job = &j, .p = {rl_data(out, RL_WRITE)}};
    for (int i = 1; i <= op->operands; i++) job.p[i] = rl_data(operand[operand[i - 1] ? i - 1 : 0], RL_READ);
    k->svc->parallel(k, out->numel, op->ns, flat_part, &job);
    return RL_OK;
}

/* ---- what a line answers, added up ---- */
#define ISA_IMPL "elementwise_total_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static double total_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    const map_job *j = ctx;
    _Alignas(64) map_room room[1 + SIMD_OPERANDS];
    const void *from[SIMD_OPERANDS];
    double total = 0;
    for (int64_t at = 0; at < n; at += SIMD_BLOCK) {
        const int64_t count = simd_min(SIMD_BLOCK, n - at);
        map_operands(j, p, step, at, count, room, from);
        j->loop(room[0], from, count, j->numbers);
        total += j->total(room[0], count);
    }
    return total;
}

RL_CHOOSER
rl_status simd_map_total(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                         const double *numbers, simd_total *total) {
    static double (*const totals[2][RL_ISA_END])(const void *, int64_t) = {ISA_TABLE(block_total),
                                                                           ISA_TABLE_F64(block_total)};
    _Alignas(64) map_room blocks[SIMD_OPERANDS];
    char read[SIMD_NUMBERS * 8];
    rl_iter w;
    map_job j = {.op = op};
    rl_iter_over(&w, operand[0], operand[op->operands > 1]);
    if (!map_begin(k, &j, operand, w.numel, numbers, read, blocks)) return RL_UNSUPPORTED;
    j.total = totals[operand[0]->dtype == RL_F64][k->svc->isa];
    map_add(&j, &w, operand);
    rl_iter_sort(&w, 1);
    rl_iter_merge(&w);
    total->places = w.numel;
    total->sum = rl_iter_total(k, &w, op->ns + 0.1, total_loop, &j);
    return RL_OK;
}

/* ---- the usual call: everything lies side by side, in the dtype that the strip is for ---- */
typedef struct {
    simd_inner_loop loop;
    const void *numbers;
    int operands;
    int64_t size[2]; /* bytes of an element: of the result, of the operands */
    char *p[1 + SIMD_OPERANDS];
} near_job;

static void near_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const near_job *j = ctx;
    const void *from[SIMD_OPERANDS];
    (void)thread;
    for (int i = 0; i < j->operands; i++) from[i] = j->p[1 + i] + begin * j->size[1];
    j->loop(j->p[0] + begin * j->size[0], from, end - begin, j->numbers);
}

/* false: it is not the usual call, nothing was written */
static bool near_run(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                     const double *numbers) {
    const rl_view *out = k->out[0];
    const int dtype = operand[0]->dtype;
    near_job j = {.loop = NULL, .numbers = NULL, .operands = op->operands};
    _Alignas(8) char read[SIMD_NUMBERS * 8];
    if (dtype >= SIMD_DTYPES || out->dtype != (op->answer == SIMD_TRUTH ? RL_BOOL : dtype)) return false;
    j.loop = op->loop[k->svc->isa][dtype];
    if (!j.loop || !rl_is_contiguous(out) || !numbers_read(dtype, numbers, read)) return false;
    for (int i = 0; i < j.operands; i++) {
        const rl_view *v = operand[i];
        if (v->dtype != dtype || !same_shape(v, out) || !rl_is_contiguous(v)) return false;
        j.p[1 + i] = rl_data(v, RL_READ);
    }
    j.numbers = read;
    j.size[0] = rl_itemsize(out->dtype), j.size[1] = rl_itemsize(dtype);
    j.p[0] = rl_data(out, RL_WRITE);
    k->svc->parallel(k, out->numel, op->ns, near_part, &j);
    return true;
}

RL_CHOOSER
rl_status simd_map(rl_call *k, const simd_elementwise_op *op, const double *numbers) {
    const rl_view *operand[SIMD_OPERANDS];
    if (!k->svc->isa) return RL_UNSUPPORTED;
    for (int i = 0; i < op->operands; i++) operand[i] = rl_tensor_arg(k, i);
    if (RL_LIKELY(near_run(k, op, operand, numbers))) return RL_OK;
    return simd_map_views(k, op, operand, numbers);
}
