/* Sorting and selection along a dimension. */
#include "sort.h"
#include <string.h>

#define ITEM        simd_narrow
#define PLACE_BITS  32
#define I_NAME(f)   f##_narrow
#include "sort_items_body.h"
#include "sort_lines_body.h"
#undef ITEM
#undef PLACE_BITS
#undef I_NAME
#define ITEM        simd_wide
#define PLACE_BITS  64
#define I_NAME(f)   f##_wide
#include "sort_items_body.h"
#include "sort_lines_body.h"

static rl_status run(rl_call *k, simd_sort_kind kind, bool descending, int64_t place) {
    simd_sort_job job = {.kind = kind, .k = k, .place = place};
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t dim = k->attr[0], n = dim < 0 ? x->numel : x->ndim ? x->shape[dim] : 1;
    if (n == 0 || n > SIMD_SORT_MOST) return RL_UNSUPPORTED;
    if (rl_along_begin(k, &job.along) != RL_OK) return RL_FAIL;
    if (job.along.lines.numel == 0) return RL_OK;
    job.keep = kind >= SIMD_KTH ? 1 : out->ndim ? out->shape[dim] : 1;
    job.counts = k->svc->scratch(k, RL_COUNT(k->threads, SIMD_DIGITS), sizeof *job.counts);
    if (!job.counts || simd_order_begin(k, &job.order, &job.along, descending) != RL_OK) return RL_FAIL;
    return job.order.wide ? lines_wide(&job) : lines_narrow(&job);
}

RL_KERNEL(simd_sort) {
    return run(k, SIMD_SORT, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_topk) {
    return run(k, SIMD_TOPK, k->attr[1] != 0, 0);
}
RL_KERNEL(simd_kthvalue) {
    return run(k, SIMD_KTH, false, k->attr[1] - 1);
}
RL_KERNEL(simd_median) {
    return run(k, SIMD_MEDIAN, false, 0);
}
RL_KERNEL(simd_nanmedian) {
    return run(k, SIMD_NANMEDIAN, false, 0);
}
RL_KERNEL(simd_mode) {
    return run(k, SIMD_MODE, false, 0);
}
