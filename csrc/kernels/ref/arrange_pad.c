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

/* Rows go along the dim in which the output's elements lie side by side: first come those before the input's,
 * `low` of them, then the input's up to `high`, then those behind it. */
typedef struct {
    const char *from;
    char *to;
    int last; /* the dim of the rows; the others come in the order of the output's memory */
    int64_t size[RL_MAX_DIMS], step[RL_MAX_DIMS];
    int64_t *source[RL_MAX_DIMS]; /* byte offsets for each index of each dim; INT64_MIN: the constant */
    int64_t low, high, input_step, item;
    rl_strip copy;
    uint64_t constant;
} pad_job;

static void pad_element(char *to, const char *from, int64_t item) {
    switch (item) { /* each a move, not a call */
    case 1: *to = *from; break;
    case 2: memcpy(to, from, 2); break;
    case 4: memcpy(to, from, 4); break;
    case 8: memcpy(to, from, 8); break;
    default: memcpy(to, from, (size_t)item);
    }
}

static void pad_edge(const pad_job *job, char *to, const char *from, int64_t begin, int64_t end) {
    const int64_t *source = job->source[job->last], step = job->step[job->last];
    for (int64_t i = begin; i < end; i++) {
        const bool constant = source[i] == INT64_MIN;
        pad_element(to + i * step, constant ? (const char *)&job->constant : from + source[i], job->item);
    }
}

static void pad_row(const pad_job *job, char *to, const char *from) {
    const int64_t steps[2] = {job->step[job->last], from ? job->input_step : 0};
    if (!from) {
        job->copy((char *const[2]){to, (char *)&job->constant}, steps, job->size[job->last], NULL);
        return;
    }
    pad_edge(job, to, from, 0, job->low);
    if (job->low < job->high) {
        char *p[2] = {to + job->low * steps[0], (char *)from + job->source[job->last][job->low]};
        job->copy(p, steps, job->high - job->low, NULL);
    }
    pad_edge(job, to, from, job->high, job->size[job->last]);
}

static void pad_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const pad_job *job = ctx;
    int64_t index[RL_MAX_DIMS], rest = begin;
    (void)thread;
    for (int d = job->last - 1; d >= 0; rest /= job->size[d--]) index[d] = rest % job->size[d];
    for (int64_t row = begin; row < end; row++) {
        const char *from = job->from;
        char *to = job->to;
        for (int d = 0; d < job->last; d++) {
            int64_t offset = job->source[d][index[d]];
            to += index[d] * job->step[d];
            from = from && offset != INT64_MIN ? from + offset : NULL;
        }
        pad_row(job, to, from);
        for (int d = job->last - 1; d >= 0 && ++index[d] == job->size[d]; d--) index[d] = 0;
    }
}

/* dim d of the output, `before` elements added in front of it, becomes dim `at` of the job */
static rl_status pad_dim(rl_call *k, pad_job *job, int at, int d, int64_t before) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const int64_t n = out->shape[d], size = x->shape[d];
    job->size[at] = n;
    job->step[at] = out->strides[d] * job->item;
    job->source[at] = k->svc->scratch(k, RL_COUNT(n), sizeof(int64_t));
    if (!job->source[at]) return RL_FAIL;
    for (int64_t i = 0; i < n; i++) {
        int64_t source = pad_source(i, before, size, (int)k->attr[0]);
        job->source[at][i] = source < 0 ? INT64_MIN : source * x->strides[d] * job->item;
    }
    job->low = before < 0 ? 0 : before < n ? before : n; /* of the last dim to come here */
    job->high = before + size < job->low ? job->low : before + size < n ? before + size : n;
    job->input_step = x->strides[d] * job->item;
    return RL_OK;
}

RL_KERNEL(ref_pad) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    const rl_slot *pad = &k->arg[1];
    int n = pad->tag == RL_INTS ? pad->n : 0, order[RL_MAX_DIMS];
    pad_job job = {.last = out->ndim - 1, .item = rl_itemsize(x->dtype)};
    job.copy = rl_strip_copy(job.item);
    if (k->arg[3].tag != RL_NONE && rl_element_from(k, 3, x->dtype, &job.constant) != RL_OK) return RL_FAIL;
    if (out->numel == 0) return RL_OK;
    if (out->ndim == 0) {
        rl_view_cast(k, out, x);
        return RL_OK;
    }
    for (int d = 0; d < out->ndim; d++) {
        int at = d;
        for (; at > 0 && out->strides[order[at - 1]] < out->strides[d]; at--) order[at] = order[at - 1];
        order[at] = d;
    }
    for (int at = 0; at < out->ndim; at++) {
        int argument = 2 * (out->ndim - 1 - order[at]);
        int64_t before = argument < n ? pad->u.ints[argument] : 0;
        if (pad_dim(k, &job, at, order[at], before) != RL_OK) return RL_FAIL;
    }
    job.from = rl_const_data(x);
    job.to = rl_data(out, RL_WRITE);
    int64_t width = job.size[job.last];
    k->svc->parallel(k, out->numel / width, 20 + RL_REF_NS * (double)width, pad_rows, &job);
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
