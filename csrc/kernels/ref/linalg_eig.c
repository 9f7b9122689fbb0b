/* Our own eigenvalues of any square matrix: reflections to Hessenberg's form, then QR steps with two shifts
 * at once until it is triangular but for blocks of two (Francis, 1961), and vectors from the bottom up. */
#include "linalg.h"
#include <float.h>
#include <math.h>

typedef struct {
    int64_t n;
    double *h, *v, *re, *im; /* v NULL: only values */
} hess;
#define H(i, c) t->h[(i) + (c) * t->n]
#define Z(i, c) t->v[(i) + (c) * t->n]

static void hessenberg(hess *t, double *sum) {
    int64_t n = t->n;
    for (int64_t i = 0; t->v && i < n * n; i++) t->v[i] = i % (n + 1) == 0;
    for (int64_t c = 0; c + 2 < n; c++) {
        double *x = &H(c + 1, c), tau = rl_own_reflect(n - c - 1, x, x + 1), beta = x[0];
        if (tau == 0) continue;
        for (int64_t k = c + 1; k < n; k++)
            rl_own_reflected(n - c - 1, tau, x + 1, &H(c + 1, k), &H(c + 1, k) + 1);
        x[0] = 1;
        for (int side = 0; side < 2; side++) { /* H from the right, then V */
            double *m = side ? t->v : t->h;
            if (!m) continue;
            for (int64_t i = 0; i < n; i++) sum[i] = 0;
            for (int64_t k = c + 1; k < n; k++) rl_own_axpy(n, x[k - c - 1], m + k * n, sum);
            for (int64_t k = c + 1; k < n; k++) rl_own_axpy(n, -tau * x[k - c - 1], sum, m + k * n);
        }
        x[0] = beta;
        for (int64_t i = 1; i < n - c - 1; i++) x[i] = 0;
    }
}

/* the last block of two: its eigenvalues, and the turn that makes it triangular where they are real */
static void split_two(hess *t, int64_t lo) {
    int64_t hi = lo + 1, n = t->n;
    double a = H(lo, lo), b = H(lo, hi), c = H(hi, lo), d = H(hi, hi), p = 0.5 * (a - d);
    double scale = fmax(fabs(p), fmax(fabs(b), fabs(c)));
    double q = scale ? p / scale * p + b / scale * c : 0; /* over scale */
    if (q < 0) {
        t->re[lo] = t->re[hi] = d + p;
        t->im[lo] = sqrt(scale) * sqrt(-q);
        t->im[hi] = -t->im[lo];
        return;
    }
    double z = p + copysign(sqrt(scale) * sqrt(q), p);
    t->im[lo] = t->im[hi] = 0;
    if (c == 0) {
        t->re[lo] = a;
        t->re[hi] = d;
        return;
    }
    t->re[lo] = d + z;
    t->re[hi] = z != 0 ? d - b / z * c : t->re[lo];
    double r = hypot(c, z), cosine = z / r, sine = c / r;
    for (int64_t k = lo; k < n; k++) {
        double x = H(lo, k), y = H(hi, k);
        H(lo, k) = cosine * x + sine * y;
        H(hi, k) = cosine * y - sine * x;
    }
    rl_own_turn(hi + 1, cosine, sine, &H(0, lo), &H(0, hi));
    if (t->v) rl_own_turn(n, cosine, sine, &Z(0, lo), &Z(0, hi));
    H(hi, lo) = 0;
}

/* a reflection of three (or, at the end, two) neighbours */
static void chase_one(hess *t, int64_t k, int64_t hi, bool begins, double *p) {
    int64_t n = t->n, width = k + 2 <= hi ? 3 : 2;
    double x[3] = {p[0], p[1], width == 3 ? p[2] : 0};
    double tau = rl_own_reflect(width, x, x + 1);
    if (!begins) {
        H(k, k - 1) = x[0];
        for (int64_t i = 1; i < width; i++) H(k + i, k - 1) = 0;
    }
    if (tau == 0) return;
    const double v[3] = {1, x[1], width == 3 ? x[2] : 0};
    for (int64_t c = k; c < n; c++) {
        double sum = 0;
        for (int64_t i = 0; i < width; i++) sum += v[i] * H(k + i, c);
        for (int64_t i = 0; i < width; i++) H(k + i, c) -= tau * sum * v[i];
    }
    int64_t last = k + 3 < hi ? k + 3 : hi;
    for (int side = 0; side < 2; side++) {
        double *m = side ? t->v : t->h;
        for (int64_t r = 0, rows = side ? n : last + 1; m && r < rows; r++) {
            double sum = 0;
            for (int64_t i = 0; i < width; i++) sum += v[i] * m[r + (k + i) * n];
            for (int64_t i = 0; i < width; i++) m[r + (k + i) * n] -= tau * sum * v[i];
        }
    }
}

