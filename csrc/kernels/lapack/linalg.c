/* The operators on matrices with LAPACK's factorisations, where SciPy brought it and a matrix is large. */
#include "adapt.h"

/* LAPACK's calling convention: everything by address, columns, 32-bit sizes, work that it is asked for first.
 */
static int at_least_1(int64_t n) {
    return n > 1 ? (int)n : 1;
}
/* what a function answered when it was asked, which a float may have rounded down */
static int work_length(double want) {
    return (int)(want * (1 + 2e-7)) + 1;
}

#define T       float
#define NAME(x) x##_float
#define WIDE    0
#define FACTORS rl_lapack_float
#include "adapt_impl.inc"

#define T       double
#define NAME(x) x##_double
#define WIDE    1
#define FACTORS rl_lapack_double
#include "adapt_impl.inc"

/* What a job must have before anything but our own code is worth it; the dispatcher looks for SciPy at the
 * first call that has so many elements. */
RL_CHOOSER
static const rl_factors *lapack_for(const rl_call *k) {
    if (!rl_lapack_offered()) return NULL;
    for (int i = 0; i < k->n_arg && i < 3; i++) {
        const rl_view *v = rl_in(k, i);
        if (!v || v->ndim < 2 || !v->numel) continue;
        int64_t rows = v->shape[v->ndim - 2], cols = v->shape[v->ndim - 1];
        if (rows > RL_LAPACK_MAX || cols > RL_LAPACK_MAX) return NULL;
        if (rows * cols >= RL_LAPACK_ELEMENTS && rows > 1 && cols > 1)
            return v->dtype == RL_F64 ? &rl_lapack_double : v->dtype == RL_F32 ? &rl_lapack_float : NULL;
    }
    return NULL;
}

RL_CHOOSER
RL_KERNEL(lapack_linalg_inv) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_inv(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_solve) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_solve(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_det) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_det(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_slogdet) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_slogdet(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_lu_factor) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_lu_factor(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_lu) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_lu(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_lu_solve) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_lu_solve(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_cholesky) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_cholesky(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_cholesky_solve) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_cholesky_solve(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_cholesky_inverse) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_cholesky_inverse(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_solve_triangular) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_solve_triangular(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_ldl_factor) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_ldl_factor(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_ldl_solve) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_ldl_solve(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_qr) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_qr(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_geqrf) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_geqrf(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_householder) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_householder(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_ormqr) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_ormqr(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_eigh) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_eigh(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_svd) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_svd(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_eig) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_eig(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_lstsq) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_lstsq(k, f) : RL_UNSUPPORTED;
}
RL_CHOOSER
RL_KERNEL(lapack_linalg_matrix_exp) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_matrix_exp(k, f) : RL_UNSUPPORTED;
}

RL_CHOOSER
RL_KERNEL(lapack_linalg_pinv) {
    const rl_factors *f = lapack_for(k);
    return f ? rl_linalg_pinv(k, f) : RL_UNSUPPORTED;
}
