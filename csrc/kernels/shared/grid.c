/* Note [Grid points], in the arithmetic that PyTorch has for each dtype. */
#include "grid.h"

#define GRID_TARGET
#define GRID_REAL       double
#define GRID_NAME(f)    f##_any
#define GRID_ROUNDED(x) rl_rounded(g->dtype, x) /* one operation in the picture's precision */
#define GRID_FUSED      (g->dtype == RL_F32 || g->dtype == RL_F64)
#include "grid_impl.inc"

rl_grid rl_grid_read(const rl_call *k, const rl_view *picture, int arg) {
    rl_grid g = {
        .mode = (int)k->arg[arg].u.i, .padding = (int)k->arg[arg + 1].u.i, .dims = picture->ndim - 2};
    g.corners = k->arg[arg + 2].u.i != 0;
    g.dtype = picture->dtype;
    for (int d = 0; d < g.dims; d++) g.size[d] = picture->shape[picture->ndim - 1 - d];
    return g;
}

void rl_grid_find(const rl_grid *g, const double *at, const double *direction, bool slopes,
                  rl_grid_place *to) {
    grid_find_any(g, at, direction, slopes, to);
}