static void double_step(hess *t, int64_t lo, int64_t hi, bool unusual) {
    double a = H(hi - 1, hi - 1), d = H(hi, hi), bc = H(hi - 1, hi) * H(hi, hi - 1);
    if (unusual) { /* other shifts, where the usual ones go round in a circle */
        double s = fabs(H(hi, hi - 1)) + (hi - 2 >= lo ? fabs(H(hi - 1, hi - 2)) : 0);
        a = d = 0.75 * s + H(hi, hi);
        bc = -0.4375 * s * s;
    }
    double sum = a + d, det = a * d - bc;
    for (int64_t k = lo; k < hi; k++) {
        double p[3];
        if (k == lo) {
            double h00 = H(lo, lo), h10 = H(lo + 1, lo), size;
            p[0] = h00 * h00 + H(lo, lo + 1) * h10 - sum * h00 + det;
            p[1] = h10 * (h00 + H(lo + 1, lo + 1) - sum);
            p[2] = lo + 2 <= hi ? h10 * H(lo + 2, lo + 1) : 0;
            size = fabs(p[0]) + fabs(p[1]) + fabs(p[2]);
            for (int i = 0; size > 0 && i < 3; i++) p[i] /= size;
        } else {
            for (int i = 0; i < 3; i++) p[i] = k + i <= hi ? H(k + i, k - 1) : 0;
        }
        chase_one(t, k, hi, k == lo, p);
    }
}

/* 0, or how many eigenvalues were not found */
static int64_t triangular(hess *t) {
    int64_t hi = t->n - 1, steps = 0, left = 30 * (t->n > 10 ? t->n : 10);
    while (hi >= 0) {
        int64_t lo = hi;
        for (; lo > 0; lo--) {
            double near = fabs(H(lo - 1, lo - 1)) + fabs(H(lo, lo)), side = fabs(H(lo, lo - 1));
            if (side <= DBL_EPSILON * (near > 0 ? near : 1) || side < DBL_MIN) { /* of 1, or scaled */
                H(lo, lo - 1) = 0;
                break;
            }
        }
        if (lo == hi) {
            t->re[hi] = H(hi, hi);
            t->im[hi] = 0;
            hi--;
            steps = 0;
        } else if (lo == hi - 1) {
            split_two(t, lo);
            hi -= 2;
            steps = 0;
        } else {
            if (left-- == 0) return hi + 1;
            steps++;
            double_step(t, lo, hi, steps % 10 == 0);
        }
    }
    return 0;
}

/* (a + ib) / (c + id) */
static void divide(double a, double b, double c, double d, double *re, double *im) {
    if (fabs(c) > fabs(d)) {
        double r = d / c, n = c + r * d;
        *re = (a + r * b) / n;
        *im = (b - r * a) / n;
    } else {
        double r = c / d, n = d + r * c;
        *re = (r * a + b) / n;
        *im = (r * b - a) / n;
    }
}

