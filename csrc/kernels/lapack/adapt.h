/* The factorisations of kernels/shared/factors.h by LAPACK's functions. */
#ifndef RL_KERNELS_LAPACK_ADAPT_H
#define RL_KERNELS_LAPACK_ADAPT_H
#include "kernels/shared/factors.h"
#include "load.h"

/* X(name, library, C types of its arguments): T is float or double. */
#define RL_LAPACK_FUNCTIONS(X)                                                                               \
    X(getrf, lapack, int *, int *, T *, int *, int *, int *)                                                 \
    X(getrs, lapack, char *, int *, int *, T *, int *, int *, T *, int *, int *)                             \
    X(potrf, lapack, char *, int *, T *, int *, int *)                                                       \
    X(sytrf, lapack, char *, int *, T *, int *, int *, T *, int *, int *)                                    \
    X(sytrs, lapack, char *, int *, int *, T *, int *, int *, T *, int *, int *)                             \
    X(geqrf, lapack, int *, int *, T *, int *, T *, T *, int *, int *)                                       \
    X(orgqr, lapack, int *, int *, int *, T *, int *, T *, T *, int *, int *)                                \
    X(ormqr, lapack, char *, char *, int *, int *, int *, T *, int *, T *, T *, int *, T *, int *, int *)    \
    X(syevd, lapack, char *, char *, int *, T *, int *, T *, T *, int *, int *, int *, int *)                \
    X(gesdd, lapack, char *, int *, int *, T *, int *, T *, T *, int *, T *, int *, T *, int *, int *,       \
      int *)                                                                                                 \
    X(geev, lapack, char *, char *, int *, T *, int *, T *, T *, T *, int *, T *, int *, T *, int *, int *)  \
    X(trsm, blas, char *, char *, char *, char *, int *, int *, T *, T *, int *, T *, int *)                 \
    X(gemm, blas, char *, char *, int *, int *, int *, T *, T *, int *, T *, int *, T *, T *, int *)
enum {
#define X(name, ...) RL_LAPACK_##name,
    RL_LAPACK_FUNCTIONS(X)
#undef X
        RL_LAPACK_COUNT
};
/* [0]: of float, [1]: of double */
extern void *rl_lapack_function[2][RL_LAPACK_COUNT];
extern const rl_factors rl_lapack_float, rl_lapack_double;
bool rl_lapack_offered(void); /* are the functions there? */
#endif
