/* matmul of float32 matrices with any strides, vectors, and batches of equal leading dimensions. */
#include "common.h"
#include "product_dot.h"
#include "product_gemm.h"

/* One product: element (i, k) of A at a[i * a_row + k * a_col], the same for B; C is dense. */
typedef struct {
    int64_t m, n, k;
    const float *a, *b;
    int64_t a_row, a_col, b_row, b_col;
    float *c;
} product;

/* B is used where it lies when its rows are dense and few rows of A would repay packing it. */
static bool matmul_packs(const product *p) {
    return p->b_col != 1 || p->m >= 48;
}

static rl_count matmul_room_b(const rl_gemm_kit *kit, const product *p) {
    int64_t panels = matmul_packs(p) ? simd_ceil_div(p->n, kit->nr) : 1;
    return rl_count_round_up(RL_COUNT(panels, kit->nr, p->k), 16);
}

/* Fills g; `room` takes the packed panels. k is NULL when this thread should do it all. */
static void matmul_gemm(rl_call *k, const rl_gemm_kit *kit, const product *p, float *room, rl_gemm *g) {
    int64_t whole = p->n / kit->nr, tail = whole * kit->nr;
    *g = (rl_gemm){.m = p->m, .n = p->n, .k = p->k, .a = p->a, .a_row = p->a_row, .a_col = p->a_col};
    g->c = p->c, g->c_step = p->n;
    if (matmul_packs(p)) {
        if (k)
            rl_gemm_pack_b_shared(k, room, kit->nr, p->b, p->n, p->k, p->b_row, p->b_col);
        else
            rl_gemm_pack_b(room, kit->nr, p->b, p->n, p->k, p->b_row, p->b_col);
        g->b = room, g->b_step = kit->nr, g->b_panel = kit->nr * p->k;
        g->b_tail = room + whole * g->b_panel;
    } else {
        g->b = p->b, g->b_step = p->b_row, g->b_panel = kit->nr;
        g->b_tail = room;
        if (tail < p->n)
            rl_gemm_pack_b(room, kit->nr, p->b + tail * p->b_col, p->n - tail, p->k, p->b_row, p->b_col);
    }
}

static rl_status matmul_one(rl_call *k, const rl_gemm_kit *kit, const product *p) {
    if (p->m <= RL_DOT_ROWS && p->a_col == 1 && p->b_row == 1) {
        rl_dot d = {p->m, p->n, p->k, p->a, p->b, NULL, p->a_row, p->b_col, p->c, p->n, 1};
        return rl_dot_run(k, &d);
    }
    if (p->n <= RL_DOT_ROWS && p->a_col == 1 && p->b_row == 1) { /* A takes the matrix's part */
        rl_dot d = {p->n, p->m, p->k, p->b, p->a, NULL, p->b_col, p->a_row, p->c, 1, p->n};
        return rl_dot_run(k, &d);
    }
    if (p->m <= RL_DOT_ROWS && p->b_col == 1) {
        rl_fan f = {p->m, p->n, p->k, p->a, p->b, p->a_row, p->a_col, p->b_row, p->c, p->n};
        return rl_fan_run(k, &f);
    }
    rl_gemm g;
    float *room = rl_gemm_scratch(k, matmul_room_b(kit, p));
    if (!room) return RL_FAIL;
    matmul_gemm(k, kit, p, room, &g);
    return rl_gemm_run(k, kit, &g);
}

typedef struct {
    const rl_gemm_kit *kit;
    product p; /* of batch 0 */
    const rl_view *a, *b;
    int dims; /* leading dimensions */
    float *room;
    int64_t room_b, room_step;
} batch_job;

static product batch_at(const batch_job *j, int64_t i) {
    product p = j->p;
    p.c += i * p.m * p.n;
    for (int d = j->dims - 1; d >= 0; d--) {
        int64_t at = i % j->a->shape[d];
        i /= j->a->shape[d];
        p.a += at * j->a->strides[d];
        p.b += at * j->b->strides[d];
    }
    return p;
}