/* The vector of eigenvalue number e of the triangular H, real in x or complex in x and y: from e up. */
static void back(const hess *t, int64_t e, double *x, double *y, double tiny) {
    double re = t->re[e], im = t->im[e];
    int64_t from = e;
    for (int64_t i = 0; i < t->n; i++) x[i] = y[i] = 0;
    x[e] = 1;
    if (im != 0) { /* e is the first of a pair, whose block is [a b; c d] */
        int64_t f = e + 1;
        if (fabs(H(e, f)) >= fabs(H(f, e))) { /* (a - w) 1 + b x_f = 0 */
            x[f] = (re - H(e, e)) / H(e, f);
            y[f] = im / H(e, f);
        } else { /* c x_e + (d - w) x_f = 0, with x_f = 1 */
            x[f] = 1;
            x[e] = (re - H(f, f)) / H(f, e);
            y[e] = im / H(f, e);
        }
        from = f;
    }
    int64_t first = e;
    for (int64_t i = first - 1; i >= 0; i--) {
        bool two = i > 0 && H(i, i - 1) != 0;
        double p[2] = {0, 0}, q[2] = {0, 0}; /* right-hand sides of rows i and i - 1 */
        for (int64_t c = i + 1; c <= from; c++) {
            p[0] -= H(i, c) * x[c];
            p[1] -= H(i, c) * y[c];
            if (two) q[0] -= H(i - 1, c) * x[c], q[1] -= H(i - 1, c) * y[c];
        }
        double d = H(i, i) - re;
        if (!two) {
            if (fabs(d) < tiny && fabs(im) < tiny) d = tiny;
            divide(p[0], p[1], d, -im, &x[i], &y[i]);
        } else { /* [a b; c d] [x_(i-1); x_i] = [q; p], by Cramer's rule */
            double a = H(i - 1, i - 1) - re, b = H(i - 1, i), c = H(i, i - 1);
            double det = a * d - im * im - b * c, turn = -im * (a + d), u[2], w[2];
            if (fabs(det) < tiny * tiny && fabs(turn) < tiny * tiny) det = tiny * tiny;
            u[0] = q[0] * d + q[1] * im - b * p[0];
            u[1] = q[1] * d - q[0] * im - b * p[1];
            w[0] = p[0] * a + p[1] * im - c * q[0];
            w[1] = p[1] * a - p[0] * im - c * q[1];
            divide(u[0], u[1], det, turn, &x[i - 1], &y[i - 1]);
            divide(w[0], w[1], det, turn, &x[i], &y[i]);
        }
        double size = fmax(fabs(x[i]), fabs(y[i]));
        if (two) size = fmax(size, fmax(fabs(x[i - 1]), fabs(y[i - 1])));
        for (int64_t c = 0; size > 1e100 && c <= from; c++) x[c] /= size, y[c] /= size;
        i -= two;
    }
}

/* of length one, and where they are complex with a real largest element */
static void normalise(int64_t n, double *x, double *y) {
    double size = hypot(rl_own_norm(n, x), y ? rl_own_norm(n, y) : 0), most = 0, c = 1, s = 0;
    for (int64_t i = 0; size > 0 && i < n; i++) x[i] /= size;
    for (int64_t i = 0; y && size > 0 && i < n; i++) {
        y[i] /= size;
        double now = hypot(x[i], y[i]);
        if (now > most) most = now, c = x[i] / now, s = y[i] / now;
    }
    if (y) rl_own_turn(n, c, s, x, y);
}

int64_t rl_own_eig(rl_job *j, int64_t n, void *at, void *real, void *imaginary, void *v) {
    rl_layout l = rl_layout_begin(j->k);
    const int64_t x_at = rl_layout_add(&l, RL_COUNT(n), sizeof(double));
    const int64_t y_at = rl_layout_add(&l, RL_COUNT(n), sizeof(double));
    const int64_t z_at = v ? rl_layout_add(&l, RL_COUNT(n, n), sizeof(double)) : 0;
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    double *x = (double *)(room + x_at), *y = (double *)(room + y_at), most = 0, scale = 1;
    hess all = {n, at, v ? (double *)(room + z_at) : NULL, real, imaginary}, *t = &all;
    for (int64_t i = 0; i < n * n; i++) {
        if (!isfinite(t->h[i])) return n;
        most = fmax(most, fabs(t->h[i]));
    }
    if (most > 1e10 || (most < 1e-10 && most > 0)) scale = exp2(-ilogb(most)); /* squares stay in range */
    for (int64_t i = 0; scale != 1 && i < n * n; i++) t->h[i] *= scale;
    hessenberg(t, x);
    int64_t info = triangular(t);
    double tiny = fmax(DBL_EPSILON * most * scale, DBL_MIN);
    for (int64_t e = 0; v && !info && e < n; e++) {
        double *to = (double *)v + e * n;
        bool pair = t->im[e] != 0;
        back(t, e, x, y, tiny);
        for (int64_t i = 0; i < (pair ? 2 : 1) * n; i++) to[i] = 0;
        for (int64_t c = 0; c < n; c++) {
            rl_own_axpy(n, x[c], &Z(0, c), to);
            if (pair) rl_own_axpy(n, y[c], &Z(0, c), to + n);
        }
        normalise(n, to, pair ? to + n : NULL);
        e += pair;
    }
    for (int64_t i = 0; scale != 1 && i < n; i++) t->re[i] /= scale, t->im[i] /= scale;
    return info;
}
