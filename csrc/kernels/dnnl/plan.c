/* Making and running plans. Layouts are left to oneDNN ("any"); what it picks decides the reorders. */
#include "plan.h"
#include "kernels/shared/plain.h"

static dnnl_md plan_md(const rl_dnnl_api *api, int64_t ndim, const int64_t *shape, bool any) {
    dnnl_dims dims = {0}, strides = {0};
    dnnl_md md = NULL;
    int64_t step = 1;
    for (int64_t i = ndim - 1; i >= 0; i--) {
        dims[i] = shape[i], strides[i] = step;
        step *= shape[i];
    }
    int status = any ? api->memory_desc_create_with_tag(&md, (int)ndim, dims, DNNL_F32, DNNL_FORMAT_TAG_ANY)
                     : api->memory_desc_create_with_strides(&md, (int)ndim, dims, DNNL_F32, strides);
    return status == DNNL_SUCCESS ? md : NULL;
}

/* the layout that pd picked, as a descriptor of our own */
static bool plan_own(const rl_dnnl_api *api, dnnl_pd pd, int what, dnnl_md *md) {
    dnnl_const_md own = api->primitive_desc_query_md(pd, what, 0);
    return own && api->memory_desc_clone(md, own) == DNNL_SUCCESS;
}

static bool plan_reorder(const rl_dnnl_api *api, dnnl_engine e, dnnl_md from, dnnl_md to, dnnl_primitive *p) {
    dnnl_pd pd = NULL;
    if (api->memory_desc_equal(from, to)) return true;
    if (api->reorder_primitive_desc_create(&pd, from, e, to, e, NULL) != DNNL_SUCCESS) return false;
    bool made = api->primitive_create(p, pd) == DNNL_SUCCESS;
    api->primitive_desc_destroy(pd);
    return made;
}

static dnnl_pd plan_pd(const rl_dnnl_api *api, dnnl_engine e, const rl_dnnl_spec *s, dnnl_md bias) {
    dnnl_md src = plan_md(api, s->ndim, s->src, true), weight = plan_md(api, s->weight_ndim, s->weight, true);
    dnnl_md dst = plan_md(api, s->ndim, s->dst, true);
    dnnl_attr attr = NULL;
    dnnl_pd pd = NULL;
    bool made = src && weight && dst && api->primitive_attr_create(&attr) == DNNL_SUCCESS &&
                api->primitive_attr_set_scratchpad_mode(attr, DNNL_SCRATCHPAD_MODE_USER) == DNNL_SUCCESS;
    if (made && s->kind == RL_DNNL_CONV)
        made = api->convolution_forward_primitive_desc_create(
                   &pd, e, DNNL_FORWARD_INFERENCE, DNNL_CONVOLUTION_DIRECT, src, weight, bias, dst, s->stride,
                   s->dilation, s->pad_before, s->pad_after, attr) == DNNL_SUCCESS;
    else if (made)
        made = api->inner_product_forward_primitive_desc_create(&pd, e, DNNL_FORWARD_INFERENCE, src, weight,
                                                                bias, dst, attr) == DNNL_SUCCESS;
    if (src) api->memory_desc_destroy(src);
    if (weight) api->memory_desc_destroy(weight);
    if (dst) api->memory_desc_destroy(dst);
    if (attr) api->primitive_attr_destroy(attr);
    return made ? pd : NULL;
}

static void desk_clear(const rl_dnnl_api *api, rl_dnnl_desk *d) {
    for (int i = 0; i < PLAN_MDS; i++)
        if (d->memory[i]) api->memory_destroy(d->memory[i]);
    if (d->stream) api->stream_destroy(d->stream);
    *d = (rl_dnnl_desk){0};
}

static bool desk_make(const rl_dnnl_api *api, dnnl_engine e, const rl_dnnl_plan *p, rl_dnnl_desk *d) {
    *d = (rl_dnnl_desk){0};
    bool made = api->stream_create(&d->stream, e, DNNL_STREAM_IN_ORDER) == DNNL_SUCCESS;
    for (int i = 0; i < PLAN_MDS && made; i++)
        if (p->md[i]) made = api->memory_create(&d->memory[i], p->md[i], e, NULL) == DNNL_SUCCESS;
    if (!made) desk_clear(api, d);
    return made;
}

