/* Distances between rows, many at once: Note [Distances] in kernels/shared/distance.h. */
#ifndef RL_KERNELS_SIMD_DISTANCE_H
#define RL_KERNELS_SIMD_DISTANCE_H
#include "common.h"
#include "kernels/shared/distance.h"

/* Note [Distance tiles]
 *
 *              panel: NR rows of second, turned,     a task is one panel against CHUNK rows of first;
 *                     DEPTH numbers at a time        a tile of rows by NR distances stays in registers
 *   first      ┌───┬───┬
 *   CHUNK rows │   │   │
 *              ├───┼───┼ */
enum { DISTANCE_ROWS = 4, DISTANCE_DEPTH = 512, DISTANCE_CHUNK = 256 };

typedef struct {
    rl_distances d;
    rl_rooms rooms; /* a panel for each thread */
    int64_t chunks, panels;
} distance_job;
#endif
