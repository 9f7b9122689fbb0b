/* Finds the elements that places of a grid fall among. Whoever includes this says GRID_TARGET and
 * GRID_NAME(f), and in which precision: GRID_REAL, what to compute in, GRID_ROUNDED(x), the result of one
 * operation, and GRID_FUSED, whether there are fused ones. GRID_DIMS_ALONE: the dims are joined elsewhere. */
#include "grid.h"
#include <math.h>

/* what a place is among in one dim */
typedef struct {
    int n;
    int64_t at[4];
    GRID_REAL weight[4], slope[4], bend[4]; /* the weights, and how they change with the place: once, twice */
} GRID_NAME(rl_grid_dim);

/* A product and a sum: one operation, but of halves. */
GRID_TARGET static GRID_REAL GRID_NAME(fused)(const rl_grid *g, GRID_REAL a, GRID_REAL b, GRID_REAL c) {
    if (GRID_FUSED) return GRID_ROUNDED(fma(a, b, c));
    return GRID_ROUNDED(GRID_ROUNDED(a * b) + c);
}

/* from -1 ... 1 to elements, in PyTorch's steps for images and for volumes; *slope: how fast */
GRID_TARGET static GRID_REAL GRID_NAME(scaled)(const rl_grid *g, int64_t size, GRID_REAL place,
                                               GRID_REAL *slope) {
    const GRID_REAL n = (GRID_REAL)(g->corners ? size - 1 : size), from_0 = GRID_ROUNDED(place + 1);
    *slope *= n / 2;
    if (g->dims == 2) return GRID_NAME(fused)(g, from_0, n / 2, g->corners ? 0 : (GRID_REAL)-0.5);
    return g->corners ? GRID_ROUNDED(from_0 / 2 * n) : GRID_ROUNDED(GRID_NAME(fused)(g, from_0, n, -1) / 2);
}

GRID_TARGET static GRID_REAL GRID_NAME(clipped)(GRID_REAL x, int64_t size, GRID_REAL *slope) {
    const GRID_REAL last = (GRID_REAL)(size - 1);
    if (x > 0 && x < last) return x;
    *slope = 0;
    return x > 0 ? last : 0; /* no number: the first */
}

/* as if mirrors stood at the edges */
GRID_TARGET static GRID_REAL GRID_NAME(reflected)(const rl_grid *g, GRID_REAL x, int64_t size,
                                                  GRID_REAL *slope) {
    const GRID_REAL low = g->corners ? 0 : (GRID_REAL)-0.5, span = (GRID_REAL)(g->corners ? size - 1 : size);
    if (span <= 0) {
        *slope = 0;
        return 0;
    }
    GRID_REAL away = GRID_ROUNDED(fabs(x - low)), rest = fmod(away, span);
    if (x < low) *slope = -*slope;
    if (fmod(floor((double)away / (double)span), 2.0) == 0) return GRID_ROUNDED(rest + low);
    *slope = -*slope;
    return GRID_ROUNDED(span - rest + low);
}

GRID_TARGET static GRID_REAL GRID_NAME(padded)(const rl_grid *g, GRID_REAL x, int64_t size,
                                               GRID_REAL *slope) {
    if (g->padding == GRID_ZEROS) return x;
    if (g->padding == GRID_REFLECTION) x = GRID_NAME(reflected)(g, x, size, slope);
    return GRID_NAME(clipped)(x, size, slope);
}

GRID_TARGET static int64_t GRID_NAME(index_of)(GRID_REAL x, int64_t size) {
    return x >= 0 && x < (GRID_REAL)size ? (int64_t)x : -1;
}

/* weights of the elements at -1, 0, 1, 2 of a place between 0 and 1 */
GRID_TARGET static void GRID_NAME(weigh_cubic)(GRID_REAL t, GRID_NAME(rl_grid_dim) * to) {
    const GRID_REAL a = (GRID_REAL)-0.75;
    for (int i = 0; i < 4; i++) {
        const GRID_REAL sign = i < 2 ? 1 : -1; /* x: how far it is */
        const GRID_REAL x = i < 2 ? t + (GRID_REAL)(1 - i) : (GRID_REAL)(i - 1) - t;
        if (i == 1 || i == 2) {
            to->weight[i] = ((a + 2) * x - (a + 3)) * x * x + 1;
            to->slope[i] = sign * (3 * (a + 2) * x - 2 * (a + 3)) * x;
            to->bend[i] = 6 * (a + 2) * x - 2 * (a + 3);
        } else {
            to->weight[i] = ((a * x - 5 * a) * x + 8 * a) * x - 4 * a;
            to->slope[i] = sign * ((3 * a * x - 10 * a) * x + 8 * a);
            to->bend[i] = 6 * a * x - 10 * a;
        }
    }
}

GRID_TARGET static void GRID_NAME(find_cubic)(const rl_grid *g, int64_t size, GRID_REAL x,
                                              GRID_NAME(rl_grid_dim) * to) {
    const GRID_REAL low = floor(x);
    GRID_REAL unused;
    GRID_NAME(weigh_cubic)(GRID_ROUNDED(x - low), to);
    to->n = 4;
    for (int i = 0; i < 4; i++)
        to->at[i] = GRID_NAME(index_of)(GRID_NAME(padded)(g, low + (GRID_REAL)(i - 1), size, &unused), size);
}

