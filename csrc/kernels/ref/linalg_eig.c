/* Eigenvalues and singular values: our own decompositions, in double. */
#include "linalg.h"
#include <float.h>
#include <math.h>

/* Our own eigenvalues of symmetric matrices: reflections to a tridiagonal, then implicit QL or QR, from the
 * side where the matrix is smaller (Dubrulle, Martin and Wilkinson, 1968), as LAPACK's sytrd and steqr. */
/* the lower triangle of a becomes the vectors of reflections, d and e the tridiagonal; w: n numbers */
static void tridiagonal(int64_t n, double *a, double *d, double *e, double *tau, double *w) {
    for (int64_t c = 0; c + 1 < n; c++) {
        int64_t left = n - c - 1;
        double *v = a + c + 1 + c * n, *rest = a + (c + 1) * (n + 1);
        tau[c] = rl_own_reflect(left, v, v + 1);
        e[c] = v[0];
        if (tau[c] != 0) { /* rest -= v w' + w v', where w = tau rest v and a part of v */
            v[0] = 1;
            for (int64_t i = 0; i < left; i++) w[i] = 0;
            for (int64_t k = 0; k < left; k++) {
                const double *column = rest + k * n;
                w[k] += column[k] * v[k] + rl_own_dot(left - k - 1, column + k + 1, v + k + 1);
                rl_own_axpy(left - k - 1, v[k], column + k + 1, w + k + 1);
            }
            for (int64_t i = 0; i < left; i++) w[i] *= tau[c];
            rl_own_axpy(left, -0.5 * tau[c] * rl_own_dot(left, w, v), v, w);
            for (int64_t k = 0; k < left; k++) {
                rl_own_axpy(left - k, -w[k], v + k, rest + k + k * n);
                rl_own_axpy(left - k, -v[k], w + k, rest + k + k * n);
            }
        }
        d[c] = a[c + c * n];
    }
    if (n) d[n - 1] = a[n * n - 1];
}

/* a becomes the product of the reflections that stand below its first subdiagonal */
static void vectors_form(int64_t n, double *a, const double *tau) {
    for (int64_t c = n - 1; c > 0; c--) { /* each vector moves one column on */
        for (int64_t i = c + 1; i < n; i++) a[i + c * n] = a[i + (c - 1) * n];
        for (int64_t i = 0; i <= c; i++) a[i + c * n] = 0;
    }
    for (int64_t i = 0; i < n; i++) a[i] = i == 0;
    for (int64_t c = n - 1; c > 0; c--) {
        double *v = a + c * (n + 1), t = tau[c - 1];
        for (int64_t k = c + 1; k < n; k++)
            rl_own_reflected(n - c, t, v + 1, a + c + k * n, a + c + 1 + k * n);
        v[0] = 1 - t;
        for (int64_t i = 1; i < n - c; i++) v[i] *= -t;
    }
}

/* [a b; b c] has the eigenvalues high and low by size; (cos, sin) is the vector of high */
static void two_by_two(double a, double b, double c, double *high, double *low, double *cosine,
                       double *sine) {
    double sum = a + c, apart = a - c, twice = b + b, root = hypot(apart, twice);
    double more = fabs(a) > fabs(c) ? a : c, less = fabs(a) > fabs(c) ? c : a;
    int sign = sum < 0 ? -1 : 1, other = apart < 0 ? -1 : 1;
    if (sum == 0) {
        *high = 0.5 * root;
        *low = -0.5 * root;
    } else {
        *high = 0.5 * (sum + sign * root);
        *low = more / *high * less - b / *high * b;
    }
    double far = apart + other * root;
    if (fabs(far) > fabs(twice)) {
        double t = -twice / far;
        *sine = 1 / sqrt(1 + t * t);
        *cosine = t * *sine;
    } else if (twice == 0) {
        *cosine = 1;
        *sine = 0;
    } else {
        double t = -far / twice;
        *cosine = 1 / sqrt(1 + t * t);
        *sine = t * *cosine;
    }
    if (sign != other) return;
    double t = *cosine;
    *cosine = -*sine;
    *sine = t;
}

