/* Factorisations of dense matrices, and the operators that stand on them.
 *
 *   ref_linalg_inv ───┐                                     ┌─ ref's own, in double (kernels/ref/linalg_*.c)
 *                     ├─► rl_linalg_inv(k, factors) ────────┤
 *   lapack_linalg_inv ┘   batches, copies, texts of errors  └─ LAPACK's, through SciPy   (kernels/lapack)
 *
 * Matrices lie column by column, without gaps: element (i, j) of m rows is a[i + j * m]. All of a call is
 * float or double: the call's dtype, or double where rl_factors.wide. */
#ifndef RL_KERNELS_SHARED_FACTORS_H
#define RL_KERNELS_SHARED_FACTORS_H
#include "kernel_abi/kernel.h"

typedef struct rl_job rl_job;
/* What answers int64_t answers LAPACK's info: 0, or what went wrong. Pivots count from 1, as LAPACK's. */
typedef struct {
    bool wide;
    /* a (m x n) becomes L below the diagonal and U; row i was swapped with row pivots[i] */
    int64_t (*lu)(rl_job *j, int64_t m, int64_t n, void *a, int *pivots);
    /* b (n x many) becomes the solution of A X = B, or of A^T X = B */
    void (*lu_solve)(rl_job *j, bool turned, int64_t n, int64_t many, const void *lu, const int *pivots,
                     void *b);
    /* b (m x n) becomes the solution of A X = B (left) or X A = B; a has ld rows, of which the first count */
    void (*triangle)(rl_job *j, bool left, bool upper, bool turned, bool unit, int64_t m, int64_t n,
                     const void *a, int64_t ld, void *b);
    /* one triangle of a becomes its factor; the other one is neither read nor written */
    int64_t (*cholesky)(rl_job *j, bool upper, int64_t n, void *a);
    /* a symmetric, its lower triangle: Bunch and Kaufman's factors */
    int64_t (*ldl)(rl_job *j, int64_t n, void *a, int *pivots);
    void (*ldl_solve)(rl_job *j, int64_t n, int64_t many, const void *a, const int *pivots, void *b);
    /* a becomes R and, below it, the vectors of the reflections H_i = I - tau_i v v' */
    void (*qr)(rl_job *j, int64_t m, int64_t n, void *a, void *tau);
    /* a (m x n, n <= m) becomes the first n columns of H_0 ... H_(count-1) */
    void (*q_form)(rl_job *j, int64_t m, int64_t n, int64_t count, void *a, const void *tau);
    /* c (m x n) becomes Q c, c Q or those with Q^T; the vectors are the first `count` columns of a, ld rows
     */
    void (*q_apply)(rl_job *j, bool left, bool turned, int64_t m, int64_t n, int64_t count, const void *a,
                    int64_t ld, const void *tau, void *c);
    /* of the lower or upper triangle of a, which becomes the eigenvectors (if wanted); w ascends */
    int64_t (*eigh)(rl_job *j, bool vectors, bool upper, int64_t n, void *a, void *w);
    /* a is destroyed. u: m x nu, vt: nv x n, where nu and nv are all or as many as s; u NULL: neither */
    int64_t (*svd)(rl_job *j, bool full, int64_t m, int64_t n, void *a, void *s, void *u, void *vt);
    /* a is destroyed; v NULL: only values. A pair's vectors are the columns v_i +- i v_(i+1), as LAPACK's */
    int64_t (*eig)(rl_job *j, int64_t n, void *a, void *real, void *imaginary, void *v);
    /* c (m x n) = a b, where a (m x count) or its turned storage, b (count x n) the same */
    void (*product)(rl_job *j, bool transpose_a, bool transpose_b, int64_t m, int64_t n, int64_t count,
                    const void *a, const void *b, void *c);
} rl_factors;

/* One call's work on its matrices, one after the other. */
struct rl_job {
    rl_call *k;
    const rl_factors *f;
    int dtype; /* of the computation */
    int64_t item;
    void *work; /* what the factorisation used last, of so many bytes */
    int64_t work_bytes;
    bool failed; /* no memory: reported */
};
/* Memory for factorisations that lasts until they ask for some again; NULL without memory. */
char *rl_job_rooms(rl_job *j, const rl_layout *l); /* one room */
void *rl_job_work(rl_job *j, rl_count n, int64_t itemsize);
static inline double rl_job_get(const rl_job *j, const void *a, int64_t i) {
    return j->dtype == RL_F64 ? ((const double *)a)[i] : (double)((const float *)a)[i];
}
static inline void rl_job_put(const rl_job *j, void *a, int64_t i, double x) {
    if (j->dtype == RL_F64)
        ((double *)a)[i] = x;
    else
        ((float *)a)[i] = (float)x;
}
static inline void *rl_job_at(const rl_job *j, const void *a, int64_t i) {
    return (char *)a + i * j->item;
}

/* X(name): rl_linalg_<name>(k, factors), the kernel of a family of operators */
#define RL_LINALG_KERNELS(X)                                                                                 \
    X(inv)                                                                                                   \
    X(solve)                                                                                                 \
    X(det)                                                                                                   \
    X(slogdet)                                                                                               \
    X(lu_factor)                                                                                             \
    X(lu)                                                                                                    \
    X(lu_solve)                                                                                              \
    X(cholesky)                                                                                              \
    X(cholesky_solve)                                                                                        \
    X(cholesky_inverse)                                                                                      \
    X(solve_triangular)                                                                                      \
    X(ldl_factor)                                                                                            \
    X(ldl_solve)                                                                                             \
    X(qr)                                                                                                    \
    X(geqrf)                                                                                                 \
    X(householder)                                                                                           \
    X(ormqr)                                                                                                 \
    X(eigh)                                                                                                  \
    X(svd)                                                                                                   \
    X(eig)                                                                                                   \
    X(lstsq)                                                                                                 \
    X(pinv)                                                                                                  \
    X(matrix_exp)
#define X(name) rl_status rl_linalg_##name(rl_call *k, const rl_factors *f);
RL_LINALG_KERNELS(X)
#undef X
#endif
