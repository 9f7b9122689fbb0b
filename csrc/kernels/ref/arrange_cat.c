/* Elements that move unchanged: cat, index_select, pad. */
#include "resize_backward.h"
#include <string.h>

RL_KERNEL(ref_cat) {
    const rl_slot *list = &k->arg[0];
    const rl_view *out = k->out[0];
    int64_t dim = k->attr[0], at = 0, item = rl_itemsize(out->dtype);
    char *memory = rl_data(out, RL_WRITE);
    for (int i = 0; i < list->n; i++) {
        const rl_view *v = list->u.ts[i];
        rl_cast_pair pair = {out->dtype, v->dtype};
        rl_walk w, from;
        if (v->numel == 0) continue;
        /* the dims are the part's, the strides of operand 0 the output's */
        rl_walk_begin(&from, v, RL_READ);
        w = from;
        w.nops = 2;
        w.base[1] = from.base[0];
        w.base[0] = memory + at * out->strides[dim] * item;
        for (int d = 0; d < w.ndim; d++) {
            w.stride[1][d] = from.stride[0][d];
            w.stride[0][d] = out->strides[d] * item;
        }
        rl_walk_merge(&w);
        rl_walk_parallel(k, &w, rl_strip_between(pair.to, pair.from), &pair);
        at += v->shape[dim];
    }
    return RL_OK;
}

/* PyTorch has another path, and another text, for dim 1 and for tensors without elements */
static rl_status index_fault(rl_call *k, int64_t index, int64_t size) {
    const rl_view *x = k->arg[0].u.t;
    if (x->ndim > 1 && (k->attr[0] == 1 || x->numel == 0))
        return rl_fail(k, RL_RUNTIME, "INDICES element is out of DATA bounds, id=%lld axis_dim=%lld",
                       (long long)index, (long long)size);
    return rl_fail(k, RL_INDEX, "index out of range in self");
}

RL_KERNEL(ref_index_select) {
    const rl_view *x = k->arg[0].u.t, *index = k->arg[2].u.t, *out = k->out[0];
    int64_t dim = k->attr[0], item = rl_itemsize(x->dtype), size = x->ndim ? x->shape[dim] : 1;
    int64_t step = index->ndim ? index->strides[0] * rl_itemsize(index->dtype) : 0;
    const char *at = rl_const_data(index);
    rl_walk slice;
    int64_t to_step = 0, from_step = 0;
    rl_walk_begin(&slice, out, RL_WRITE);
    slice.nops = 2;
    slice.base[1] = rl_data(x, RL_READ);
    for (int d = 0; d < x->ndim; d++) slice.stride[1][d] = x->strides[d] * item;
    if (x->ndim) {
        to_step = slice.stride[0][dim];
        from_step = slice.stride[1][dim];
        rl_walk_drop(&slice, 1ull << dim);
    }
    rl_walk_merge(&slice);
    rl_walk one = slice;
    for (int64_t i = 0; i < index->numel; i++) {
        int64_t pick; /* read once, checked, used */
        rl_row_ints(index->dtype, at + i * step, 0, 1, &pick);
        if (pick < 0 || pick >= size) return index_fault(k, pick, size);
        if (out->numel == 0) continue;
        one.base[0] = slice.base[0] + i * to_step;
        one.base[1] = slice.base[1] + pick * from_step;
        rl_walk_range(&one, 0, one.numel, rl_strip_copy(item), NULL);
    }
    return RL_OK;
}

/* ---- pad ---- */
enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* where output index i of a dim comes from, or -1 for the constant */
int64_t rl_pad_source(int64_t i, int64_t before, int64_t size, int mode) {
    int64_t at = i - before;
    if (at >= 0 && at < size) return at;
    switch (mode) {
    case PAD_REFLECT: return at < 0 ? -at : 2 * (size - 1) - at;
    case PAD_REPLICATE: return at < 0 ? 0 : size - 1;
    case PAD_CIRCULAR: return at < 0 ? at + size : at - size;
    default: return -1;
    }
}

typedef struct {
    const rl_view *out;
    const char *from;
    char *to;
    int64_t item, *source[RL_MAX_DIMS]; /* byte offsets for each index of each dim; INT64_MIN: the constant */
    uint64_t constant;
} pad_job;

static void pad_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_job *job = ctx;
    const rl_view *out = job->out;
    int last = out->ndim - 1;
    int64_t width = last < 0 ? 1 : out->shape[last], item = job->item;
    (void)thread;
    for (int64_t row = begin; row < end; row++) {
        const char *from = job->from;
        char *to = job->to + row * width * item;
        bool outside = false;
        int64_t at = row;
        for (int d = last - 1; d >= 0; d--) {
            int64_t offset = job->source[d][at % out->shape[d]];
            at /= out->shape[d];
            outside |= offset == INT64_MIN;
            if (!outside) from += offset;
        }
        for (int64_t i = 0; i < width; i++) {
            int64_t offset = last < 0 ? 0 : job->source[last][i];
            const void *element =
                outside || offset == INT64_MIN ? (const void *)&job->constant : from + offset;
            memcpy(to + i * item, element, (size_t)item);
        }
    }
}

RL_KERNEL(ref_pad) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const rl_slot *pad = &k->arg[1];
    int n = pad->tag == RL_INTS ? pad->n : 0, mode = (int)k->attr[0];
    pad_job job = {.out = out, .item = rl_itemsize(x->dtype), .constant = 0};
    if (k->arg[3].tag != RL_NONE && rl_element_from(k, 3, x->dtype, &job.constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    job.from = rl_const_data(x);
    job.to = rl_data(out, RL_WRITE);
    for (int d = 0; d < out->ndim; d++) {
        int at = 2 * (out->ndim - 1 - d);
        int64_t before = at < n ? pad->u.ints[at] : 0;
        job.source[d] = k->svc->scratch(k, RL_COUNT(out->shape[d]), sizeof(int64_t));
        if (!job.source[d]) return RL_FAIL;
        for (int64_t i = 0; i < out->shape[d]; i++) {
            int64_t source = rl_pad_source(i, before, x->shape[d], mode);
            job.source[d][i] = source < 0 ? INT64_MIN : source * x->strides[d] * job.item;
        }
    }
    int64_t width = out->ndim ? out->shape[out->ndim - 1] : 1;
    k->svc->parallel(k, out->numel / width, RL_GRAIN / width + 1, pad_rows, &job);
    return RL_OK;
}
