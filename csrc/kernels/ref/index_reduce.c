/* scatter_reduce and index_reduce: what is joined with the elements of the target, or without them. */
#include "index_scatter.h"
#include <math.h>

/* What joining leaves as it is. */
static void neutral_element(int join, int dtype, void *element) {
    static const int64_t lowest[RL_NDTYPES] = {
        [RL_I8] = INT8_MIN, [RL_I16] = INT16_MIN, [RL_I32] = INT32_MIN, [RL_I64] = INT64_MIN};
    static const int64_t highest[RL_NDTYPES] = {[RL_U8] = UINT8_MAX,  [RL_I8] = INT8_MAX,
                                                [RL_I16] = INT16_MAX, [RL_I32] = INT32_MAX,
                                                [RL_I64] = INT64_MAX, [RL_BOOL] = 1};
    if (rl_is_float(dtype))
        rl_row_put_double(dtype, element,
                          join == RL_JOIN_MAX   ? -INFINITY
                          : join == RL_JOIN_MIN ? INFINITY
                                                : join == RL_JOIN_MUL);
    else
        rl_row_put_ints(dtype, element, 0, 1,
                        join == RL_JOIN_MAX   ? &lowest[dtype]
                        : join == RL_JOIN_MIN ? &highest[dtype]
                                              : &(int64_t){join == RL_JOIN_MUL});
}

/* operands: sum, how many (int64) */
typedef struct {
    int dtype;
} mean_job;

static void mean_strip(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    int dtype = ((const mean_job *)ctx)->dtype;
    for (int64_t i = 0; i < n; i++) {
        int64_t count = *(const int64_t *)(p[1] + i * step[1]), sum;
        char *to = p[0] + i * step[0];
        if (count < 2) continue;
        if (rl_is_float(dtype)) {
            rl_row_put_double(dtype, to, rl_row_double(dtype, to) / (double)count);
        } else {
            rl_row_ints(dtype, to, 0, 1, &sum);
            sum = sum / count - (sum % count < 0);
            rl_row_put_ints(dtype, to, 0, 1, &sum);
        }
    }
}

/* Counts the elements that go to each place, and divides by it. */
static rl_status divide_by_counts(rl_call *k, rl_scatter_way way, bool include_self) {
    const rl_view *out = k->out[0], *source = k->arg[3].u.t;
    int64_t *count = k->svc->scratch(k, RL_COUNT(out->numel), sizeof *count), one = 1, stride = sizeof one;
    rl_scattering s = {.counts = count, .join = RL_JOIN_ADD, .numbers = {.i = {1}}};
    mean_job job = {out->dtype};
    rl_walk places;
    if (!count) return RL_FAIL;
    for (int64_t i = 0; i < out->numel; i++) count[i] = include_self;
    if (way(k, &s, source, &one) != RL_OK) return RL_FAIL;
    rl_walk_begin(&places, out, RL_WRITE);
    places.nops = 2;
    places.base[1] = (char *)count;
    for (int d = out->ndim - 1; d >= 0; stride *= out->shape[d--]) places.stride[1][d] = stride;
    rl_walk_merge(&places);
    rl_walk_parallel(k, &places, RL_REF_NS, mean_strip, &job);
    return RL_OK;
}

rl_status rl_scatter_reduce(rl_call *k, rl_scatter_way way, bool include_self) {
    const rl_view *out = k->out[0], *source = k->arg[3].u.t;
    const int join = (int)k->attr[1];
    rl_scattering start = {.join = RL_JOIN_SET}, s = {.join = join, .numbers = {.d = {1}, .i = {1}}};
    uint64_t element;
    rl_view_start(k);
    if (rl_tensor_arg(k, 2)->numel == 0) return RL_OK;
    neutral_element(join, out->dtype, &element);
    if (!include_self && way(k, &start, source, &element) != RL_OK) return RL_FAIL;
    if (way(k, &s, source, NULL) != RL_OK) return RL_FAIL;
    return join == RL_JOIN_MEAN && out->numel ? divide_by_counts(k, way, include_self) : RL_OK;
}
