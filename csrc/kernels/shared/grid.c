/* Note [Places of a grid], in PyTorch's arithmetic. */
#include "grid.h"
#include "contract/half.h"
#include <math.h>

/* ---- of one dim ---- */
typedef struct {
    int n;
    int64_t at[4];
    double weight[4], slope[4], bend[4]; /* how the weights change with the place: once, twice */
} along;

rl_grid rl_grid_read(const rl_call *k, const rl_view *picture, int arg) {
    rl_grid g = {
        .mode = (int)k->arg[arg].u.i, .padding = (int)k->arg[arg + 1].u.i, .dims = picture->ndim - 2};
    g.corners = k->arg[arg + 2].u.i != 0;
    g.dtype = picture->dtype;
    for (int d = 0; d < g.dims; d++) g.size[d] = picture->shape[picture->ndim - 1 - d];
    return g;
}

/* the result of one operation in the picture's precision */
static double rounded(const rl_grid *g, double x) {
    switch (g->dtype) {
    case RL_F64: return x;
    case RL_F16: return (double)rl_from_half(rl_to_half((float)x));
    case RL_BF16: return (double)rl_from_bfloat(rl_to_bfloat((float)x));
    default: return (double)(float)x;
    }
}

/* A product and a sum: one operation, but of halves. */
static double fused(const rl_grid *g, double a, double b, double c) {
    if (g->dtype == RL_F32 || g->dtype == RL_F64) return rounded(g, fma(a, b, c));
    return rounded(g, rounded(g, a * b) + c);
}

/* from -1 ... 1 to elements, in PyTorch's steps for images and for volumes; *slope: how fast */
static double scaled(const rl_grid *g, int64_t size, double place, double *slope) {
    const double n = (double)(g->corners ? size - 1 : size), from_0 = rounded(g, place + 1);
    *slope *= n / 2;
    if (g->dims == 2) return fused(g, from_0, n / 2, g->corners ? 0 : -0.5);
    return g->corners ? rounded(g, from_0 / 2 * n) : rounded(g, fused(g, from_0, n, -1) / 2);
}

static double clipped(double x, int64_t size, double *slope) {
    const double last = (double)(size - 1);
    if (x > 0 && x < last) return x;
    *slope = 0;
    return x > 0 ? last : 0; /* no number: the first */
}

/* as if mirrors stood at the edges */
static double reflected(const rl_grid *g, double x, int64_t size, double *slope) {
    const double low = g->corners ? 0 : -0.5, span = (double)(g->corners ? size - 1 : size);
    if (span <= 0) {
        *slope = 0;
        return 0;
    }
    double away = rounded(g, fabs(x - low)), rest = fmod(away, span);
    if (x < low) *slope = -*slope;
    if (fmod(floor(away / span), 2) == 0) return rounded(g, rest + low);
    *slope = -*slope;
    return rounded(g, span - rest + low);
}

static double padded(const rl_grid *g, double x, int64_t size, double *slope) {
    if (g->padding == GRID_ZEROS) return x;
    if (g->padding == GRID_REFLECTION) x = reflected(g, x, size, slope);
    return clipped(x, size, slope);
}

static int64_t index_of(double x, int64_t size) {
    return x >= 0 && x < (double)size ? (int64_t)x : -1;
}

/* weights of the elements at -1, 0, 1, 2 of a place between 0 and 1 */
static void weigh_cubic(double t, along *to) {
    const double a = -0.75;
    for (int i = 0; i < 4; i++) {
        const double sign = i < 2 ? 1 : -1, x = i < 2 ? t + 1 - i : i - 1 - t; /* how far it is */
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

static void find_cubic(const rl_grid *g, int64_t size, double x, along *to) {
    const double low = floor(x);
    double unused;
    weigh_cubic(rounded(g, x - low), to);
    to->n = 4;
    for (int i = 0; i < 4; i++) to->at[i] = index_of(padded(g, low + i - 1, size, &unused), size);
}

static void find_along(const rl_grid *g, int d, double place, along *to) {
    const int64_t size = g->size[d];
    double slope = 1, x = scaled(g, size, place, &slope);
    if (g->mode == GRID_BICUBIC) {
        find_cubic(g, size, x, to);
    } else {
        x = padded(g, x, size, &slope);
        if (g->mode == GRID_NEAREST) {
            *to = (along){.n = 1, .at = {index_of(rint(x), size)}, .weight = {1}};
        } else {
            const double low = floor(x), part = rounded(g, x - low);
            *to = (along){.n = 2, .weight = {1 - part, part}, .slope = {-1, 1}};
            to->at[0] = index_of(low, size);
            to->at[1] = index_of(low + 1, size);
        }
    }
    for (int i = 0; i < to->n; i++) {
        to->slope[i] *= slope;
        to->bend[i] *= slope * slope;
        if (to->at[i] >= 0) continue;
        /* outside; in planes what is no number shows, as in PyTorch */
        to->weight[i] = g->dims == 2 && g->mode != GRID_NEAREST ? to->weight[i] * 0 : 0;
        to->slope[i] = to->bend[i] = 0;
    }
}

/* ---- of all dims ---- */
/* the product over the dims: of bends, slopes or weights, as often as the dim is among `by` */
static double product(const rl_grid *g, const along *a, const int *i, int by, int by_too) {
    double all = 1;
    for (int d = 0; d < g->dims; d++) {
        const int times = (d == by) + (d == by_too);
        all *= (times == 2 ? a[d].bend : times ? a[d].slope : a[d].weight)[i[d]];
    }
    return all;
}

/* ... along a direction: the sum of what each dim contributes */
static double product_along(const rl_grid *g, const along *a, const int *i, int by, const double *direction) {
    double sum = 0;
    if (!direction) return product(g, a, i, by, -1);
    for (int d = 0; d < g->dims; d++) sum += direction[d] * product(g, a, i, by, d);
    return sum;
}

/* Weights alone, which is what most calls ask for. */
static void find_weights(const rl_grid *g, const along *a, rl_grid_place *to) {
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

void rl_grid_find(const rl_grid *g, const double *at, const double *direction, bool slopes,
                  rl_grid_place *to) {
    along a[3];
    int i[3] = {0, 0, 0};
    for (int d = 0; d < g->dims; d++) find_along(g, d, at[d], &a[d]);
    if (!slopes && !direction) {
        find_weights(g, a, to);
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
        to->weight[n] = product_along(g, a, i, -1, direction);
        for (int d = 0; slopes && d < g->dims; d++) to->slope[d][n] = product_along(g, a, i, d, direction);
        int d = 0;
        while (d < g->dims && ++i[d] == a[d].n) i[d++] = 0;
        if (d == g->dims) {
            to->n = n + 1;
            return;
        }
    }
}
