/* oneDNN's C interface (any 3.x), as far as the dnnl_ kernels call it, and plans: what it prepared for one
 * spec. */
#ifndef RL_KERNELS_DNNL_PLAN_H
#define RL_KERNELS_DNNL_PLAN_H
#include "load.h"
#include <stddef.h>
#include <stdint.h>

/* The part of oneDNN's C interface (any 3.x) that the dnnl_ kernels call, declared here so that a build
 * needs no header of theirs. X(status or type, name after dnnl_, arguments). */
enum { DNNL_DIMS = 12 };
typedef int64_t dnnl_dims[DNNL_DIMS];
typedef struct dnnl_engine *dnnl_engine;
typedef struct dnnl_stream *dnnl_stream;
typedef struct dnnl_memory_desc *dnnl_md;
typedef const struct dnnl_memory_desc *dnnl_const_md;
typedef struct dnnl_memory *dnnl_memory;
typedef struct dnnl_primitive_desc *dnnl_pd;
typedef const struct dnnl_primitive_desc *dnnl_const_pd;
typedef struct dnnl_primitive *dnnl_primitive;
typedef struct dnnl_primitive_attr *dnnl_attr;
typedef const struct dnnl_primitive_attr *dnnl_const_attr;
typedef struct {
    int arg;
    dnnl_memory memory;
} dnnl_exec_arg;
typedef struct {
    int major, minor, patch;
    const char *hash;
    unsigned cpu_runtime, gpu_runtime;
} dnnl_version_info;
/* their enumerators, by the names of their header in capitals */
enum {
    DNNL_SUCCESS = 0,
    DNNL_CPU = 1,
    DNNL_F32 = 3,
    DNNL_STREAM_IN_ORDER = 1,
    DNNL_FORMAT_TAG_ANY = 1,
    DNNL_FORWARD_INFERENCE = 96,
    DNNL_CONVOLUTION_DIRECT = 1,
    DNNL_SCRATCHPAD_MODE_USER = 1,
    DNNL_QUERY_SRC_MD = 129,
    DNNL_QUERY_WEIGHTS_MD = 131,
    DNNL_QUERY_DST_MD = 133,
    DNNL_QUERY_SCRATCHPAD_MD = 136,
    DNNL_ARG_SRC = 1,
    DNNL_ARG_DST = 17,
    DNNL_ARG_WEIGHTS = 33,
    DNNL_ARG_BIAS = 41,
    DNNL_ARG_SCRATCHPAD = 80,
};

#define RL_DNNL_FUNCTIONS(X)                                                                                 \
    X(const dnnl_version_info *, version, (void))                                                            \
    X(int, engine_create, (dnnl_engine *, int kind, size_t index))                                           \
    X(int, stream_create, (dnnl_stream *, dnnl_engine, unsigned flags))                                      \
    X(int, stream_destroy, (dnnl_stream))                                                                    \
    X(int, stream_wait, (dnnl_stream))                                                                       \
    X(int, memory_desc_create_with_strides,                                                                  \
      (dnnl_md *, int ndims, const dnnl_dims dims, int type, const dnnl_dims strides))                       \
    X(int, memory_desc_create_with_tag, (dnnl_md *, int ndims, const dnnl_dims dims, int type, int tag))     \
    X(int, memory_desc_clone, (dnnl_md *, dnnl_const_md))                                                    \
    X(int, memory_desc_destroy, (dnnl_md))                                                                   \
    X(int, memory_desc_equal, (dnnl_const_md, dnnl_const_md))                                                \
    X(size_t, memory_desc_get_size, (dnnl_const_md))                                                         \
    X(int, memory_create, (dnnl_memory *, dnnl_const_md, dnnl_engine, void *handle))                         \
    X(int, memory_set_data_handle, (dnnl_memory, void *handle))                                              \
    X(int, memory_destroy, (dnnl_memory))                                                                    \
    X(int, primitive_attr_create, (dnnl_attr *))                                                             \
    X(int, primitive_attr_set_scratchpad_mode, (dnnl_attr, int mode))                                        \
    X(int, primitive_attr_destroy, (dnnl_attr))                                                              \
    X(int, convolution_forward_primitive_desc_create,                                                        \
      (dnnl_pd *, dnnl_engine, int prop, int alg, dnnl_const_md src, dnnl_const_md weights,                  \
       dnnl_const_md bias, dnnl_const_md dst, const dnnl_dims strides, const dnnl_dims dilates,              \
       const dnnl_dims padding_l, const dnnl_dims padding_r, dnnl_const_attr))                               \
    X(int, inner_product_forward_primitive_desc_create,                                                      \
      (dnnl_pd *, dnnl_engine, int prop, dnnl_const_md src, dnnl_const_md weights, dnnl_const_md bias,       \
       dnnl_const_md dst, dnnl_const_attr))                                                                  \
    X(int, reorder_primitive_desc_create,                                                                    \
      (dnnl_pd *, dnnl_const_md from, dnnl_engine, dnnl_const_md to, dnnl_engine, dnnl_const_attr))          \
    X(dnnl_const_md, primitive_desc_query_md, (dnnl_const_pd, int what, int index))                          \
    X(int, primitive_desc_destroy, (dnnl_pd))                                                                \
    X(int, primitive_create, (dnnl_primitive *, dnnl_const_pd))                                              \
    X(int, primitive_execute, (dnnl_primitive, dnnl_stream, int n, const dnnl_exec_arg *))                   \
    X(int, primitive_destroy, (dnnl_primitive))

typedef struct {
#define X(type, name, arguments) type(*name) arguments;
    RL_DNNL_FUNCTIONS(X)
#undef X
} rl_dnnl_api;

/* Plans: what oneDNN prepared for one spec. Used by kernels/dnnl/load.c (owner of the cache) and
 * kernels/dnnl/plan.c. */
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
