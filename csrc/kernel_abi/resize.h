/* What the shape rules of resizing leave in attr[] for the kernels. */
#ifndef RL_KERNEL_ABI_RESIZE_H
#define RL_KERNEL_ABI_RESIZE_H
#include "kernel.h"

typedef enum {
    RL_RESIZE_NEAREST,
    RL_RESIZE_EXACT, /* nearest, from the middle of an output element */
    RL_RESIZE_LINEAR,
    RL_RESIZE_CUBIC,
    RL_RESIZE_LINEAR_AA, /* the filters grow with the step: antialiased */
    RL_RESIZE_CUBIC_AA,
    RL_RESIZE_LANCZOS_AA,
} rl_resize_mode;

/* Triples are depth, height and width; what an operator lacks has size 1 on both sides. */
typedef struct {
    int64_t mode, spatial; /* how many of the three the operator has: the last ones */
    int64_t corners;       /* the middles of corner elements meet, not the corners */
    int64_t snaps;         /* nearest: sizes that are equal or double are so whatever the factor says */
    int64_t back;          /* a gradient: argument 0 has the output's size, the result the input's */
    double factor[3];      /* output for input elements, as the caller said; 0: what the sizes say */
} rl_resize;
/* a negative size: RL_MAX_ATTR is too small for the layout */
typedef char rl_resize_fits[sizeof(rl_resize) <= RL_MAX_ATTR * sizeof(int64_t) ? 1 : -1];

static inline const rl_resize *rl_resize_of(const rl_call *k) {
    return (const rl_resize *)k->attr;
}
static inline rl_resize *rl_resize_made(rl_call *k) { /* the shape rule writes it */
    return (rl_resize *)k->attr;
}
#endif
