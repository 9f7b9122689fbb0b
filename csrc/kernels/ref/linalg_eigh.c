/* Our own eigenvalues of symmetric matrices: reflections to a tridiagonal, then implicit QL or QR, from the
 * side where the matrix is smaller (Dubrulle, Martin and Wilkinson, 1968), as LAPACK's sytrd and steqr. */
#include "linalg.h"
#include <float.h>
#include <math.h>

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
