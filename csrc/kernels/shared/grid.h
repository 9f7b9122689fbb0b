/* Maps a grid point to coordinates in the image. */
#ifndef RL_KERNELS_SHARED_GRID_H
#define RL_KERNELS_SHARED_GRID_H
#include "kernel_abi/kernel.h"

/* Note [Grid points]
 * A grid has for each element of the result a place in the picture, x (along the width) before y and z, -1 to
 * 1 from one edge to the other. In each dim it falls among one, two or four elements with weights; those of
 * the dims multiply. A place may be anything, infinite or no number: what lies outside has index -1 and
 * counts as 0. */
enum { GRID_BILINEAR, GRID_NEAREST, GRID_BICUBIC };
enum { GRID_ZEROS, GRID_BORDER, GRID_REFLECTION };
enum { GRID_MAX = 16 }; /* elements that one place falls among */

typedef struct {
    int mode, padding, dims, dtype;
    bool corners;
    int64_t size[3], step[3]; /* of the picture: along x, y, z; steps in whatever unit `at` shall have */
} rl_grid;
typedef struct {
    int n;
    int64_t at[GRID_MAX];
    double weight[GRID_MAX];
    double slope[3][GRID_MAX]; /* how the weights change with x, y, z */
} rl_grid_place;

/* Of a picture (N, C, ..., W) without steps; `arg` says the mode, behind it stand padding and align_corners.
 */
rl_grid rl_grid_read(const rl_call *k, const rl_view *picture, int arg);
/* The elements of a place. With a direction, how the weights and their slopes change along it stands in their
 * place. Slopes only if asked for. */
void rl_grid_find(const rl_grid *g, const double *at, const double *direction, bool slopes,
                  rl_grid_place *to);
#endif