static void batch_chunk(void *ctx, int64_t begin, int64_t end, int thread) {
    const batch_job *j = ctx;
    float *room = j->room + thread * j->room_step;
    for (int64_t i = begin; i < end; i++) {
        product p = batch_at(j, i);
        rl_gemm g;
        matmul_gemm(NULL, j->kit, &p, room, &g);
        rl_gemm_block(j->kit, &g, 0, g.m, 0, simd_ceil_div(g.n, j->kit->nr), room + j->room_b);
    }
}

enum { LARGE = 1 << 21 }; /* multiply-adds of a product that threads share */

static rl_status matmul_batch(rl_call *k, batch_job *j, int64_t count) {
    int64_t threads = simd_max(1, k->threads), work = RL_COUNT(j->p.m, j->p.n, j->p.k).n;
    if (work < 0) work = INT64_MAX - 1;
    if (work >= LARGE) { /* whatever the threads: the two ways add up in different orders */
        for (int64_t i = 0; i < count; i++) {
            product p = batch_at(j, i);
            rl_status s = matmul_one(k, j->kit, &p);
            if (s != RL_OK) return s;
        }
        return RL_OK;
    }
    rl_gemm shape = {.m = j->p.m, .n = j->p.n, .k = j->p.k, .a_col = j->p.a_col};
    rl_count room_b = matmul_room_b(j->kit, &j->p),
             room = rl_count_plus(room_b, rl_gemm_room(j->kit, &shape));
    j->room_b = room_b.n, j->room_step = room.n;
    double ns = RL_GEMM_NS * (double)work;
    j->room = rl_gemm_scratch(k, rl_count_times(room, rl_is_serial(k, count, ns) ? 1 : threads));
    if (!j->room) return RL_FAIL;
    k->svc->parallel(k, count, ns, batch_chunk, j);
    return RL_OK;
}

RL_KERNEL(simd_matmul) {
    const rl_view *a = rl_in(k, 0), *b = rl_in(k, 1), *out = k->out[0];
    const rl_gemm_kit *kit = rl_gemm_kit_get(k);
    if (!kit || !a || !b || a->dtype != RL_F32 || b->dtype != RL_F32 || !rl_is_plain(out) ||
        out->numel == 0 || a->ndim < 1 || b->ndim < 1)
        return RL_UNSUPPORTED;
    int an = a->ndim, bn = b->ndim;
    product p = {.a = rl_const_data(a), .b = rl_const_data(b)};
    /* a vector on the left is one row, on the right one column */
    p.m = an > 1 ? a->shape[an - 2] : 1, p.k = a->shape[an - 1], p.n = bn > 1 ? b->shape[bn - 1] : 1;
    p.a_row = an > 1 ? a->strides[an - 2] : p.k, p.a_col = a->strides[an - 1];
    p.b_row = bn > 1 ? b->strides[bn - 2] : b->strides[0], p.b_col = bn > 1 ? b->strides[bn - 1] : p.k;
    if (p.k == 0) return RL_UNSUPPORTED;
    if (p.k == 1) p.a_col = 1; /* a stride over one element says nothing */
    int64_t count = 1;
    if (an > 2 && bn <= 2) { /* the leading dimensions of a dense A are more rows */
        if (!rl_is_contiguous(a)) return RL_UNSUPPORTED;
        p.m = a->numel / p.k, p.a_row = p.k, p.a_col = 1;
    } else if (an > 2 || bn > 2) {
        if (an != bn) return RL_UNSUPPORTED;
        for (int d = 0; d < an - 2; d++) {
            if (a->shape[d] != b->shape[d]) return RL_UNSUPPORTED;
            count *= a->shape[d];
        }
    }
    p.c = rl_data(out, RL_WRITE);
    if (count == 1) return matmul_one(k, kit, &p);
    batch_job j = {.kit = kit, .p = p, .a = a, .b = b, .dims = an - 2};
    return matmul_batch(k, &j, count);
}
