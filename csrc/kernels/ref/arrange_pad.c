/* Padding, and the gradient of the kinds that repeat the input. */
#include "boxes.h"
#include <string.h>

enum { PAD_CONSTANT, PAD_REFLECT, PAD_REPLICATE, PAD_CIRCULAR };

/* where output index i of a dim comes from, or -1 for the constant */
static int64_t pad_source(int64_t i, int64_t before, int64_t size, int mode) {
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
    int64_t item, *source[RL_MAX_DIMS]; /* byte offsets for each index of each dim; INT64_MIN: the constant */
    rl_walk rows;                       /* of the output, without the last dim */
    int64_t step;
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
        char *to = job->rows.base[0];
        rl_walk_seek(&job->rows, row, &to);
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
            memcpy(to + i * job->step, element, (size_t)item);
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
    rl_walk_begin(&job.rows, out, RL_WRITE);
    if (out->ndim) job.step = job.rows.stride[0][out->ndim - 1];
    if (out->ndim) rl_walk_drop(&job.rows, 1ull << (out->ndim - 1));
    for (int d = 0; d < out->ndim; d++) {
        int at = 2 * (out->ndim - 1 - d);
        int64_t before = at < n ? pad->u.ints[at] : 0;
        job.source[d] = k->svc->scratch(k, RL_COUNT(out->shape[d]), sizeof(int64_t));
        if (!job.source[d]) return RL_FAIL;
        for (int64_t i = 0; i < out->shape[d]; i++) {
            int64_t source = pad_source(i, before, x->shape[d], mode);
            job.source[d][i] = source < 0 ? INT64_MIN : source * x->strides[d] * job.item;
        }
    }
    int64_t width = out->ndim ? out->shape[out->ndim - 1] : 1;
    k->svc->parallel(k, out->numel / width, RL_REF_NS * (double)width, pad_rows, &job);
    return RL_OK;
}

/* ---- the gradient ---- */
RL_KERNEL(ref_pad_back) {
    const rl_slot *pad = &k->arg[2];
    rl_box_job job;
    if (rl_box_begin(k, &job) != RL_OK) return RL_FAIL;
    for (int i = 3 - (int)rl_window_of(k)->spatial; i < 3; i++)
        for (int64_t o = 0; o < job.out[i]; o++) {
            int64_t at = pad_source(o, pad->u.ints[2 * (2 - i)], job.size[i], (int)k->attr[0]);
            job.boxes[i][o] = (rl_box){at, at + 1, 1, 1};
        }
    return rl_box_run(k, &job);
}
