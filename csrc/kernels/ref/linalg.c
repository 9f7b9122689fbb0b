/* The operators on matrices with our own factorisations. */
#include "linalg.h"

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
    .product = rl_own_product,
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
