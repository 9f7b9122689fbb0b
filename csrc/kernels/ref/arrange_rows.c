/* Elements that move in runs: roll, and the triangles of matrices. */
#include "arrange.h"
#include <string.h>

static int64_t shift_within(int64_t shift, int64_t size) {
    int64_t rest = shift % size;
    return rest < 0 ? rest + size : rest;
}

/* ---- roll of the flat tensor: element i goes to i + shift ---- */
typedef struct {
    rl_walk to, from;
    int64_t shift, step[2];
    rl_strip copy;
} flat_job;

static inline int64_t run_at(const rl_walk *w, int64_t at) { /* elements from here to the end of its line */
    const int64_t width = w->size[w->ndim - 1];
    return width - at % width;
}

static void flat_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const flat_job *job = ctx;
    const int64_t n = job->from.numel;
    (void)thread;
    for (int64_t i = begin, run; i < end; i += run) {
        const int64_t at = i < n - job->shift ? i + job->shift : i + job->shift - n;
        const int64_t room = run_at(&job->to, at);
        char *p[2] = {job->to.base[0], job->from.base[0]};
        run = run_at(&job->from, i);
        if (run > room) run = room;
        if (run > n - at) run = n - at;
        if (run > end - i) run = end - i;
        rl_walk_seek(&job->to, at, &p[0]);
        rl_walk_seek(&job->from, i, &p[1]);
        job->copy(p, job->step, run, NULL);
    }
}

static void roll_flat(rl_call *k, int64_t shift) {
    const rl_view *x = k->arg[0].u.t;
    flat_job job = {.shift = shift_within(shift, x->numel), .copy = rl_strip_copy(rl_itemsize(x->dtype))};
    rl_walk_begin(&job.to, k->out[0], RL_WRITE);
    rl_walk_begin(&job.from, x, RL_READ);
    rl_walk_merge(&job.to);
    rl_walk_merge(&job.from);
    job.step[0] = job.to.stride[0][job.to.ndim - 1];
    job.step[1] = job.from.stride[0][job.from.ndim - 1];
    k->svc->parallel(k, x->numel, RL_REF_NS, flat_part, &job);
}

/* ---- roll along dims: each has a part that moves on and one that comes in again, and all pairs of parts
 * are boxes ---- */
static void roll_boxes(rl_call *k, const rl_walk *whole, const int64_t *shift, int dim, int64_t item) {
    while (dim < whole->ndim && shift[dim] == 0) dim++;
    if (dim == whole->ndim) {
        rl_walk box = *whole;
        rl_copy_walk(k, &box, item);
        return;
    }
    const int64_t size = whole->size[dim];
    for (int again = 0; again < 2; again++) {
        rl_walk part = *whole;
        part.size[dim] = again ? shift[dim] : size - shift[dim];
        part.numel = whole->numel / size * part.size[dim];
        if (again)
            part.base[1] += (size - shift[dim]) * part.stride[1][dim];
        else
            part.base[0] += shift[dim] * part.stride[0][dim];
        roll_boxes(k, &part, shift, dim + 1, item);
    }
}

RL_KERNEL(ref_roll) {
    const rl_view *x = k->arg[0].u.t;
    rl_ints shifts = rl_ints_of(k, 1), dims = rl_ints_of(k, 2); /* as many, or one shift without dims */
    int64_t shift[RL_MAX_DIMS] = {0};
    rl_walk w;
    if (x->numel == 0) return RL_OK;
    if (dims.n == 0) {
        roll_flat(k, shifts.at[0]);
        return RL_OK;
    }
    for (int i = 0; i < dims.n; i++) {
        const int64_t d = dims.at[i] < 0 ? dims.at[i] + x->ndim : dims.at[i], size = x->shape[d];
        shift[d] = shift_within(shift[d] + shift_within(shifts.at[i], size), size);
    }
    rl_walk_pair(&w, k->out[0], x);
    roll_boxes(k, &w, shift, 0, rl_itemsize(x->dtype));
    return RL_OK;
}

/* ---- triangles: each row keeps the columns [0, cut) or [cut, n) ---- */
typedef struct {
    rl_walk rows; /* operands output, input; without columns */
    int64_t row_count, columns, step[2], item, diagonal;
    bool lower;
    rl_strip copy;
} triangle_job;

static int64_t triangle_cut(const triangle_job *job, int64_t row) {
    /* diagonals may be as far away as an int64 can say */
    if (job->diagonal >= job->columns) return job->columns;
    if (job->diagonal < -job->row_count) return 0;
    const int64_t cut = row + job->diagonal + job->lower;
    return cut < 0 ? 0 : cut > job->columns ? job->columns : cut;
}

static void triangle_zero(const triangle_job *job, char *to, int64_t n) {
    static const uint64_t zero[2];
    if (job->step[0] == job->item)
        memset(to, 0, (size_t)(n * job->item));
    else
        job->copy((char *const[2]){to, (char *)zero}, (const int64_t[2]){job->step[0], 0}, n, NULL);
}

static void triangle_row(const triangle_job *job, char *to, char *from, int64_t cut) {
    const int64_t first = job->lower ? 0 : cut, last = job->lower ? cut : job->columns;
    char *kept[2] = {to + first * job->step[0], from + first * job->step[1]};
    if (last > first) job->copy(kept, job->step, last - first, NULL);
    if (job->lower)
        triangle_zero(job, to + cut * job->step[0], job->columns - cut);
    else
        triangle_zero(job, to, cut);
}

static void triangle_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const triangle_job *job = ctx;
    const int last = job->rows.ndim - 1;
    (void)thread;
    while (begin < end) { /* one matrix, or what of it is asked for */
        char *p[2] = {job->rows.base[0], job->rows.base[1]};
        const int64_t row = begin % job->row_count, left = end - begin;
        const int64_t n = job->row_count - row < left ? job->row_count - row : left;
        rl_walk_seek(&job->rows, begin, p);
        for (int64_t i = 0; i < n; i++) {
            triangle_row(job, p[0], p[1], triangle_cut(job, row + i));
            p[0] += job->rows.stride[0][last];
            p[1] += job->rows.stride[1][last];
        }
        begin += n;
    }
}

static rl_status triangle(rl_call *k, bool lower) {
    const rl_view *x = k->arg[0].u.t;
    int n = x->ndim;
    triangle_job job = {.row_count = x->shape[n - 2],
                        .columns = x->shape[n - 1],
                        .item = rl_itemsize(x->dtype),
                        .diagonal = k->arg[1].u.i,
                        .lower = lower};
    if (x->numel == 0) return RL_OK;
    job.copy = rl_strip_copy(job.item);
    rl_walk_begin(&job.rows, k->out[0], RL_WRITE);
    rl_walk_add(&job.rows, x);
    for (int i = 0; i < 2; i++) job.step[i] = job.rows.stride[i][n - 1];
    rl_walk_drop(&job.rows, 1ull << (n - 1));
    /* rows are runs: a call or two, then what memory gives */
    k->svc->parallel(k, job.rows.numel, 15 + 0.1 * (double)job.columns, triangle_part, &job);
    return RL_OK;
}

RL_KERNEL(ref_tril) {
    return triangle(k, true);
}
RL_KERNEL(ref_triu) {
    return triangle(k, false);
}
