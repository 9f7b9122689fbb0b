/* oneDNN at run time: the library, and a cache of its primitives.
 *
 *   rl_dnnl_open(path) ──► api, engine             (once; without it every dnnl_ kernel refuses)
 *   kernel ──► rl_dnnl_spec ──► plan ──► reorder input ─► primitive ─► reorder output
 *              (shapes)          │
 *                                └─ cache: SETS sets of WAYS plans, the oldest idle one of a set gives way
 */
#ifndef RL_KERNELS_DNNL_LOAD_H
#define RL_KERNELS_DNNL_LOAD_H
#include "contract/kernel.h"

/* Loads the library at `path` ("libdnnl.so.3" or a full name); 1 when dnnl_ kernels may serve from now on.
 * Safe to call from several threads and again; the first success counts. */
int rl_dnnl_open(const char *path);
bool rl_dnnl_ready(void);
const char *rl_dnnl_reason(void); /* why this thread's last rl_dnnl_open answered 0 */

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