/* c, s and r with c f + s g = r and c g - s f = 0 */
static double rotation(double f, double g, double *c, double *s) {
    if (g == 0) {
        *c = 1, *s = 0;
        return f;
    }
    if (f == 0) {
        *c = 0, *s = copysign(1, g);
        return fabs(g);
    }
    double square = f * f + g * g, r = copysign(square > 1e-290 ? sqrt(square) : hypot(f, g), f);
    *c = f / r;
    *s = g / r;
    return r;
}

typedef struct {
    int64_t n;
    double *d, *e, *z; /* z NULL: no vectors */
    int64_t left;      /* steps until it is given up */
} tri;

/* One block, from l towards end; e[i] lies between i and i + 1. */
static void iterate(tri *t, int64_t l, int64_t end) {
    const int64_t step = end > l ? 1 : -1, before = step > 0 ? 0 : -1, n = t->n;
    const double eps = DBL_EPSILON / 2;
    double *d = t->d, *e = t->e;
    while (step > 0 ? l <= end : l >= end) {
        int64_t m = l;
        for (; m != end; m += step) {
            double side = e[m + before];
            if (side * side <= eps * eps * fabs(d[m]) * fabs(d[m + step]) + DBL_MIN) {
                e[m + before] = 0;
                break;
            }
        }
        if (m == l) {
            l += step;
            continue;
        }
        if (m == l + step) {
            int64_t low = l < m ? l : m;
            double c, s, high, less;
            two_by_two(d[low], e[low], d[low + 1], &high, &less, &c, &s);
            if (t->z) rl_own_turn(n, c, s, t->z + low * n, t->z + (low + 1) * n);
            d[low] = high;
            d[low + 1] = less;
            e[low] = 0;
            l += 2 * step;
            continue;
        }
        if (t->left-- <= 0) return;
        double p = d[l], g = (d[l + step] - p) / (2 * e[l + before]), r = hypot(g, 1), s = 1, c = 1;
        g = d[m] - p + e[l + before] / (g + copysign(r, g));
        p = 0;
        for (int64_t i = m - step;; i -= step) {
            double f = s * e[i + before], b = c * e[i + before];
            r = rotation(g, f, &c, &s);
            if (i != m - step) e[i + step + before] = r;
            g = d[i + step] - p;
            r = (d[i] - g) * s + 2 * c * b;
            p = s * r;
            d[i + step] = g + p;
            g = c * r - b;
            if (t->z) rl_own_turn(n, c, s, t->z + (i + step) * n, t->z + i * n);
            if (i == l) break;
        }
        d[l] -= p;
        e[l + before] = g;
    }
}

/* how many of e are not zero when it is given up */
static int64_t diagonalise(tri *t) {
    int64_t n = t->n, stuck = 0;
    double *d = t->d, *e = t->e;
    for (int64_t first = 0; first < n && t->left > 0;) {
        int64_t last = first;
        for (; last + 1 < n && e[last] != 0; last++)
            if (fabs(e[last]) <= sqrt(fabs(d[last])) * sqrt(fabs(d[last + 1])) * (DBL_EPSILON / 2)) {
                e[last] = 0;
                break;
            }
        if (last == first) {
            first++;
            continue;
        }
        bool turn = fabs(d[last]) < fabs(d[first]);
        iterate(t, turn ? last : first, turn ? first : last);
    }
    for (int64_t i = 0; i + 1 < n; i++) stuck += e[i] != 0;
    return stuck;
}

static void ascending(tri *t) {
    for (int64_t i = 0; i + 1 < t->n; i++) {
        int64_t least = i;
        for (int64_t k = i + 1; k < t->n; k++)
            if (t->d[k] < t->d[least]) least = k;
        if (least == i) continue;
        double x = t->d[i];
        t->d[i] = t->d[least];
        t->d[least] = x;
        for (int64_t r = 0; t->z && r < t->n; r++) {
            x = t->z[r + i * t->n];
            t->z[r + i * t->n] = t->z[r + least * t->n];
            t->z[r + least * t->n] = x;
        }
    }
}

