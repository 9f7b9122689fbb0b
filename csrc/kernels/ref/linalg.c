/* Operators on matrices with our own factorisations, and those that need none: lu_unpack, cross, norms. */
#include "linalg.h"
#include "loops.h"
#include "reduce.h"
#include <math.h>
#include <string.h>

/* ---- the operators on matrices with our own factorisations ---- */
static const rl_factors own = {
    .wide = true,
    .lu = rl_own_lu,
    .lu_solve = rl_own_lu_solve,
    .triangle = rl_own_triangle,
    .cholesky = rl_own_cholesky,
    .ldl = rl_own_ldl,
    .ldl_solve = rl_own_ldl_solve,
    .qr = rl_own_qr,
    .q_form = rl_own_q_form,
    .q_apply = rl_own_q_apply,
    .eigh = rl_own_eigh,
    .svd = rl_own_svd,
    .eig = rl_own_eig,
    .product = rl_own_gemm,
};

RL_KERNEL(ref_linalg_inv) {
    return rl_linalg_inv(k, &own);
}

RL_KERNEL(ref_linalg_solve) {
    return rl_linalg_solve(k, &own);
}

RL_KERNEL(ref_linalg_det) {
    return rl_linalg_det(k, &own);
}

RL_KERNEL(ref_linalg_slogdet) {
    return rl_linalg_slogdet(k, &own);
}

RL_KERNEL(ref_linalg_lu_factor) {
    return rl_linalg_lu_factor(k, &own);
}

RL_KERNEL(ref_linalg_lu) {
    return rl_linalg_lu(k, &own);
}

RL_KERNEL(ref_linalg_lu_solve) {
    return rl_linalg_lu_solve(k, &own);
}

RL_KERNEL(ref_linalg_cholesky) {
    return rl_linalg_cholesky(k, &own);
}

RL_KERNEL(ref_linalg_cholesky_solve) {
    return rl_linalg_cholesky_solve(k, &own);
}

RL_KERNEL(ref_linalg_cholesky_inverse) {
    return rl_linalg_cholesky_inverse(k, &own);
}

RL_KERNEL(ref_linalg_solve_triangular) {
    return rl_linalg_solve_triangular(k, &own);
}

RL_KERNEL(ref_linalg_ldl_factor) {
    return rl_linalg_ldl_factor(k, &own);
}

RL_KERNEL(ref_linalg_ldl_solve) {
    return rl_linalg_ldl_solve(k, &own);
}

RL_KERNEL(ref_linalg_qr) {
    return rl_linalg_qr(k, &own);
}

RL_KERNEL(ref_linalg_geqrf) {
    return rl_linalg_geqrf(k, &own);
}

RL_KERNEL(ref_linalg_householder) {
    return rl_linalg_householder(k, &own);
}

RL_KERNEL(ref_linalg_ormqr) {
    return rl_linalg_ormqr(k, &own);
}

RL_KERNEL(ref_linalg_eigh) {
    return rl_linalg_eigh(k, &own);
}

RL_KERNEL(ref_linalg_svd) {
    return rl_linalg_svd(k, &own);
}

RL_KERNEL(ref_linalg_eig) {
    return rl_linalg_eig(k, &own);
}

RL_KERNEL(ref_linalg_lstsq) {
    return rl_linalg_lstsq(k, &own);
}

RL_KERNEL(ref_linalg_matrix_exp) {
    return rl_linalg_matrix_exp(k, &own);
}

RL_KERNEL(ref_linalg_pinv) {
    return rl_linalg_pinv(k, &own);
}

/* What needs no factorisation: P, L and U out of their packed form, and products of vectors of three. */
/* ---- lu_unpack ---- */
typedef struct {
    const rl_view *v;
    char *at; /* of one matrix or vector of a batch */
    int64_t item;
} part;

static part part_of(const rl_view *v, int own, int64_t i, int mode) {
    part p = {v, rl_data(v, mode), rl_itemsize(v->dtype)};
    for (int d = v->ndim - own - 1; d >= 0; d--) {
        p.at += i % v->shape[d] * v->strides[d] * p.item;
        i /= v->shape[d];
    }
    return p;
}
static char *part_at(const part *p, int64_t row, int64_t col) {
    const rl_view *v = p->v;
    return p->at + (row * v->strides[v->ndim - 2] + col * v->strides[v->ndim - 1]) * p->item;
}

