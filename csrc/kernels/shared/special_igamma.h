/* The incomplete gamma functions, regularised: P(a, x) and Q = 1 - P. The regions are those of PyTorch and of
 * A. Gil, J. Segura and N. M. Temme, SIAM Journal on Scientific Computing 34 (2012). Sums end at `least` of
 * what they are: a float needs fewer terms than a double. */
#ifndef RL_KERNELS_SHARED_SPECIAL_IGAMMA_H
#define RL_KERNELS_SHARED_SPECIAL_IGAMMA_H
#include "special.h"

/* Row k: the power series of c_k(eta) in https://dlmf.nist.gov/8.12.E9, from exact fractions */
enum { TEMME_ROWS = 6, TEMME_MAX = 20 };
SPECIAL_TABLE const double temme[TEMME_ROWS][TEMME_MAX] = {
    {-0.3333333333333333,    0.08333333333333333,    -0.014814814814814815,   0.0011574074074074073,
     0.0003527336860670194,  -0.0001787551440329218, 3.919263178522438e-05,   -2.185448510679992e-06,
     -1.85406221071516e-06,  8.296711340953087e-07,  -1.7665952736826078e-07, 6.707853543401498e-09,
     1.0261809784240309e-08, -4.382036018453353e-09, 9.14769958223679e-10,    -2.5514193994946248e-11,
     -5.830772132550426e-11, 2.4361948020667415e-11, -5.0276692801141755e-12, 1.1004392031956135e-13},
    {-0.001851851851851852, -0.003472222222222222, 0.0026455026455026454, -0.0009902263374485596,
     0.00020576131687242798, -4.018775720164609e-07, -1.8098550334489977e-05, 7.64916091608111e-06,
     -1.6120900894563446e-06, 4.647127802807434e-09, 1.378633446915721e-07, -5.752545603517705e-08,
     1.1951628599778148e-08, -1.7543241719747647e-11, -1.0091543710600413e-09, 4.162792991842583e-10,
     -8.56390702649298e-11, 6.067215101604758e-14},
    {0.004133597883597883, -0.0026813271604938273, 0.0007716049382716049, 2.0093878600823047e-06,
     -0.0001073665322636516, 5.2923448829120125e-05, -1.2760635188618728e-05, 3.423578734096138e-08,
     1.3721957309062934e-06, -6.298992138380055e-07, 1.4280614206064242e-07, -2.0477098421990866e-10,
     -1.409252991086752e-08, 6.228974084922022e-09, -1.3670488396617114e-09},
    {0.0006494341563786008, 0.00022947209362139917, -0.0004691894943952557, 0.00026772063206283885,
     -7.561801671883977e-05, -2.396505113867297e-07, 1.1082654115347302e-05, -5.6749528269915965e-06,
     1.4230900732435883e-06, -2.7861080291528143e-11, -1.6958404091930278e-07, 8.099464905388083e-08},
    {-0.0008618882909167117, 0.0007840392217200666, -0.0002990724803031902, -1.4638452578843418e-06,
     6.641498215465122e-05, -3.968365047179435e-05, 1.1375726970678419e-05, 2.507497226237533e-10,
     -1.6954149536558305e-06},
    {-0.00033679855336635813, -6.972813758365857e-05, 0.0002772753244959392, -0.00019932570516188847,
     6.797780477937208e-05, 1.419062920643967e-07, -1.3594048189768693e-05},
};
/* log gamma(1 + a) by powers of a: -Euler's gamma, zeta(2) / 2, -zeta(3) / 3 ... */
SPECIAL_TABLE const double log_gamma_1[] = {
    -0.5772156649015329,  0.8224670334241132,  -0.40068563438653143, 0.27058080842778454,
    -0.20738555102867398, 0.1695571769974082,  -0.1440498967688461,  0.12550966952474304,
    -0.11133426586956469, 0.1000994575127818,  -0.09095401714582904, 0.083353840546109,
    -0.0769325164113522,  0.07143294629536133, -0.06666870588242046, 0.06250095514121304};

/* log(1 + s) - s */
SPECIAL_FN double log1p_less(double s) {
    if (fabs(s) > 0.1) return log1p(s) - s;
    double sum = 0;
    for (int i = 16; i > 1; i--) sum = 1.0 / i - s * sum;
    return -s * s * sum;
}

