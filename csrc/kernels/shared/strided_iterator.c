/* See Note [Strided iterators]. */
#include "strided_iterator.h"

void rl_iter_begin(rl_iter *w, const rl_view *first, int mode) {
    int64_t item = rl_itemsize(first->dtype);
    w->nops = 1;
    w->ndim = first->ndim;
    w->numel = first->numel;
    w->base[0] = rl_data(first, mode);
    for (int d = 0; d < first->ndim; d++) {
        w->size[d] = first->shape[d];
        w->stride[0][d] = first->strides[d] * item;
    }
}

void rl_iter_over(rl_iter *w, const rl_view *a, const rl_view *b) {
    const rl_view *long_ = a->ndim >= b->ndim ? a : b, *other = a->ndim >= b->ndim ? b : a;
    w->nops = 1;
    w->ndim = long_->ndim;
    w->numel = 1;
    w->base[0] = rl_data(a, RL_READ);
    for (int d = 0; d < w->ndim; d++) {
        const int from = d - (w->ndim - other->ndim);
        w->size[d] = from >= 0 && long_->shape[d] == 1 ? other->shape[from] : long_->shape[d];
        w->stride[0][d] = 0;
        w->numel *= w->size[d];
    }
}

void rl_iter_add(rl_iter *w, const rl_view *v) {
    int64_t item = rl_itemsize(v->dtype), *stride = w->stride[w->nops];
    w->base[w->nops++] = rl_data(v, RL_READ);
    for (int d = 0; d < w->ndim; d++) {
        int from = d - (w->ndim - v->ndim);
        stride[d] = from < 0 || v->shape[from] == 1 ? 0 : v->strides[from] * item;
    }
}

void rl_iter_drop(rl_iter *w, uint64_t dims) {
    int to = 0;
    for (int d = 0; d < w->ndim; d++) {
        if (dims >> d & 1) continue;
        w->size[to] = w->size[d];
        for (int i = 0; i < w->nops; i++) w->stride[i][to] = w->stride[i][d];
        to++;
    }
    w->ndim = to;
    w->numel = 1;
    for (int d = 0; d < to; d++) w->numel *= w->size[d];
}

static void iter_swap(rl_iter *w, int a, int b) {
    int64_t t = w->size[a];
    w->size[a] = w->size[b];
    w->size[b] = t;
    for (int i = 0; i < w->nops; i++) {
        t = w->stride[i][a];
        w->stride[i][a] = w->stride[i][b];
        w->stride[i][b] = t;
    }
}

void rl_iter_sort(rl_iter *w, int op) {
    const int64_t *stride = w->stride[op];
    for (int d = 1; d < w->ndim; d++)
        for (int e = d; e > 0 && stride[e] > stride[e - 1]; e--) iter_swap(w, e, e - 1);
}

static bool iter_joins(const rl_iter *w, int outer, int inner) {
    for (int i = 0; i < w->nops; i++)
        if (w->stride[i][outer] != w->stride[i][inner] * w->size[inner]) return false;
    return true;
}

void rl_iter_merge(rl_iter *w) {
    int to = -1;
    for (int d = 0; d < w->ndim; d++) {
        if (w->size[d] == 1) continue;
        bool joins = to >= 0 && iter_joins(w, to, d);
        if (joins) {
            w->size[to] *= w->size[d];
        } else {
            w->size[++to] = w->size[d];
        }
        for (int i = 0; i < w->nops; i++) w->stride[i][to] = w->stride[i][d];
    }
    if (to < 0) { /* one element */
        to = 0;
        w->size[0] = 1;
        for (int i = 0; i < w->nops; i++) w->stride[i][0] = 0;
    }
    w->ndim = to + 1;
}

void rl_iter_seek(const rl_iter *w, int64_t at, char **p) {
    for (int d = w->ndim - 1; d >= 0 && at; d--) {
        int64_t index = at % w->size[d];
        at /= w->size[d];
        for (int i = 0; i < w->nops; i++) p[i] += index * w->stride[i][d];
    }
}