/* pivots may change meanwhile: each is looked at once, and what is outside stays where it is */
static bool order_read(const part *pivots, int64_t n, int64_t rows, int64_t *order) {
    const int64_t step = pivots->v->strides[pivots->v->ndim - 1] * pivots->item;
    for (int64_t i = 0; i < rows; i++) order[i] = i;
    for (int64_t i = 0; i < n; i++) {
        int64_t other =
                    (int64_t)__atomic_load_n((const int32_t *)(pivots->at + i * step), __ATOMIC_RELAXED) - 1,
                row = order[i];
        if (other < 0 || other >= rows) return false;
        order[i] = order[other];
        order[other] = row;
    }
    return true;
}

static void triangle_copy(const part *from, const part *to, int64_t rows, int64_t cols, bool upper) {
    for (int64_t r = 0; r < rows; r++)
        for (int64_t c = 0; c < cols; c++) {
            if (upper ? c >= r : c < r)
                memcpy(part_at(to, r, c), part_at(from, r, c), (size_t)to->item);
            else
                rl_row_put_double(to->v->dtype, part_at(to, r, c), !upper && c == r);
        }
}

RL_KERNEL(ref_lu_unpack) {
    const rl_view *v = k->arg[0].u.t, *pivots = k->arg[1].u.t;
    const int64_t m = v->shape[v->ndim - 2], n = v->shape[v->ndim - 1], least = m < n ? m : n;
    if (!k->out[0]->numel && !k->out[1]->numel && !k->out[2]->numel) return RL_OK;
    const bool data = k->arg[2].u.i != 0, turns = k->arg[3].u.i != 0;
    int64_t count = 1, *order = k->svc->scratch(k, RL_COUNT(m), sizeof *order);
    for (int d = 0; d < v->ndim - 2; d++) count *= v->shape[d];
    if (!order) return RL_FAIL;
    for (int64_t i = 0; i < count; i++) {
        if (turns) {
            part p = part_of(pivots, 1, i, RL_READ), to = part_of(k->out[0], 2, i, RL_WRITE);
            if (!order_read(&p, least, m, order))
                return rl_fail(
                    k, RL_RUNTIME,
                    "torch.lu_unpack: LU_pivots must be greater than 0 and not more than the rows");
            for (int64_t r = 0; r < m; r++)
                for (int64_t c = 0; c < m; c++)
                    rl_row_put_double(to.v->dtype, part_at(&to, order[r], c), c == r);
        }
        if (!data) continue;
        part from = part_of(v, 2, i, RL_READ), l = part_of(k->out[1], 2, i, RL_WRITE),
             u = part_of(k->out[2], 2, i, RL_WRITE);
        triangle_copy(&from, &l, m, least, false);
        triangle_copy(&from, &u, least, n, true);
    }
    return RL_OK;
}

/* ---- cross ---- */
#define CROSS_LOOP(D, T, C_, LOAD, STORE, name)                                                              \
    static void name##_##D(char *const *p, const int64_t *step, int64_t n, const void *ctx) {                \
        const int64_t *side = ctx; /* from one component to the next, of each operand */                     \
        for (int64_t i = 0; i < n; i++) {                                                                    \
            const char *x = p[1] + i * step[1], *y = p[2] + i * step[2];                                     \
            char *o = p[0] + i * step[0];                                                                    \
            C_ a[3], b[3];                                                                                   \
            for (int c = 0; c < 3; c++) {                                                                    \
                a[c] = LOAD(*(const T *)(x + c * side[1]));                                                  \
                b[c] = LOAD(*(const T *)(y + c * side[2]));                                                  \
            }                                                                                                \
            for (int c = 0; c < 3; c++) {                                                                    \
                int d = (c + 1) % 3, e = (c + 2) % 3;                                                        \
                *(T *)(o + c * side[0]) = STORE(CROSS_OF(a[d], b[e], a[e], b[d]));                           \
            }                                                                                                \
        }                                                                                                    \
    }
