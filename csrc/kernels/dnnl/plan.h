/* Plans: what oneDNN prepared for one spec. Used by kernels/dnnl/load.c (owner of the cache) and
 * kernels/dnnl/plan.c. */
#ifndef RL_KERNELS_DNNL_PLAN_H
#define RL_KERNELS_DNNL_PLAN_H
#include "api.h"
#include "load.h"

/* The memory objects of a run; the data pointers are set for each. One set stays with its plan, and a
 * thread that finds it taken makes its own. */
enum {
    PLAN_SRC,
    PLAN_SRC_OWN,
    PLAN_WEIGHT,
    PLAN_WEIGHT_OWN,
    PLAN_BIAS,
    PLAN_DST,
    PLAN_DST_OWN,
    PLAN_SCRATCH,
    PLAN_MDS
};
typedef struct {
    dnnl_stream stream;
    dnnl_memory memory[PLAN_MDS];
} rl_dnnl_desk;

typedef struct {
    rl_dnnl_spec spec;
    uint64_t used;        /* time of last use */
    int users;            /* calls running on it; only then it may not give way */
    bool cached, refused; /* refused: oneDNN has nothing for this spec */
    int desk_taken;
    dnnl_primitive primitive, src_reorder, weight_reorder, dst_reorder; /* reorders NULL when layouts agree */
    dnnl_md md[PLAN_MDS]; /* plain ones and oneDNN's own; NULL when not used */
    size_t bytes[PLAN_MDS];
    uint64_t weight_key; /* 0: the packed weight cannot be kept */
    rl_dnnl_desk desk;
} rl_dnnl_plan;

/* Fills a zeroed plan (its spec is set); refused when something is missing. */
void rl_dnnl_plan_make(const rl_dnnl_api *api, dnnl_engine engine, rl_dnnl_plan *p);
void rl_dnnl_plan_clear(const rl_dnnl_api *api, rl_dnnl_plan *p);
rl_status rl_dnnl_plan_run(const rl_dnnl_api *api, dnnl_engine engine, rl_dnnl_plan *p, rl_call *k,
                           const float *src, const rl_view *weight, const float *bias, const rl_view *out);
#endif