void rl_dnnl_plan_make(const rl_dnnl_api *api, dnnl_engine e, rl_dnnl_plan *p) {
    const rl_dnnl_spec *s = &p->spec;
    dnnl_md *md = p->md;
    p->refused = true;
    md[PLAN_SRC] = plan_md(api, s->ndim, s->src, false);
    md[PLAN_WEIGHT] = plan_md(api, s->weight_ndim, s->weight, false);
    md[PLAN_DST] = plan_md(api, s->ndim, s->dst, false);
    if (s->bias) md[PLAN_BIAS] = plan_md(api, 1, &s->bias, false);
    if (!md[PLAN_SRC] || !md[PLAN_WEIGHT] || !md[PLAN_DST] || (s->bias && !md[PLAN_BIAS])) return;
    dnnl_pd pd = plan_pd(api, e, s, md[PLAN_BIAS]);
    if (!pd) return;
    bool made = plan_own(api, pd, DNNL_QUERY_SRC_MD, &md[PLAN_SRC_OWN]) &&
                plan_own(api, pd, DNNL_QUERY_WEIGHTS_MD, &md[PLAN_WEIGHT_OWN]) &&
                plan_own(api, pd, DNNL_QUERY_DST_MD, &md[PLAN_DST_OWN]) &&
                plan_own(api, pd, DNNL_QUERY_SCRATCHPAD_MD, &md[PLAN_SCRATCH]) &&
                api->primitive_create(&p->primitive, pd) == DNNL_SUCCESS &&
                plan_reorder(api, e, md[PLAN_SRC], md[PLAN_SRC_OWN], &p->src_reorder) &&
                plan_reorder(api, e, md[PLAN_WEIGHT], md[PLAN_WEIGHT_OWN], &p->weight_reorder) &&
                plan_reorder(api, e, md[PLAN_DST_OWN], md[PLAN_DST], &p->dst_reorder);
    api->primitive_desc_destroy(pd);
    for (int i = 0; i < PLAN_MDS; i++) p->bytes[i] = md[i] ? api->memory_desc_get_size(md[i]) : 0;
    p->refused = !made || !desk_make(api, e, p, &p->desk);
}

void rl_dnnl_plan_clear(const rl_dnnl_api *api, rl_dnnl_plan *p) {
    dnnl_primitive all[] = {p->primitive, p->src_reorder, p->weight_reorder, p->dst_reorder};
    for (int i = 0; i < 4; i++)
        if (all[i]) api->primitive_destroy(all[i]);
    desk_clear(api, &p->desk);
    for (int i = 0; i < PLAN_MDS; i++)
        if (p->md[i]) api->memory_desc_destroy(p->md[i]);
    *p = (rl_dnnl_plan){0};
}

static bool plan_turn(const rl_dnnl_api *api, rl_dnnl_desk *d, dnnl_primitive reorder, int from, int to) {
    dnnl_exec_arg args[] = {{DNNL_ARG_SRC, d->memory[from]}, {DNNL_ARG_DST, d->memory[to]}};
    return api->primitive_execute(reorder, d->stream, 2, args) == DNNL_SUCCESS;
}

static bool plan_set(const rl_dnnl_api *api, rl_dnnl_desk *d, int i, const void *data) {
    return api->memory_set_data_handle(d->memory[i], (void *)data) == DNNL_SUCCESS;
}

/* The weight in oneDNN's layout: the packed weights, or a copy for this call. 1, 0 on oneDNN's error, -1 no
 * memory. */
static int plan_weight(const rl_dnnl_api *api, rl_dnnl_plan *p, rl_dnnl_desk *d, rl_call *k,
                       const rl_view *w) {
    void *own = p->weight_key ? k->svc->packed_find(k, w, p->weight_key) : NULL;
    if (own) return plan_set(api, d, PLAN_WEIGHT_OWN, own);
    const float *plain = rl_plain_input(k, w);
    if (!plain) return -1;
    if (!p->weight_reorder) return plan_set(api, d, PLAN_WEIGHT_OWN, plain);
    if (p->weight_key) own = k->svc->packed_new(k, w, p->weight_key, RL_COUNT(p->bytes[PLAN_WEIGHT_OWN]), 1);
    bool kept = own != NULL;
    if (!kept) own = k->svc->scratch(k, RL_COUNT(p->bytes[PLAN_WEIGHT_OWN]), 1);
    if (!own) return -1;
    if (!plan_set(api, d, PLAN_WEIGHT, plain) || !plan_set(api, d, PLAN_WEIGHT_OWN, own) ||
        !plan_turn(api, d, p->weight_reorder, PLAN_WEIGHT, PLAN_WEIGHT_OWN))
        return 0;
    if (kept) k->svc->packed_ready(k, w, p->weight_key);
    return 1;
}

