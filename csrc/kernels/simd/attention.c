/* What kernels of attention share: Note [Attention in blocks] in kernels/simd/attention.h. */
#include "attention.h"
#include "common.h"
#define ISA_IMPL "attention_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static const attention_ukernel *ukernel_of(const rl_call *k, bool doubles) {
    static const attention_ukernel *const ukernels[2][RL_ISA_END] = {ISA_TABLE(&attention_rows_ukernel),
                                                                     ISA_TABLE_F64(&attention_rows_ukernel)};
    return ukernels[doubles][k->svc->isa];
}

bool rl_attention_begin(const rl_call *k, attention_job *j, int at, int rest) {
    const rl_view *q = rl_in(k, at);
    const bool doubles = q->dtype == RL_F64;
    const int inner = doubles ? RL_F64 : RL_F32;
    *j = (attention_job){.a = rl_attention_of(k, at, rest), .gemm = rl_gemm_ukernel_get(k, inner)};
    const rl_attention *a = &j->a;
    if (!j->gemm || a->batches == 0 || a->rows == 0 || a->keys == 0 || a->width == 0 || a->wide == 0)
        return false;
    j->ukernel = ukernel_of(k, doubles);
    j->size = rl_itemsize(inner), j->item = rl_itemsize(q->dtype);
    j->in = simd_cast_copy_between(k, inner, q->dtype);
    j->out = simd_cast_copy_between(k, q->dtype, inner);
    if (a->mask) j->mask_in = simd_cast_copy_between(k, inner, a->mask->dtype);
    return true;
}

/* parts [first, end) */
static rl_layout parts_layout(const rl_call *k, attention_job *j, const rl_count *parts, int first, int end) {
    rl_layout l = rl_layout_begin(k);
    for (int i = first; i < end; i++) j->part[i] = rl_layout_add(&l, parts[i], j->size);
    return l;
}

rl_status rl_attention_rooms(rl_call *k, attention_job *j, const rl_count *parts, int n) {
    for (int room = 0; room * RL_MAX_PARTS < n; room++) {
        const int first = room * RL_MAX_PARTS, end = first + RL_MAX_PARTS < n ? first + RL_MAX_PARTS : n;
        const rl_layout l = parts_layout(k, j, parts, first, end);
        if (!k->svc->rooms(k, &l, k->threads, &j->rooms[room])) return RL_FAIL;
    }
    return RL_OK;
}

/* ---- matrices ---- */
bool rl_attention_moves(const attention_job *j, const rl_view *v) {
    return j->in.convert || (v->strides[v->ndim - 1] != 1 && v->shape[v->ndim - 1] != 1);
}

attention_matrix rl_attention_load(const attention_job *j, const rl_view *v, int64_t batch, int64_t i0,
                                   int64_t i1, char *room) {
    const int64_t *stride = v->strides + v->ndim - 2, width = v->shape[v->ndim - 1];
    const char *from = rl_attention_at(&j->a, v, 2, batch, RL_READ) + i0 * stride[0] * j->item;
    if (!rl_attention_moves(j, v)) return (attention_matrix){from, stride[0]};
    for (int64_t i = 0; i < i1 - i0; i++)
        simd_cast_copy_run(&j->in, room + i * width * j->size, j->size, from + i * stride[0] * j->item,
                           stride[1] * j->item, width);
    return (attention_matrix){room, width};
}

void rl_attention_panels(const attention_job *j, const rl_view *v, int64_t batch, int64_t i0, int64_t i1,
                         double by, char *to) {
    const int64_t *stride = v->strides + v->ndim - 2, width = v->shape[v->ndim - 1], nr = j->gemm->nr;
    const char *from = rl_attention_at(&j->a, v, 2, batch, RL_READ);
    for (; i0 < i1; i0 += nr, to += nr * width * j->size) {
        rl_gemm_pack(&j->in, (int)j->size, to, nr, from + i0 * stride[0] * j->item, stride[0], stride[1],
                     simd_min(nr, i1 - i0), width);
        if (by != 1) j->ukernel->scale(to, nr * width, by);
    }
}

void rl_attention_store(const attention_job *j, const rl_view *v, int64_t batch, int64_t i,
                        const void *from) {
    const int64_t *stride = v->strides + v->ndim - 2;
    char *to = rl_attention_at(&j->a, v, 2, batch, RL_WRITE) + i * stride[0] * j->item;
    simd_cast_copy_run(&j->out, to, stride[1] * j->item, from, j->size, v->shape[v->ndim - 1]);
}

void rl_attention_mask_set(const attention_job *j, attention_rows *s, int64_t batch, int64_t i0, int64_t j0,
                           char *room) {
    const rl_attention *a = &j->a;
    if (!a->mask) return;
    const int64_t item = rl_itemsize(a->mask->dtype);
    s->mask_row = a->mask_row * item, s->mask_col = a->mask_col * item;
    s->mask = rl_attention_at(a, a->mask, 2, batch, RL_READ) + i0 * s->mask_row + j0 * s->mask_col;
    s->mask_in = &j->mask_in, s->mask_room = room, s->truth = a->mask->dtype == RL_BOOL;
}

void rl_attention_multiply(const attention_job *j, attention_gemm p) {
    const int64_t nr = j->gemm->nr;
    rl_panel panel = {.rows = p.rows, .k = p.k, .add = p.add, .a = p.a, .a_row = p.a_row, .a_col = p.a_col};
    panel.a_strip = j->gemm->mr * p.a_row, panel.b_step = p.b_row, panel.c_step = p.c_row;
    for (int64_t at = 0; at < p.cols; at += nr, p.b += p.b_panel * j->size) {
        panel.cols = (int)simd_min(nr, p.cols - at);
        panel.b = p.b, panel.c = p.c + at * j->size;
        j->gemm->panel(&panel);
    }
}
