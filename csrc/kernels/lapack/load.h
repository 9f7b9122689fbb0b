/* LAPACK at run time: functions that SciPy has pointers to. */
#ifndef RL_KERNELS_LAPACK_LOAD_H
#define RL_KERNELS_LAPACK_LOAD_H
#include "kernel_abi/kernel.h"

/* Matrices of fewer elements stay with our own code; with more rows or columns, LAPACK's work would have more
 * elements than its 32-bit integers count. */
enum { RL_LAPACK_ELEMENTS = 48 * 48, RL_LAPACK_MAX = 30000 };
/* Function number i: its name ("dgetrf"), the module that has it, and its signature as SciPy writes it, with
 * "d" or "s" in the words of its types. False after the last one. */
typedef struct {
    char name[16], signature[512];
    const char *module;
} rl_lapack_wanted;
bool rl_lapack_want(int i, rl_lapack_wanted *f);
void rl_lapack_offer(int i, void *function); /* under the GIL; they serve once the last one is there */
#endif