GRID_TARGET static void GRID_NAME(begin)(GRID_NAME(rl_grid_dim) * to, int n) {
    to->n = n;
    for (int i = 0; i < n; i++) {
        to->at[i] = 0;
        to->weight[i] = to->slope[i] = to->bend[i] = 0;
    }
}

GRID_TARGET static void GRID_NAME(find_along)(const rl_grid *g, int d, GRID_REAL place,
                                              GRID_NAME(rl_grid_dim) * to) {
    const int64_t size = g->size[d];
    GRID_REAL slope = 1, x = GRID_NAME(scaled)(g, size, place, &slope);
    if (g->mode == GRID_BICUBIC) {
        GRID_NAME(find_cubic)(g, size, x, to);
    } else {
        x = GRID_NAME(padded)(g, x, size, &slope);
        if (g->mode == GRID_NEAREST) {
            GRID_NAME(begin)(to, 1);
            to->at[0] = GRID_NAME(index_of)(rint(x), size);
            to->weight[0] = 1;
        } else {
            const GRID_REAL low = floor(x), part = GRID_ROUNDED(x - low);
            GRID_NAME(begin)(to, 2);
            to->weight[0] = 1 - part, to->weight[1] = part;
            to->slope[0] = -1, to->slope[1] = 1;
            to->at[0] = GRID_NAME(index_of)(low, size);
            to->at[1] = GRID_NAME(index_of)(low + 1, size);
        }
    }
    for (int i = 0; i < 4; i++) { /* a loop that unrolls, so that all of it can lie in registers */
        if (i >= to->n) continue;
        to->slope[i] *= slope;
        to->bend[i] *= slope * slope;
        if (to->at[i] >= 0) continue;
        /* outside; in planes what is no number shows, as in PyTorch */
        to->weight[i] = g->dims == 2 && g->mode != GRID_NEAREST ? to->weight[i] * 0 : 0;
        to->slope[i] = to->bend[i] = 0;
    }
}

#ifndef GRID_DIMS_ALONE
/* ---- of all dims ---- */
/* the product over the dims: of bends, slopes or weights, as often as the dim is among `by` */
GRID_TARGET static double GRID_NAME(product)(const rl_grid *g, const GRID_NAME(rl_grid_dim) * a, const int *i,
                                             int by, int by_too) {
    double all = 1;
    for (int d = 0; d < g->dims; d++) {
        const int times = (d == by) + (d == by_too);
        all *= (times == 2 ? a[d].bend : times ? a[d].slope : a[d].weight)[i[d]];
    }
    return all;
}

/* ... along a direction: the sum of what each dim contributes */
GRID_TARGET static double GRID_NAME(product_along)(const rl_grid *g, const GRID_NAME(rl_grid_dim) * a,
                                                   const int *i, int by, const double *direction) {
    double sum = 0;
    if (!direction) return GRID_NAME(product)(g, a, i, by, -1);
    for (int d = 0; d < g->dims; d++) sum += direction[d] * GRID_NAME(product)(g, a, i, by, d);
    return sum;
}

/* Weights alone, which is what most calls ask for. */
GRID_TARGET static void GRID_NAME(find_weights)(const rl_grid *g, const GRID_NAME(rl_grid_dim) * a,
                                                rl_grid_place *to) {
    const bool deep = g->dims == 3;
    to->n = 0;
    for (int z = 0; z < (deep ? a[2].n : 1); z++)
        for (int y = 0; y < a[1].n; y++) {
            const bool inside = a[1].at[y] >= 0 && !(deep && a[2].at[z] < 0);
            const int64_t at = a[1].at[y] * g->step[1] + (deep ? a[2].at[z] * g->step[2] : 0);
            const double weight = deep ? a[2].weight[z] * a[1].weight[y] : a[1].weight[y];
            for (int x = 0; x < a[0].n; x++) {
                to->at[to->n] = inside && a[0].at[x] >= 0 ? at + a[0].at[x] * g->step[0] : -1;
                to->weight[to->n++] = weight * a[0].weight[x];
            }
        }
}

GRID_TARGET static void GRID_NAME(grid_find)(const rl_grid *g, const double *at, const double *direction,
                                             bool slopes, rl_grid_place *to) {
    GRID_NAME(rl_grid_dim) a[3];
    int i[3] = {0, 0, 0};
    for (int d = 0; d < g->dims; d++) GRID_NAME(find_along)(g, d, at[d], &a[d]);
    if (!slopes && !direction) {
        GRID_NAME(find_weights)(g, a, to);
        return;
    }
    for (int n = 0;; n++) {
        bool inside = true;
        to->at[n] = 0;
        for (int d = 0; d < g->dims; d++) {
            inside &= a[d].at[i[d]] >= 0;
            to->at[n] += a[d].at[i[d]] * g->step[d];
        }
        if (!inside) to->at[n] = -1;
        to->weight[n] = GRID_NAME(product_along)(g, a, i, -1, direction);
        for (int d = 0; slopes && d < g->dims; d++)
            to->slope[d][n] = GRID_NAME(product_along)(g, a, i, d, direction);
        int d = 0;
        while (d < g->dims && ++i[d] == a[d].n) i[d++] = 0;
        if (d == g->dims) {
            to->n = n + 1;
            return;
        }
    }
}
#endif
