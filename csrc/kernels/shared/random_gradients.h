/* How numbers that were drawn change with the parameters of their distributions: x drawn at probability p
 * stays at p, so that dx/da = -(dP/da)(x) / (dP/dx)(x), P being the cdf.
 *
 * No closed form is known. The expansions and the fitted quotients below are those of PyTorch, and so their
 * errors, up to some 1e-3: a script then trains to the same numbers. */
#ifndef RL_KERNELS_SHARED_RANDOM_GRADIENTS_H
#define RL_KERNELS_SHARED_RANDOM_GRADIENTS_H
#include "special_gamma.h"

SPECIAL_FN double or_zero(double x) {
    return x != x ? 0 : x;
}

/* ---- gamma, of a shape ---- */
/* the Taylor series of the cdf at 0 */
SPECIAL_FN double gamma_small(double a, double x) {
    double factor = 1, at = a, sum = 1 / a, squares = 1 / (a * a);
    for (int i = 1; i <= 5; i++) {
        factor *= -x / i;
        at += 1;
        sum += factor / at;
        squares += factor / (at * at);
    }
    const double power = pow(x, a), density = pow(x, a - 1) * exp(-x);
    const double slope = (log(x) - special_digamma(a)) * power * sum - power * squares;
    return or_zero(-slope / density);
}

/* S. O. Rice's uniform saddle point expansion; near the mean, where it divides by nearly 0, its series */
SPECIAL_FN double gamma_large(double a, double x) {
    if (0.9f * a <= x && x <= 1.1f * a) {
        const double lead = 1 + 24 * a * (1 + 12 * a);
        const double rest = 1440 * a * a + 6 * x * (53 - 120 * x) - 65 * x * x / a + a * (107 + 3600 * x);
        return lead * rest / (1244160 * (a * a) * (a * a));
    }
    const double root = sqrt(8 * a), offset = a - x, ratio = log(x / a);
    const double tail = pow(x - a - a * ratio, -1.5);
    const double sum = root / offset + (x < a ? -tail : tail);
    const double term = ratio * sum - sqrt(2 / a) * (a + x) / (offset * offset);
    const double stirling = 1 + 1 / (12 * a) * (1 + 1 / (24 * a));
    return -stirling * x * term / root;
}

SPECIAL_FN double cubic(const double *c, double z) {
    return c[0] + z * (c[1] + z * (c[2] + z * c[3]));
}

SPECIAL_TABLE const double gamma_fit[3][8] = {
    {0.16009398, -0.094634809, 0.025146376, -0.0030648343, 1, 0.32668115, 0.10406089, 0.0014179084},
    {0.53487893, 0.1298071, 0.065735949, -0.0015649758, 0.16639465, 0.020070113, -0.0035938915,
     -0.00058392623},
    {0.040121004, -0.0065914022, -0.0026286047, -0.0013441777, 0.017050642, -0.0021309326, 0.00085092367,
     -1.5247877e-07}};
/* exp of a quotient of polynomials in log(x / a) and log(a) */
SPECIAL_FN double gamma_fitted(double a, double x) {
    const double u = log(x / a), v = log(a);
    double c[8];
    for (int i = 0; i < 8; i++) c[i] = gamma_fit[0][i] + u * (gamma_fit[1][i] + u * gamma_fit[2][i]);
    return exp(cubic(c, v) / cubic(c + 4, v));
}

SPECIAL_FN double gamma_gradient(const double *in) { /* the shape, the number drawn */
    const double a = in[0], x = in[1];
    return x < (double)0.8f ? gamma_small(a, x) : a > 8 ? gamma_large(a, x) : gamma_fitted(a, x);
}

/* ---- beta, of its first concentration a; b is the second ---- */
/* series at x = 0 */
SPECIAL_FN double beta_by_first(double x, double a, double b) {
    const double factor = special_digamma(a) - special_digamma(a + b) - log(x);
    double product = 1, sum = (factor + 1 / a) / a;
    for (int i = 1; i <= 10; i++) {
        product *= (i - b) * x / i;
        sum += product / (a + i) * (factor + 1 / (a + i));
    }
    return or_zero(x * pow(1 - x, -b) * sum);
}

/* ... of the other concentration */
SPECIAL_FN double beta_by_second(double x, double a, double b) {
    const double factor = special_digamma(a + b) - special_digamma(b);
    double product = 1, falling = 1, slope = 0, sum = factor / a;
    for (int i = 1; i <= 8; i++) {
        product *= -x / i;
        slope = slope * (b - i) + falling;
        falling *= b - i;
        sum += product / (a + i) * (slope + factor * falling);
    }
    return or_zero(-pow(1 - x, 1 - b) * sum);
}

/* what Stirling's approximation leaves of gamma(z) */
SPECIAL_FN double stirling(double z) {
    return 1 + 1 / (12 * z) + 1 / (288 * z * z);
}

