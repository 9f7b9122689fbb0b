/* QR by Householder's reflections, in double, with the signs of LAPACK's geqrf. */
#include "loops.h"
#include <math.h>

/* Note [Reflections]
 * a (rows x cols, row by row) becomes R on and above the diagonal; below it, column j keeps the vector of
 * H_j = I - tau_j v v', v[j] = 1, that made it so. A column that is zero below the diagonal has tau 0: its
 * sign stays. */
typedef struct {
    int64_t rows, cols, least;
    double *a, *tau, *q;
} matrix;

/* column j: v, tau and the new diagonal element */
static void reflection_make(matrix *m, int64_t j) {
    double *a = m->a, square = 0, alpha = a[j * m->cols + j];
    for (int64_t i = j + 1; i < m->rows; i++) square += a[i * m->cols + j] * a[i * m->cols + j];
    m->tau[j] = 0;
    if (square == 0) return;
    double beta = -copysign(sqrt(alpha * alpha + square), alpha);
    m->tau[j] = (beta - alpha) / beta;
    for (int64_t i = j + 1; i < m->rows; i++) a[i * m->cols + j] /= alpha - beta;
    a[j * m->cols + j] = beta;
}

/* columns [from, to) of `target` (width columns) become H_j times themselves */
static void reflection_apply(const matrix *m, int64_t j, double *target, int64_t width, int64_t from) {
    for (int64_t c = from; c < width; c++) {
        double sum = target[j * width + c];
        for (int64_t i = j + 1; i < m->rows; i++) sum += m->a[i * m->cols + j] * target[i * width + c];
        sum *= m->tau[j];
        target[j * width + c] -= sum;
        for (int64_t i = j + 1; i < m->rows; i++) target[i * width + c] -= sum * m->a[i * m->cols + j];
    }
}

static void factorise(matrix *m) {
    for (int64_t j = 0; j < m->least; j++) {
        reflection_make(m, j);
        reflection_apply(m, j, m->a, m->cols, j + 1);
    }
}

/* Q = H_0 H_1 ... times the first `width` columns of I */
static void orthogonal(matrix *m, int64_t width) {
    for (int64_t i = 0; i < m->rows; i++)
        for (int64_t c = 0; c < width; c++) m->q[i * width + c] = i == c;
    for (int64_t j = m->least - 1; j >= 0; j--) reflection_apply(m, j, m->q, width, 0);
}

RL_KERNEL(ref_qr) {
    const rl_view *x = k->arg[0].u.t, *r = k->out[1];
    int n = x->ndim, dtype = x->dtype;
    int64_t width = k->attr[0], item = rl_itemsize(dtype);
    matrix m = {.rows = x->shape[n - 2], .cols = x->shape[n - 1]};
    m.least = m.rows < m.cols ? m.rows : m.cols;
    bool wanted = k->attr[1] != 0;
    char *to_q = rl_data(k->out[0], RL_WRITE), *to_r = rl_data(r, RL_WRITE);
    if (k->out[0]->numel == 0 && r->numel == 0) return RL_OK;
    m.a = k->svc->scratch(k, RL_COUNT(m.rows, m.cols), sizeof *m.a);
    m.tau = k->svc->scratch(k, RL_COUNT(m.least), sizeof *m.tau);
    m.q = k->svc->scratch(k, RL_COUNT(wanted ? m.rows : 0, width), sizeof *m.q);
    if (!m.a || !m.tau || !m.q) return RL_FAIL;
    rl_walk batch;
    rl_walk_begin(&batch, x, RL_READ);
    rl_walk_drop(&batch, 3ull << (n - 2));
    rl_walk_merge(&batch);
    for (int64_t b = 0; b < batch.numel; b++) {
        char *from = batch.base[0];
        rl_walk_seek(&batch, b, &from);
        for (int64_t i = 0; i < m.rows; i++)
            rl_row_doubles(dtype, from + i * x->strides[n - 2] * item, x->strides[n - 1] * item, m.cols,
                           m.a + i * m.cols);
        factorise(&m);
        if (wanted) {
            orthogonal(&m, width);
            rl_row_put_doubles(dtype, to_q + b * m.rows * width * item, item, m.rows * width, m.q);
        }
        for (int64_t i = 0; i < width; i++)
            for (int64_t c = 0; c < m.cols; c++)
                rl_row_put_double(dtype, to_r + ((b * width + i) * m.cols + c) * item,
                                  c < i ? 0 : m.a[i * m.cols + c]);
    }
    return RL_OK;
}