static rl_status plan_steps(const rl_dnnl_api *api, rl_dnnl_plan *p, rl_dnnl_desk *d, rl_call *k,
                            const float *src, const rl_view *weight, const float *bias, const rl_view *out) {
    int ready = plan_weight(api, p, d, k, weight);
    void *src_own = p->src_reorder ? k->svc->scratch(k, RL_COUNT(p->bytes[PLAN_SRC_OWN]), 1) : (void *)src;
    void *scratch = p->bytes[PLAN_SCRATCH] ? k->svc->scratch(k, RL_COUNT(p->bytes[PLAN_SCRATCH]), 1) : NULL;
    void *dst = rl_data(out, RL_WRITE);
    void *dst_own = p->dst_reorder ? k->svc->scratch(k, RL_COUNT(p->bytes[PLAN_DST_OWN]), 1) : dst;
    if (ready < 0 || !src_own || !dst_own || (p->bytes[PLAN_SCRATCH] && !scratch))
        return rl_fail(k, RL_MEMORY, "not enough memory for a oneDNN primitive");
    bool done = ready && plan_set(api, d, PLAN_SRC_OWN, src_own) && plan_set(api, d, PLAN_DST_OWN, dst_own);
    if (bias) done = done && plan_set(api, d, PLAN_BIAS, bias);
    if (scratch) done = done && plan_set(api, d, PLAN_SCRATCH, scratch);
    if (p->src_reorder)
        done = done && plan_set(api, d, PLAN_SRC, src) &&
               plan_turn(api, d, p->src_reorder, PLAN_SRC, PLAN_SRC_OWN);
    dnnl_exec_arg args[5] = {{DNNL_ARG_SRC, d->memory[PLAN_SRC_OWN]},
                             {DNNL_ARG_WEIGHTS, d->memory[PLAN_WEIGHT_OWN]},
                             {DNNL_ARG_DST, d->memory[PLAN_DST_OWN]}};
    int n = 3;
    if (scratch) args[n++] = (dnnl_exec_arg){DNNL_ARG_SCRATCHPAD, d->memory[PLAN_SCRATCH]};
    if (bias) args[n++] = (dnnl_exec_arg){DNNL_ARG_BIAS, d->memory[PLAN_BIAS]};
    done = done && api->primitive_execute(p->primitive, d->stream, n, args) == DNNL_SUCCESS;
    if (p->dst_reorder)
        done = done && plan_set(api, d, PLAN_DST, dst) &&
               plan_turn(api, d, p->dst_reorder, PLAN_DST_OWN, PLAN_DST);
    done = done && api->stream_wait(d->stream) == DNNL_SUCCESS;
    return done ? RL_OK : rl_fail(k, RL_RUNTIME, "could not execute a primitive");
}

RL_CHOOSER
rl_status rl_dnnl_plan_run(const rl_dnnl_api *api, dnnl_engine e, rl_dnnl_plan *p, rl_call *k,
                           const float *src, const rl_view *weight, const float *bias, const rl_view *out) {
    RL_UNREACHED("oneDNN refuses these products only where its memory ends")
    if (p->refused) return RL_UNSUPPORTED;
    if (!__atomic_exchange_n(&p->desk_taken, 1, __ATOMIC_ACQUIRE)) {
        rl_status s = plan_steps(api, p, &p->desk, k, src, weight, bias, out);
        __atomic_store_n(&p->desk_taken, 0, __ATOMIC_RELEASE);
        return s;
    }
    rl_dnnl_desk own;
    RL_UNREACHED("oneDNN's memory would have to end while two threads run one plan")
    if (!desk_make(api, e, p, &own)) return RL_UNSUPPORTED;
    rl_status s = plan_steps(api, p, &own, k, src, weight, bias, out);
    desk_clear(api, &own);
    return s;
}