int64_t rl_own_tridiagonal(int64_t n, double *d, double *e) {
    tri t = {n, d, e, NULL, 30 * n};
    int64_t stuck = diagonalise(&t);
    ascending(&t);
    return stuck;
}

int64_t rl_own_eigh(rl_job *j, bool vectors, bool upper, int64_t n, void *at, void *to) {
    double *a = at, *d = to, most = 0, scale = 1;
    rl_layout l = rl_layout_begin(j->k);
    const int64_t e_at = rl_layout_add(&l, RL_COUNT(n), sizeof(double));
    const int64_t tau_at = rl_layout_add(&l, RL_COUNT(n), sizeof(double));
    const int64_t sum_at = rl_layout_add(&l, RL_COUNT(n), sizeof(double));
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    double *e = (double *)(room + e_at), *tau = (double *)(room + tau_at);
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = c; i < n; i++) {
            if (upper) a[i + c * n] = a[c + i * n];
            double x = fabs(a[i + c * n]);
            if (!isfinite(x)) return n; /* no iteration would end */
            most = x > most ? x : most;
        }
    if (most > 1e140 || (most < 1e-140 && most > 0)) scale = exp2(-ilogb(most)); /* squares stay in range */
    for (int64_t i = 0; scale != 1 && i < n * n; i++) a[i] *= scale;
    tridiagonal(n, a, d, e, tau, (double *)(room + sum_at));
    if (vectors) vectors_form(n, a, tau);
    tri t = {n, d, e, vectors ? a : NULL, 30 * n};
    int64_t stuck = diagonalise(&t);
    ascending(&t);
    for (int64_t i = 0; scale != 1 && i < n; i++) d[i] /= scale;
    return stuck;
}

/* Our own eigenvalues of any square matrix: reflections to Hessenberg's form, then QR steps with two shifts
 * at once until it is triangular but for blocks of two (Francis, 1961), and vectors from the bottom up. */
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

/* Our own singular values: columns are turned against each other until all are orthogonal (Hestenes, 1958);
 * a tall matrix is R of its QR first. Small singular values come out as exact as the matrix says them.
 * Values alone are eigenvalues of a tridiagonal (Golub and Kahan, 1965). */
enum { SWEEPS = 60 }; /* ten are many */

/* w (m x n) = U S, with V turned along; answers whether it came to an end */
static bool turn_columns(int64_t m, int64_t n, double *w, double *v, double *squares) {
    for (int sweep = 0; sweep < SWEEPS; sweep++) {
        bool turned = false;
        for (int64_t p = 0; p < n; p++) squares[p] = rl_own_dot(m, w + p * m, w + p * m);
        for (int64_t p = 0; p + 1 < n; p++)
            for (int64_t q = p + 1; q < n; q++) {
                double *x = w + p * m, *y = w + q * m, a = squares[p], b = squares[q],
                       c = rl_own_dot(m, x, y);
                if (fabs(c) <= DBL_EPSILON * sqrt(fabs(a)) * sqrt(fabs(b)) || a == 0 || b == 0) continue;
                double z = (b - a) / (2 * c), t = copysign(1, z) / (fabs(z) + hypot(1, z));
                double cosine = 1 / sqrt(1 + t * t);
                rl_own_turn(m, cosine, -cosine * t, x, y);
                rl_own_turn(n, cosine, -cosine * t, v + p * n, v + q * n);
                squares[p] = a - t * c; /* found again in the next sweep */
                squares[q] = b + t * c;
                turned = true;
            }
        if (!turned) return true;
    }
    return false;
}