/* uniformly good for large a and x near a; sign: 1 for Q, -1 for P */
SPECIAL_FN double igamma_uniform(double a, double x, double sign) {
    const double s = (x - a) / a, half = -log1p_less(s), eta = copysign(sqrt(2 * half), s);
    double sum = 0;
    for (int k = TEMME_ROWS - 1; k >= 0; k--) sum = sum / a + special_series(eta, temme[k], TEMME_MAX);
    double rest = exp(-a * half) / sqrt(2 * M_PI * a) * sum;
    return erfc(sign * eta * sqrt(a / 2)) / 2 + sign * rest;
}

/* x^a e^-x / gamma(a); for x near a large a by Stirling's series, where the first terms would cancel */
SPECIAL_FN double igamma_factor(double a, double x) {
    if (a < 10 || fabs(x - a) > 0.4 * a) return exp(a * log(x) - x - special_lgamma(a));
    double z = 1 / (a * a), tail = (1.0 / 12 - z * (1.0 / 360 - z * (1.0 / 1260 - z / 1680))) / a;
    return sqrt(a / (2 * M_PI)) * exp(a * log1p_less((x - a) / a) - tail);
}

/* P: x^a e^-x / gamma(a + 1) (1 + x / (a + 1) + x^2 / ((a + 1)(a + 2)) + ...) */
SPECIAL_FN double igamma_lower_series(double a, double x, double least) {
    double term = 1, sum = 1;
    for (double at = a + 1; term > least * sum; at++) {
        term *= x / at;
        sum += term;
    }
    return igamma_factor(a, x) / a * sum;
}

/* Q for small a and x: (1 - x^a / gamma(1 + a)) - x^a / gamma(a) (-x / (a + 1) + x^2 / 2(a + 2) - ...) */
SPECIAL_FN double igamma_upper_series(double a, double x, double least) {
    double power = 1, term, sum = 0;
    double n = 1;
    do {
        power *= -x / n;
        term = power / (a + n++);
        sum += term;
    } while (fabs(term) > least * fabs(sum));
    double log_power = a * log(x);
    double log_gamma = a < 0.1 ? a * SERIES(a, log_gamma_1) : special_lgamma(1 + a);
    return -expm1(log_power - log_gamma) - a * exp(log_power - log_gamma) * sum;
}

/* Q by its continued fraction, https://dlmf.nist.gov/8.9.E2, from numerators and denominators */
SPECIAL_FN double igamma_upper_fraction(double a, double x, double least) {
    if (x > 1e10) return 0; /* its logarithm is below -x / 100 */
    double b = x + 1 - a, top0 = 0, top1 = 1, below0 = 1, below1 = b, miss;
    for (double i = 1;; i++) {
        double by = -i * (i - a);
        b += 2;
        double top = b * top1 + by * top0, below = b * below1 + by * below0;
        miss = fabs(top * below1 - top1 * below);
        top0 = top1, top1 = top, below0 = below1, below1 = below;
        if (!(miss > least * fabs(top * below0))) break;
        if (fabs(below) > 0x1p300) {
            top0 *= 0x1p-300, top1 *= 0x1p-300;
            below0 *= 0x1p-300, below1 *= 0x1p-300;
        }
    }
    return igamma_factor(a, x) * top1 / below1;
}

/* What P is at the borders of its domain: true, and *y is it. */
SPECIAL_FN bool igamma_at_border(double a, double x, double *y) {
    if (x < 0 || a < 0 || (a == 0 && x == 0) || (isinf(a) && isinf(x)))
        *y = NAN;
    else if (a == 0 || isinf(x))
        *y = 1;
    else if (x == 0 || isinf(a))
        *y = 0;
    else
        return false;
    return true;
}

SPECIAL_FN bool igamma_is_uniform(double a, double x) {
    return a > 200 && fabs(x - a) < 0.3 * a;
}

SPECIAL_FN double igamma_upper(double a, double x, double least) {
    double y;
    if (igamma_at_border(a, x, &y)) return 1 - y;
    if (igamma_is_uniform(a, x)) return igamma_uniform(a, x, 1);
    if (x > 1.1) return x < a ? 1 - igamma_lower_series(a, x, least) : igamma_upper_fraction(a, x, least);
    if (x <= 0.5 ? a > -0.4 / log(x) : a > 1.1 * x) return 1 - igamma_lower_series(a, x, least);
    return igamma_upper_series(a, x, least);
}

SPECIAL_FN double igamma_lower(double a, double x, double least) {
    double y;
    if (igamma_at_border(a, x, &y)) return y;
    if (igamma_is_uniform(a, x)) return igamma_uniform(a, x, -1);
    return x > 1 && x > a ? 1 - igamma_upper(a, x, least) : igamma_lower_series(a, x, least);
}
#endif