/* near the mean, where the expansion below divides by nearly 0 */
SPECIAL_FN double beta_at_mean(double x, double a, double b, double total) {
    const double b2 = b * b, y = 1 - x;
    double p = 8 * y * (135 * b - 11);
    p = (453 + 1620 * b * y - 455 * x) * b + a * p;
    p = 3 * (59 + 180 * b - 90 * x) * b2 + a * p;
    p = (43 + 20 * (16 + 27 * b) * x) * b2 * b + a * p;
    p = 47 * x * b2 * b2 + a * p;
    const double above = (1 + 12 * a) * (1 + 12 * b) / (total * total);
    return above / y * p / (12960 * a * a * a * b2 * (1 + 12 * total));
}

/* the saddle point expansion, where both concentrations are large */
SPECIAL_FN double beta_large(double x, double a, double b) {
    const double total = a + b, mean = a / total, deviation = sqrt(a * b / (total + 1)) / total;
    if (mean - 0.1 * deviation <= x && x <= mean + 0.1 * deviation) return beta_at_mean(x, a, b, total);
    const double offset = a * (x - 1) + b * x, log_a = log(a / (total * x));
    const double above = 2 * a * a * (x - 1) + a * b * (x - 1) - x * b * b;
    const double first = above / (sqrt(2 * a / b) * pow(total, 1.5) * offset * offset);
    const double tail = pow(b * log(b / (total * (1 - x))) + a * log_a, -1.5);
    const double second = 0.5 * log_a * (sqrt(8 * a * b / total) / offset + (x < mean ? tail : -tail));
    const double scale = stirling(a) * stirling(b) / stirling(total);
    return scale * (-x / sqrt(2 * a * b / total)) * (first + second);
}

SPECIAL_TABLE const double beta_fit[2][3][3][4] = {
    {{{1.003668233, -0.01061107488, -0.0657888334, 0.01201642863},
      {0.6336835991, -0.3557432599, 0.05486251648, -0.001465281033},
      {-0.03276231906, 0.004474107445, 0.002429354597, -0.0001557569013}},
     {{0.221950385, -0.3187676331, 0.01799915743, 0.01074823814},
      {-0.2951249643, 0.06219954479, 0.01535556598, 0.001550077057},
      {0.02155310298, 0.004170831599, 0.001292462449, 6.976601077e-05}},
     {{-0.05980841433, 0.008441916499, 0.01085618172, 0.002319392565},
      {0.02911413504, 0.01400243777, -0.002721828457, 0.000751041181},
      {0.005900514878, -0.001936558688, -9.495446725e-06, 5.385558597e-05}}},
    {{{1, -0.02924021934, -0.04438342661, 0.007285809825},
      {0.6357567472, -0.3473456711, 0.05454656494, -0.002407477521},
      {-0.03301322327, 0.004845219414, 0.00231480583, -0.0002307248149}},
     {{0.5925320577, -0.1757678135, 0.01505928619, 0.000564515273},
      {0.1014815858, -0.06589186703, 0.01272886114, -0.0007316646956},
      {-0.007258481865, 0.001096195486, 0.0003934994223, -4.12701925e-05}},
     {{0.06469649321, -0.0236701437, 0.002902096474, -5.896963079e-05},
      {0.001925008108, -0.002869809258, 0.0008000589141, -6.063713228e-05},
      {-0.0003477407336, 6.959756487e-05, 1.097287507e-05, -1.650964693e-06}}},
};
/* x (digamma(total) - digamma(a)) / b, corrected by a quotient of polynomials in log(x), log(a / x) and
 * log(total) - log(a / x) */
SPECIAL_FN double beta_fitted(double x, double a, double total) {
    const double u = log(x), v = log(a) - u, w = log(total) - v;
    const double by_u[3] = {1, u, u * u}, by_v[3] = {1, v, v * v};
    double sums[2] = {0, 0};
    for (int part = 0; part < 2; part++)
        for (int i = 0; i < 3; i++)
            for (int j = 0; j < 3; j++) sums[part] += by_u[i] * by_v[j] * cubic(beta_fit[part][i][j], w);
    const double guess = x * (special_digamma(total) - special_digamma(a)) / (total - a);
    return sums[0] / sums[1] * guess;
}

SPECIAL_FN double dirichlet_gradient(const double *in) { /* the number drawn, its concentration, their sum */
    const double x = in[0], a = in[1], total = in[2], b = total - a, boundary = total * x * (1 - x);
    if (x <= 0.5 && boundary < 2.5) return beta_by_first(x, a, b);
    if (x >= 0.5 && boundary < 0.75) return -beta_by_second(1 - x, b, a);
    return a > 6 && b > 6 ? beta_large(x, a, b) : beta_fitted(x, a, total);
}
#endif
