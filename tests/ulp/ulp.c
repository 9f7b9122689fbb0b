/* The errors of the vector functions over every float32, in units in the last place of the exact value.
 *
 *   ulp [-s STEP] [-t] [FUNCTION ...]     every STEP-th float (default 1); -t: nanoseconds an element instead
 *
 * Prints a line for each function and instruction set: the largest error, where, and that of PyTorch.
 * tests/ops/test_ulp.py looks at the signs of zeros. */
#include "reference.h"
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define SIMD_BITS 256
#include "kernels/simd/isa.h"
#include "kernels/simd/vmath/math_impl.inc"
#include "ulp_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "kernels/simd/isa.h"
#include "kernels/simd/vmath/math_impl.inc"
#include "ulp_body.h"

enum { BLOCK = 4096, ISAS = 2 };
static const char *const isa_names[ISAS] = {"avx2", "avx512"};
typedef struct {
    const char *name;
    double torch;
    void (*exact)(const double *, double *, int);
    void (*rows[ISAS])(const float *, float *, int);
} function;
#define ENTRY(name, torch, expression)                                                                       \
    {#name, torch, reference_##name, {row_##name##_avx2, row_##name##_avx512}},
static const function functions[] = {FUNCTIONS(ENTRY)};

typedef struct {
    double most;
    float where;
} finding;

static float from_bits(uint32_t bits) {
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* what stands for infinity: one unit above the largest float */
static double within_float(double x) {
    const double end = 0x1p128;
    return x > end ? end : x < -end ? -end : x;
}

/* In units in the last place of the exact value. A NaN on one side alone is an error beyond all others. */
static const double NO_NUMBER = 1e300;
static double distance(double got, double exact) {
    union {
        double x;
        int64_t bits;
    } unit = {within_float(exact)};
    int64_t exponent = unit.bits >> 52 & 0x7ff, least = 1023 - 126;
    double miss = fabs(within_float(got) - unit.x);
    unit.bits = (2046 + 23 - (exponent < least ? least : exponent)) << 52; /* 1 / 2^(exponent - 23) */
    double units = miss * unit.x;
    return units >= 0 ? units : (got != got) & (exact != exact) ? 0 : NO_NUMBER;
}

static void look(const float *x, const float *got, const double *exact, int n, finding *f) {
    double missed[BLOCK], most = 0;
    for (int i = 0; i < n; i++) missed[i] = distance(got[i], exact[i]);
#pragma omp simd reduction(max : most)
    for (int i = 0; i < n; i++) most = missed[i] > most ? missed[i] : most;
    for (int i = 0; i < n && most > f->most; i++) {
        if (missed[i] > f->most) f->most = missed[i], f->where = x[i];
    }
}

static void measure(const function *f, int isas, int64_t step) {
    finding found[ISAS] = {0};
#pragma omp parallel
    {
        float x[BLOCK], got[BLOCK];
        double wide[BLOCK], exact[BLOCK];
        finding own[ISAS] = {0};
#pragma omp for schedule(dynamic, 64)
        for (int64_t block = 0; block < (INT64_C(1) << 32) / BLOCK / step; block++) {
            for (int i = 0; i < BLOCK; i++) {
                x[i] = from_bits((uint32_t)((block * BLOCK + i) * step +
                                            (i * INT64_C(2654435761) & 0xffff) * step / 65536));
                wide[i] = x[i];
            }
            f->exact(wide, exact, BLOCK);
            for (int isa = 0; isa < isas; isa++) {
                f->rows[isa](x, got, BLOCK);
                look(x, got, exact, BLOCK, &own[isa]);
            }
        }
#pragma omp critical
        for (int isa = 0; isa < isas; isa++) {
            if (own[isa].most > found[isa].most)
                found[isa].most = own[isa].most, found[isa].where = own[isa].where;
        }
    }
    for (int isa = 0; isa < isas; isa++) {
        printf("%-12s %-7s %7.4f %16a %9.2f%s\n", f->name, isa_names[isa], found[isa].most,
               (double)found[isa].where, f->torch, found[isa].most == NO_NUMBER ? "  a NaN" : "");
        fflush(stdout);
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void clock_rows(const function *f, int isas) {
    float x[BLOCK], got[BLOCK];
    for (int i = 0; i < BLOCK; i++) x[i] = 0.01f + 0.98f * (float)rand() / (float)RAND_MAX;
    for (int isa = 0; isa < isas; isa++) {
        double best = 1e30;
        for (int run = 0; run < 2000; run++) {
            double begin = now();
            f->rows[isa](x, got, BLOCK);
            double took = now() - begin;
            if (took < best) best = took;
        }
        printf("%-12s %-7s %6.3f ns\n", f->name, isa_names[isa], best / BLOCK);
    }
}

int main(int argc, char **argv) {
    int first = 1, clocks = 0;
    int64_t step = 1;
    for (; first < argc && argv[first][0] == '-'; first++) {
        clocks |= strcmp(argv[first], "-t") == 0;
        if (strcmp(argv[first], "-s") == 0 && first + 1 < argc) step = atoll(argv[++first]);
    }
    if (!clocks) printf("Over every float, by steps of %lld\n", (long long)step);
    if (!clocks) printf("%-12s %-7s %7s %16s %9s\n", "function", "ISA", "units", "at", "PyTorch");
    int isas = __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") ? 2 : 1;
    for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
        int wanted = first == argc;
        for (int a = first; a < argc; a++) wanted |= strcmp(argv[a], functions[i].name) == 0;
        if (wanted && clocks) clock_rows(&functions[i], isas);
        if (wanted && !clocks) measure(&functions[i], isas, step < 1 ? 1 : step);
    }
    return 0;
}
