/* What lies where in scratch memory. */
#ifndef RL_KERNEL_ABI_LAYOUT_H
#define RL_KERNEL_ABI_LAYOUT_H
#include "count.h"
#include <stdbool.h>
#include <stddef.h>

/* Note [Layouts]
 * Scratch memory with several arrays in it, or with a room for each thread, is described in one place: a
 * function x_layout() adds the parts of a room, which gives their offsets, and their sum is the size that is
 * asked for.
 *
 *     room 0                       room 1
 *     ├── part 0 ─┤ ├─ part 1 ─┤   ├── part 0 ─┤ ├─ part 1 ─┤      parts begin at multiples of 64 bytes
 *     └─ rl_rooms.base             └─ rl_room(&rooms, 1)
 *
 * Nothing else computes a size or an offset. A single array needs no layout: it is one svc->scratch. Checked
 * builds look whether something was written behind a part; with RUSHLIGHT_FENCE every part of every room, and
 * every array, ends at a page of its own that nobody may touch. */
enum { RL_MAX_PARTS = 8 };
typedef struct rl_layout rl_layout;
struct rl_layout {
    rl_count size;                                 /* bytes of a room so far */
    int64_t (*fenced)(rl_layout *l, rl_count n);   /* adds n bytes between fences; NULL: there are none */
    int n_parts;                                   /* ... of which part i is */
    int64_t at[RL_MAX_PARTS], bytes[RL_MAX_PARTS]; /* ... at[i], bytes[i] */
};
/* The offset of another n items. Too many of them show in `size`, for which there will be no memory. */
static inline int64_t rl_layout_add(rl_layout *l, rl_count n, int64_t itemsize) {
    const rl_count bytes = rl_count_times(n, itemsize);
    if (__builtin_expect(l->fenced != NULL, 0)) return l->fenced(l, bytes);
    const int64_t at = l->size.n;
    l->size = rl_count_round_up(rl_count_plus(l->size, bytes.n), 64);
    return at;
}

/* Rooms of one layout, `step` bytes from one to the next. */
typedef struct {
    char *base;
    int64_t step;
} rl_rooms;
static inline char *rl_room(const rl_rooms *r, int64_t i) {
    return r->base + i * r->step;
}
#endif
