/* oneDNN at run time: the library, and a cache of its primitives.
 *
 *   rl_dnnl_offer(path)                            (where it is: nothing is opened yet)
 *   rl_dnnl_open() ──► api, engine                 (once, by the first kernel that is about to run it;
 *                                                   where that fails, every dnnl_ kernel refuses)
 *   kernel ──► rl_dnnl_spec ──► plan ──► reorder input ─► primitive ─► reorder output
 *              (shapes)          │
 *                                └─ cache: SETS sets of WAYS plans, the oldest idle one of a set gives way
 */
#ifndef RL_KERNELS_DNNL_LOAD_H
#define RL_KERNELS_DNNL_LOAD_H
#include "kernel_abi/kernel.h"

/* Any thread may call these, with or without the GIL. */
void rl_dnnl_offer(const char *path); /* "libdnnl.so.3" or a full name; the first one counts */
bool rl_dnnl_open(void);              /* do dnnl_ kernels serve? The library is opened at the first call */
const char *rl_dnnl_reason(void);     /* why rl_dnnl_open answered false; NULL before that */

typedef struct {
    const char *path; /* the file, as the dynamic linker knows it */
    int major, minor, patch;
} rl_dnnl_about;
bool rl_dnnl_describe(rl_dnnl_about *about); /* false unless it is open */

enum { RL_DNNL_CONV = 1, RL_DNNL_LINEAR = 2 };
/* All of it is the key of the cache: set every field, leave unused dims 0. */
typedef struct {
    int64_t kind, ndim, weight_ndim, bias, threads;
    int64_t src[4], weight[5], dst[4];
    int64_t stride[2], dilation[2], pad_before[2], pad_after[2]; /* a dilation of 0 is dense */
} rl_dnnl_spec;
/* src, dst, bias: dense float32. RL_UNSUPPORTED when oneDNN has no primitive for it (nothing written). */
rl_status rl_dnnl_run(rl_call *k, const rl_dnnl_spec *spec, const float *src, const rl_view *weight,
                      const float *bias, const rl_view *out);
#endif
