/* LAPACK's functions, which Python found: written once, under the GIL, read by any thread afterwards. */
#include "adapt.h"
#include <stdio.h>
#include <string.h>

void *rl_lapack_function[2][RL_LAPACK_COUNT];
static int offered;

static const struct {
    const char *name, *module, *types;
} functions[RL_LAPACK_COUNT] = {
#define X(name, library, ...) {#name, "scipy.linalg.cython_" #library, #__VA_ARGS__},
    RL_LAPACK_FUNCTIONS(X)
#undef X
};

/* "int *, T *" as "void (int *, __pyx_t_5scipy_6linalg_13cython_lapack_d *)" */
bool rl_lapack_want(int i, rl_lapack_wanted *f) {
    if (i >= 2 * RL_LAPACK_COUNT) return false;
    const char *types = functions[i % RL_LAPACK_COUNT].types, kind = i < RL_LAPACK_COUNT ? 's' : 'd';
    char *to = f->signature;
    size_t size = sizeof f->signature, at;
    f->module = functions[i % RL_LAPACK_COUNT].module;
    snprintf(f->name, sizeof f->name, "%c%s", kind, functions[i % RL_LAPACK_COUNT].name);
    const char *home = strstr(f->module, "blas") ? "11cython_blas" : "13cython_lapack";
    for (at = (size_t)snprintf(to, size, "void ("); *types && at < size; types++)
        at +=
            (size_t)(*types == 'T' ? snprintf(to + at, size - at, "__pyx_t_5scipy_6linalg_%s_%c", home, kind)
                                   : snprintf(to + at, size - at, "%c", *types));
    if (at < size) snprintf(to + at, size - at, ")");
    return true;
}

void rl_lapack_offer(int i, void *function) {
    rl_lapack_function[i / RL_LAPACK_COUNT][i % RL_LAPACK_COUNT] = function;
    if (function && i == 2 * RL_LAPACK_COUNT - 1) __atomic_store_n(&offered, 1, __ATOMIC_RELEASE);
}

bool rl_lapack_offered(void) {
    return __atomic_load_n(&offered, __ATOMIC_ACQUIRE);
}