/* The order of columns by falling length, which goes to s. */
static void order_columns(int64_t m, int64_t n, double *w, double *v, double *s) {
    for (int64_t i = 0; i < n; i++) s[i] = rl_own_norm(m, w + i * m);
    for (int64_t i = 0; i + 1 < n; i++) {
        int64_t best = i;
        for (int64_t k = i + 1; k < n; k++)
            if (s[k] > s[best]) best = k;
        if (best == i) continue;
        double x = s[i];
        s[i] = s[best];
        s[best] = x;
        for (int64_t r = 0; r < m; r++) x = w[r + i * m], w[r + i * m] = w[r + best * m], w[r + best * m] = x;
        for (int64_t r = 0; r < n; r++) x = v[r + i * n], v[r + i * n] = v[r + best * n], v[r + best * n] = x;
    }
}

/* Columns become U: of length one, and where s is zero anything that is orthogonal to the others. */
static void complete(int64_t m, int64_t n, double *w, const double *s) {
    int64_t unit = 0;
    for (int64_t c = 0; c < n; c++) {
        double *x = w + c * m, size = s[c];
        if (size > DBL_MIN * 4) {
            for (int64_t i = 0; i < m; i++) x[i] /= size;
            continue;
        }
        for (size = 0; size < 1 / sqrt(4 * (double)m) && unit < m; unit++) {
            for (int64_t i = 0; i < m; i++) x[i] = i == unit;
            for (int pass = 0; pass < 2; pass++) {
                for (int64_t k = 0; k < c; k++) rl_own_axpy(m, -rl_own_dot(m, w + k * m, x), w + k * m, x);
                double now = rl_own_norm(m, x);
                if (pass == 0) size = now;
                for (int64_t i = 0; now > 0 && i < m; i++) x[i] /= now;
            }
        }
    }
}

/* r (n x n) becomes U of r = U S V^T */
static bool square_svd(int64_t n, double *r, double *v, double *s) {
    for (int64_t i = 0; i < n * n; i++) v[i] = i % (n + 1) == 0;
    if (!turn_columns(n, n, r, v, s)) return false;
    order_columns(n, n, r, v, s);
    complete(n, n, r, s);
    return true;
}

/* Values alone: a (m x n, m >= n) becomes a bidiagonal B by reflections from both sides; [0 B; B^T 0] has
 * them and their negatives as eigenvalues, and is tridiagonal when its rows are taken in turns. */
static int64_t values_only(int64_t m, int64_t n, double *a, double *s, double *d, double *e, double *sum) {
    for (int64_t c = 0; c < n; c++) {
        double *x = a + c + c * m, tau = rl_own_reflect(m - c, x, x + 1);
        for (int64_t k = c + 1; tau != 0 && k < n; k++)
            rl_own_reflected(m - c, tau, x + 1, a + c + k * m, a + c + 1 + k * m);
        e[2 * c] = x[0];
        if (c + 1 == n) break;
        double *row = s; /* not needed before the end */
        for (int64_t k = c + 1; k < n; k++) row[k] = a[c + k * m];
        tau = rl_own_reflect(n - c - 1, row + c + 1, row + c + 2);
        e[2 * c + 1] = row[c + 1];
        row[c + 1] = 1;
        if (tau == 0) continue;
        int64_t below = m - c - 1;
        for (int64_t i = 0; i < below; i++) sum[i] = 0;
        for (int64_t k = c + 1; k < n; k++) rl_own_axpy(below, row[k], a + c + 1 + k * m, sum);
        for (int64_t k = c + 1; k < n; k++) rl_own_axpy(below, -tau * row[k], sum, a + c + 1 + k * m);
    }
    for (int64_t i = 0; i < 2 * n; i++) d[i] = 0;
    int64_t stuck = rl_own_tridiagonal(2 * n, d, e);
    for (int64_t i = 0; i < n; i++) s[i] = fabs(d[2 * n - 1 - i]);
    return stuck;
}

static void transpose_to(int64_t m, int64_t n, const double *from, double *to) { /* to: n x m */
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < m; i++) to[c + i * n] = from[i + c * m];
}