#define CROSS_OF(a, b, c, d) ((a) * (b) - (c) * (d))
RL_EACH_FLOAT(CROSS_LOOP, cross)
#undef CROSS_OF
#define CROSS_OF(a, b, c, d) RL_WRAP(RL_WRAP(a, *, b), -, RL_WRAP(c, *, d))
RL_EACH_INT(CROSS_LOOP, cross)

RL_KERNEL(ref_linalg_cross) {
    static const rl_inner_loop loops[RL_NDTYPES] = {RL_EACH_FLOAT(RL_ENTRY, cross)
                                                        RL_EACH_INT(RL_ENTRY, cross)};
    const int dim = (int)k->attr[0];
    const rl_view *of[3] = {k->out[0], k->arg[0].u.t, k->arg[1].u.t};
    int64_t side[3];
    rl_iter w;
    rl_iter_begin(&w, of[0], RL_WRITE);
    for (int i = 0; i < 3; i++) {
        side[i] = of[i]->strides[dim] * rl_itemsize(of[i]->dtype);
        if (i) rl_iter_add(&w, of[i]);
    }
    if (of[0]->numel == 0) return RL_OK;
    rl_iter_drop(&w, 1ull << dim);
    rl_iter_merge(&w);
    rl_iter_parallel(k, &w, 5, loops[of[0]->dtype], side);
    return RL_OK;
}

/* ---- norms of vectors of any order ---- */
static void zero_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = 0;
}
static void infinite_start(rl_tile *t) {
    for (int j = 0; j < RL_TILE; j++) t->a[j] = INFINITY;
}

#define NORM_FOLD(name, expr)                                                                                \
    static void name(rl_tile *t, const double *x, int64_t rows, int64_t first) {                             \
        (void)first;                                                                                         \
        for (int64_t r = 0; r < rows; r++)                                                                   \
            for (int j = 0; j < t->width; j++) {                                                             \
                const double v = fabs(x[r * t->width + j]), old = t->a[j];                                   \
                t->a[j] = expr;                                                                              \
            }                                                                                                \
    }
NORM_FOLD(count_fold, (old + (v != 0)))
NORM_FOLD(sum_fold, (old + v))
NORM_FOLD(square_fold, (old + v * v))
NORM_FOLD(max_fold, (v > old || v != v ? v : old))
NORM_FOLD(min_fold, (v < old || v != v ? v : old))

/* The first pass only brings the order, which finish() knows: it waits in t->b, the mark in t->at. */
static void power_fold(rl_tile *t, const double *x, int64_t rows, int64_t first) {
    (void)first;
    if (!t->at[0]) return;
    for (int64_t r = 0; r < rows; r++)
        for (int j = 0; j < t->width; j++) t->a[j] += pow(fabs(x[r * t->width + j]), t->b[0]);
}

static bool power_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)count;
    t->b[0] = order;
    t->at[0] = 1;
    for (int j = 0; pass == 1 && j < t->width; j++) t->a[j] = pow(t->a[j], 1 / order);
    return pass == 0;
}

static bool root_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)count, (void)pass, (void)order;
    for (int j = 0; j < t->width; j++) t->a[j] = sqrt(t->a[j]);
    return false;
}

static bool plain_finish(rl_tile *t, int64_t count, int pass, double order) {
    (void)t, (void)count, (void)pass, (void)order;
    return false;
}

RL_KERNEL(ref_vector_norm) {
    static const rl_reduction count = {zero_start, count_fold, NULL, plain_finish, true, false},
                              sum = {zero_start, sum_fold, NULL, plain_finish, true, false},
                              square = {zero_start, square_fold, NULL, root_finish, true, false},
                              most = {zero_start, max_fold, NULL, plain_finish, true, false},
                              least = {infinite_start, min_fold, NULL, plain_finish, true, false},
                              power = {zero_start, power_fold, NULL, power_finish, true, false};
    double order = k->arg[1].tag == RL_NONE || k->arg[1].tag == RL_STRING ? 2 : rl_num(k, 1);
    const rl_reduction *how = order == 0           ? &count
                              : order == 1         ? &sum
                              : order == 2         ? &square
                              : order == INFINITY  ? &most
                              : order == -INFINITY ? &least
                                                   : &power;
    return rl_reduce(k, how, order);
}
