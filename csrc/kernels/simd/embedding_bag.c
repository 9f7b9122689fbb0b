/* embedding_bag in vectors: reduces rows of a table by bags. */
#include "kernels/shared/embedding_bag.h"
#include "common.h"
#include <string.h>

/* Note [Embedding bags by vectors]
 * Forward, a thread takes whole bags and keeps BAG_VECTORS vectors of a row in registers while it goes
 * through a bag; rows that come next are asked for AHEAD, since tables are larger than caches. Backward every
 * thread goes through all indices and adds up its own columns, so that two indices of one row never meet: the
 * order of the sums is that of the indices whatever the number of threads. */
typedef struct {
    rl_embedding_bags bags;
    const rl_view *table, *grad, *out;
    int dtype;
    int64_t parts; /* of the columns */
} bag_job;
enum { BAG_VECTORS = 4, AHEAD = 12 };

#define ISA_IMPL "embedding_bag_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

static const simd_body joins[2][RL_ISA_END] = {ISA_TABLE(bag_join), ISA_TABLE_F64(bag_join)},
                       adds[2][RL_ISA_END] = {ISA_TABLE(bag_add), ISA_TABLE_F64(bag_add)},
                       dots[2][RL_ISA_END] = {ISA_TABLE(bag_dot), ISA_TABLE_F64(bag_dot)};

/* The text for a dtype and this machine; NULL: left to the next kernel. */
static simd_body body_of(const rl_call *k, const simd_body table[2][RL_ISA_END], int dtype) {
    return table[dtype == RL_F64][k->svc->isa];
}
static bool is_runs(const rl_view *v) {
    return v->strides[1] == 1 || v->shape[1] <= 1;
}
static bool is_whole(const rl_view *v) {
    return v->dtype == RL_F32 || v->dtype == RL_F64;
}
static double rows_of(const rl_embedding_bags *b) { /* of a bag, and what a bag takes besides */
    return b->bags ? (double)b->n / (double)b->bags + 1 : 1;
}

RL_CHOOSER
RL_KERNEL(simd_embedding_bag) {
    const rl_view *table = k->arg[0].u.t;
    const simd_body run = body_of(k, joins, table->dtype);
    bag_job j = {.table = table, .out = k->out[0], .dtype = table->dtype};
    if (!run || !is_runs(table) || k->arg[4].u.i == RL_EMBEDDING_BAG_MAX ||
        (!is_whole(table) && table->shape[1] % 16))
        return RL_UNSUPPORTED;
    if (rl_embedding_bags_forward(k, &j.bags) != RL_OK) return RL_FAIL;
    k->svc->parallel(k, j.bags.bags, rows_of(&j.bags) * (2 + 0.1 * (double)j.bags.width), run, &j);
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_embedding_bag_back) {
    const rl_view *grad = k->arg[0].u.t;
    const simd_body run = body_of(k, adds, grad->dtype);
    bag_job j = {.grad = grad, .out = k->out[0], .dtype = grad->dtype};
    if (!run || !is_whole(grad) || !is_runs(grad) || k->arg[8].u.i == RL_EMBEDDING_BAG_MAX)
        return RL_UNSUPPORTED;
    if (rl_embedding_bags_backward(k, &j.bags) != RL_OK) return RL_FAIL;
    if (j.out->numel == 0) return RL_OK;
    const double work = (double)j.bags.n * (2 + 0.2 * (double)j.bags.width) + 0.1 * (double)j.out->numel;
    j.parts = simd_max(1, simd_min(k->threads, j.bags.width / 16));
    k->svc->parallel(k, j.parts, work / (double)j.parts, run, &j);
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_embedding_bag_weights_back) {
    const rl_view *grad = k->arg[0].u.t, *table = k->arg[1].u.t;
    const simd_body run = body_of(k, dots, grad->dtype);
    bag_job j = {.grad = grad, .table = table, .out = k->out[0], .dtype = grad->dtype};
    if (!run || !is_whole(grad) || !is_runs(grad) || !is_runs(table)) return RL_UNSUPPORTED;
    if (rl_embedding_bags_weights(k, &j.bags) != RL_OK) return RL_FAIL;
    memset(rl_data(j.out, RL_WRITE), 0, (size_t)(j.out->numel * rl_itemsize(j.dtype)));
    k->svc->parallel(k, j.bags.bags, rows_of(&j.bags) * (2 + 0.1 * (double)j.bags.width), run, &j);
    return RL_OK;
}