/* a (m x n, m >= n); u: m x nu, v: n x n, whose columns are the vectors */
static int64_t svd_tall(rl_job *j, bool full, int64_t m, int64_t n, double *a, double *s, double *u,
                        double *v, double *tau, double *r) {
    rl_own_qr(j, m, n, a, tau);
    for (int64_t c = 0; c < n; c++)
        for (int64_t i = 0; i < n; i++) r[i + c * n] = i > c ? 0 : a[i + c * m];
    if (!square_svd(n, r, v, s)) return n;
    int64_t wide = full ? m : n;
    for (int64_t c = 0; c < wide; c++)
        for (int64_t i = 0; i < m; i++) u[i + c * m] = c < n && i < n ? r[i + c * n] : i == c;
    for (int64_t c = n - 1; c >= 0; c--) {
        const double *x = a + c + c * m;
        for (int64_t k = 0; k < wide; k++)
            rl_own_reflected(m - c, tau[c], x + 1, u + c + k * m, u + c + 1 + k * m);
    }
    return 0;
}

/* What is worked on: with vectors tau, r and v, else the tridiagonal's d and e; of a wide matrix also its
 * transpose and U of that. */
typedef struct {
    int64_t tau, r, v, left, d, e, sum, turned;
} svd_parts;
static svd_parts svd_layout(rl_layout *l, int64_t rows, int64_t cols, int64_t other, bool vectors,
                            bool wide) {
    svd_parts p = {0};
    if (vectors) {
        p.tau = rl_layout_add(l, RL_COUNT(cols), sizeof(double));
        p.r = rl_layout_add(l, RL_COUNT(cols, cols), sizeof(double));
        p.v = rl_layout_add(l, RL_COUNT(cols, cols), sizeof(double));
        if (wide) p.left = rl_layout_add(l, RL_COUNT(rows, other), sizeof(double));
    } else {
        p.d = rl_layout_add(l, RL_COUNT(2, cols), sizeof(double));
        p.e = rl_layout_add(l, RL_COUNT(2, cols), sizeof(double));
        p.sum = rl_layout_add(l, RL_COUNT(rows), sizeof(double));
    }
    if (wide) p.turned = rl_layout_add(l, RL_COUNT(rows, cols), sizeof(double));
    return p;
}

int64_t rl_own_svd(rl_job *j, bool full, int64_t m, int64_t n, void *at, void *to, void *u, void *vt) {
    bool wide = m < n;
    int64_t rows = wide ? n : m, cols = wide ? m : n, other = full ? rows : cols;
    double *a = at, *s = to, most = 0, scale = 1;
    rl_layout l = rl_layout_begin(j->k);
    const svd_parts p = svd_layout(&l, rows, cols, other, u != NULL, wide);
    char *room = rl_job_rooms(j, &l);
    if (!room) return 0;
    double *v = (double *)(room + p.v), *turned = (double *)(room + p.turned),
           *left = (double *)(room + p.left);
    for (int64_t i = 0; i < m * n; i++) {
        if (!isfinite(a[i])) return cols;
        most = fabs(a[i]) > most ? fabs(a[i]) : most;
    }
    if (most > 1e140 || (most < 1e-140 && most > 0)) scale = exp2(-ilogb(most)); /* squares stay in range */
    for (int64_t i = 0; scale != 1 && i < m * n; i++) a[i] *= scale;
    if (wide) transpose_to(m, n, a, turned);
    double *tall = wide ? turned : a;
    int64_t info = u ? svd_tall(j, full, rows, cols, tall, s, wide ? left : u, v, (double *)(room + p.tau),
                                (double *)(room + p.r))
                     : values_only(rows, cols, tall, s, (double *)(room + p.d), (double *)(room + p.e),
                                   (double *)(room + p.sum));
    for (int64_t i = 0; scale != 1 && i < cols; i++) s[i] /= scale;
    if (!u) return info;
    if (wide) { /* A = (U S V^T)^T = V S U^T */
        for (int64_t i = 0; i < cols * cols; i++) ((double *)u)[i] = v[i];
        transpose_to(rows, other, left, vt);
    } else {
        transpose_to(cols, cols, v, vt);
    }
    return info;
}
