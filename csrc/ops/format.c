/* Note [Channels last]
 * CHANNELS_LAST("input, weight", kernels) in a declaration: where `input` or `weight` lies channels last, so
 * do the results of four and five dims. The kernels named there write such results. Where none of them takes
 * a call, the ordinary ones work on contiguous copies:
 *
 *   input ─clone─► scratch ─kernel─► scratch ─clone─► result
 */
#include "format.h"
#include "core/services.h"
#include "core/storage.h"
#include "core/view.h"

void rl_format_take(const rl_operator *op, rl_call *k) {
    bool last = false;
    for (int i = 0; op->format_of >> i && !last; i++)
        last =
            (op->format_of >> i & 1) && k->arg[i].tag == RL_TENSOR && rl_looks_channels_last(k->arg[i].u.t);
    for (int i = 0; last && i < k->n_out; i++)
        if (k->out[i]->ndim == 4 || k->out[i]->ndim == 5)
            rl_dims_channels_last(k->out[i]->shape, k->out[i]->ndim, k->out[i]->strides);
}

/* ---- contiguous copies ---- */
typedef struct {
    rl_view view;
    rl_storage storage;
} copied;

static rl_status make_copy(rl_call *k, copied *c, const rl_view *like) {
    const size_t itemsize = (size_t)rl_itemsize(like->dtype);
    void *memory = k->svc->scratch(k, RL_COUNT(like->numel), itemsize);
    if (!memory) return RL_FAIL;
    rl_storage_lend(&c->storage, memory, (size_t)like->numel * itemsize);
    c->view = *like;
    c->view.storage = &c->storage;
    c->view.offset = 0;
    c->view.shape = c->view.small;
    c->view.strides = c->view.small + RL_SMALL_DIMS;
    for (int d = 0; d < like->ndim; d++) c->view.shape[d] = like->shape[d];
    rl_dims_contiguous(c->view.shape, c->view.ndim, c->view.strides);
    return RL_OK;
}

static rl_status copy_over(rl_view *to, const rl_view *from, rl_run_fn run) {
    rl_call copy = {.name = "clone", .n_arg = 2, .n_out = 1};
    copy.arg[0] = (rl_value){.tag = RL_TENSOR, .u.t = (rl_view *)from};
    copy.arg[1] = (rl_value){.tag = RL_NONE};
    copy.out[0] = to;
    rl_call_begin(&copy);
    rl_write_begin(to->storage);
    rl_status status = run(&rl_operators[RL_OP_clone], &copy, RL_CPU);
    rl_write_end(to->storage);
    rl_call_end(&copy);
    return status;
}

static bool is_permuted(const rl_view *v) {
    return v->ndim <= RL_SMALL_DIMS && v->numel && !rl_is_contiguous(v);
}

rl_status rl_format_contiguous(const rl_operator *op, rl_call *k, rl_run_fn run) {
    rl_view *inputs[RL_MAX_ARGS], *results[RL_MAX_OUT];
    copied in[RL_MAX_ARGS], out[RL_MAX_OUT];
    rl_status status = RL_OK;
    for (int i = 0; i < k->n_out; i++) results[i] = k->out[i];
    for (int i = 0; i < k->n_arg; i++) inputs[i] = k->arg[i].tag == RL_TENSOR ? k->arg[i].u.t : NULL;
    for (int i = 0; i < k->n_arg && status == RL_OK; i++) {
        if (!inputs[i] || !is_permuted(inputs[i])) continue;
        status = make_copy(k, &in[i], inputs[i]);
        if (status == RL_OK) status = copy_over(&in[i].view, inputs[i], run);
        k->arg[i].u.t = &in[i].view;
    }
    for (int i = 0; i < k->n_out && status == RL_OK; i++) {
        if (!is_permuted(results[i])) continue;
        status = make_copy(k, &out[i], results[i]);
        k->out[i] = &out[i].view;
    }
    if (status == RL_OK) {
        for (int i = 0; i < k->n_out; i++) rl_write_begin(k->out[i]->storage);
        status = run(op, k, RL_CPU);
        for (int i = 0; i < k->n_out; i++) rl_write_end(k->out[i]->storage);
    }
    for (int i = 0; i < k->n_out && status == RL_OK; i++)
        if (k->out[i] != results[i]) status = copy_over(results[i], k->out[i], run);
    for (int i = 0; i < k->n_out; i++) k->out[i] = results[i];
    for (int i = 0; i < k->n_arg; i++)
        if (inputs[i]) k->arg[i].u.t = inputs[i];
    return status;
}