void rl_iter_range(const rl_iter *w, int64_t begin, int64_t end, rl_inner_loop loop, const void *ctx) {
    int64_t index[RL_MAX_DIMS], step[RL_ITER_OPS];
    char *p[RL_ITER_OPS];
    int last = w->ndim - 1;
    if (begin >= end) return;
    for (int i = 0; i < w->nops; i++) {
        p[i] = w->base[i];
        step[i] = last < 0 ? 0 : w->stride[i][last];
    }
    if (last < 0) {
        loop(p, step, 1, ctx);
        return;
    }
    rl_iter_seek(w, begin, p);
    for (int64_t d = last, at = begin; d >= 0; at /= w->size[d--]) index[d] = at % w->size[d];
    for (;;) {
        int64_t n = w->size[last] - index[last];
        if (n > end - begin) n = end - begin;
        loop(p, step, n, ctx);
        begin += n;
        if (begin >= end) return;
        for (int i = 0; i < w->nops; i++) p[i] -= index[last] * step[i];
        index[last] = 0;
        for (int d = last - 1; d >= 0; d--) {
            for (int i = 0; i < w->nops; i++) p[i] += w->stride[i][d];
            if (++index[d] < w->size[d]) break;
            for (int i = 0; i < w->nops; i++) p[i] -= w->stride[i][d] * w->size[d];
            index[d] = 0;
        }
    }
}

typedef struct {
    const rl_iter *iter;
    rl_inner_loop loop;
    const void *ctx;
} iter_job;

static void iter_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const iter_job *job = ctx;
    (void)thread;
    rl_iter_range(job->iter, begin, end, job->loop, job->ctx);
}

void rl_iter_parallel(rl_call *k, const rl_iter *w, double ns, rl_inner_loop loop, const void *ctx) {
    iter_job job = {w, loop, ctx};
    k->svc->parallel(k, w->numel, ns, iter_part, &job);
}

void rl_iter_each(rl_call *k, rl_iter *w, double ns, rl_inner_loop loop, const void *ctx) {
    rl_iter_merge(w);
    if (w->ndim > 1) {
        rl_iter_sort(w, 0);
        rl_iter_merge(w);
    }
    rl_iter_parallel(k, w, ns, loop, ctx);
}

/* ---- sums ---- */
enum { PIECE = 1 << 15, PIECES = 1 << 10 };
typedef struct {
    const rl_iter *iter;
    rl_inner_loop_total loop;
    const void *ctx;
    int64_t piece;
    double sum[PIECES];
} total_job;
typedef struct {
    const total_job *job;
    double sum;
} total_piece;

static void total_loop(char *const *p, const int64_t *step, int64_t n, const void *ctx) {
    total_piece *piece = (total_piece *)ctx;
    piece->sum += piece->job->loop(p, step, n, piece->job->ctx);
}

static void total_part(void *ctx, int64_t begin, int64_t end, int thread) {
    total_job *job = ctx;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        total_piece piece = {.job = job};
        const int64_t from = i * job->piece, left = job->iter->numel - from;
        rl_iter_range(job->iter, from, from + (left < job->piece ? left : job->piece), total_loop, &piece);
        job->sum[i] = piece.sum;
    }
}

double rl_iter_total(rl_call *k, const rl_iter *w, double ns, rl_inner_loop_total loop, const void *ctx) {
    total_job job;
    const int64_t least = w->numel / PIECES + 1;
    double total = 0;
    job.iter = w, job.loop = loop, job.ctx = ctx;
    job.piece = least > PIECE ? least : PIECE;
    const int64_t pieces = (w->numel + job.piece - 1) / job.piece;
    k->svc->parallel(k, pieces, ns * (double)job.piece, total_part, &job);
    for (int64_t i = 0; i < pieces; i++) total += job.sum[i];
    return total;
}
