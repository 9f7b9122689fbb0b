/* Blocks, packing and threads of the matrix product; Note [Panels] in kernels/simd/product_gemm.h. */
#include "product_gemm.h"
#define SIMD_BITS 256
#include "isa.h"
#ifdef RL_SIMD_X86
#include "product_gemm_body.h"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "product_gemm_body.h"

const rl_gemm_kit *rl_gemm_kit_get(const rl_call *k) {
    if (!(k->svc->isa & RL_ISA_AVX2)) return NULL;
    return k->svc->isa & RL_ISA_AVX512 ? &kit_avx512 : &kit_avx2;
}

void rl_gemm_turn(float *to, int64_t step, const float *from, int64_t row, int64_t rows, int64_t n) {
    int64_t i = 0;
    for (; i + 4 <= rows; i += 4) {
        const float *f = from + i * row;
        float *t = to + i;
        int64_t j = 0;
        for (; j + 4 <= n; j += 4) {
            __m128 a = _mm_loadu_ps(f + j), b = _mm_loadu_ps(f + row + j);
            __m128 c = _mm_loadu_ps(f + 2 * row + j), d = _mm_loadu_ps(f + 3 * row + j);
            _MM_TRANSPOSE4_PS(a, b, c, d);
            _mm_storeu_ps(t + j * step, a);
            _mm_storeu_ps(t + (j + 1) * step, b);
            _mm_storeu_ps(t + (j + 2) * step, c);
            _mm_storeu_ps(t + (j + 3) * step, d);
        }
        for (; j < n; j++)
            for (int r = 0; r < 4; r++) t[j * step + r] = f[r * row + j];
    }
    for (; i + 2 <= rows; i += 2)
        for (int64_t j = 0; j < n; j++) {
            to[j * step + i] = from[i * row + j];
            to[j * step + i + 1] = from[(i + 1) * row + j];
        }
    for (; i < rows; i++)
        for (int64_t j = 0; j < n; j++) to[j * step + i] = from[i * row + j];
}
#else
const rl_gemm_kit *rl_gemm_kit_get(const rl_call *k) {
    (void)k;
    return NULL;
}
void rl_gemm_turn(float *to, int64_t step, const float *from, int64_t row, int64_t rows, int64_t n) {
    for (int64_t i = 0; i < rows; i++)
        for (int64_t j = 0; j < n; j++) to[j * step + i] = from[i * row + j];
}
#endif

/* to[j * step + i] = from[i * outer + j * inner]: one strip or panel of any layout. */
static void pack_group(float *to, int64_t step, const float *from, int64_t outer, int64_t inner, int64_t rows,
                       int64_t n) {
    if (inner == 1) {
        rl_gemm_turn(to, step, from, outer, rows, n);
    } else if (outer == 1) {
        for (int64_t j = 0; j < n; j++) __builtin_memcpy(to + j * step, from + j * inner, (size_t)rows * 4);
    } else {
        for (int64_t j = 0; j < n; j++)
            for (int64_t i = 0; i < rows; i++) to[j * step + i] = from[i * outer + j * inner];
    }
}

void rl_gemm_pack_a(float *to, int mr, const float *a, int64_t rows, int64_t k, int64_t row, int64_t col) {
    for (int64_t r = 0; r < rows; r += mr, to += mr * k)
        pack_group(to, mr, a + r * row, row, col, simd_min(mr, rows - r), k);
}

typedef struct {
    float *to;
    int nr;
    const float *b;
    int64_t n, k, row, col;
} pack_job;

static void pack_panels(void *ctx, int64_t begin, int64_t end, int thread) {
    const pack_job *j = ctx;
    (void)thread;
    for (int64_t p = begin; p < end; p++) {
        float *to = j->to + p * j->nr * j->k;
        int64_t cols = simd_min(j->nr, j->n - p * j->nr);
        if (cols < j->nr) __builtin_memset(to, 0, (size_t)(j->nr * j->k) * 4);
        pack_group(to, j->nr, j->b + p * j->nr * j->col, j->col, j->row, cols, j->k);
    }
}

void rl_gemm_pack_b(float *to, int nr, const float *b, int64_t n, int64_t k, int64_t row, int64_t col) {
    pack_job j = {to, nr, b, n, k, row, col};
    pack_panels(&j, 0, simd_ceil_div(n, nr), 0);
}

void rl_gemm_pack_b_shared(rl_call *k, float *to, int nr, const float *b, int64_t n, int64_t depth,
                           int64_t row, int64_t col) {
    pack_job j = {to, nr, b, n, depth, row, col};
    k->svc->parallel(k, simd_ceil_div(n, nr), 0.5 * (double)(nr * depth), pack_panels, &j);
}

/* Packing A costs a pass over it: worth it when several panels use it or its rows lie scattered. */
static bool gemm_packs(const rl_gemm_kit *kit, const rl_gemm *g) {
    return g->m >= kit->mr && g->n > (g->a_col == 1 ? 2 : 1) * kit->nr;
}

int64_t rl_gemm_room(const rl_gemm_kit *kit, const rl_gemm *g) {
    return gemm_packs(kit, g) ? (int64_t)RL_GEMM_MB * RL_GEMM_KB : 0;
}

void rl_gemm_block(const rl_gemm_kit *kit, const rl_gemm *g, int64_t m0, int64_t m1, int64_t p0, int64_t p1,
                   float *room) {
    bool packs = gemm_packs(kit, g);
    int64_t pieces = simd_max(1, simd_ceil_div(g->k, RL_GEMM_KB)), kb = simd_ceil_div(g->k, pieces);
    for (int64_t m = m0; m < m1; m += RL_GEMM_MB) {
        int64_t rows = simd_min(RL_GEMM_MB, m1 - m);
        for (int64_t k0 = 0; k0 < g->k; k0 += kb) {
            int64_t depth = simd_min(kb, g->k - k0);
            const float *a = g->a + m * g->a_row + k0 * g->a_col;
            rl_panel p = {.rows = rows, .k = depth, .packed_a = packs, .add = k0 > 0, .c_step = g->c_step};
            p.a = packs ? room : a;
            p.a_strip = kit->mr * (packs ? depth : g->a_row);
            p.a_row = g->a_row, p.a_col = g->a_col;
            p.row_bias = g->row_bias ? g->row_bias + m : NULL;
            if (packs) rl_gemm_pack_a(room, kit->mr, a, rows, depth, g->a_row, g->a_col);
            for (int64_t i = p0; i < p1; i++) {
                int64_t n = i * kit->nr;
                bool full = n + kit->nr <= g->n;
                p.cols = (int)simd_min(kit->nr, g->n - n);
                p.b_step = full ? g->b_step : kit->nr;
                p.b = (full ? g->b + i * g->b_panel : g->b_tail) + k0 * p.b_step;
                p.c = g->c + m * g->c_step + n;
                p.col_bias = g->col_bias ? g->col_bias + n : NULL;
                kit->panel(&p);
            }
        }
    }
}

typedef struct {
    const rl_gemm_kit *kit;
    const rl_gemm *g;
    int64_t mb, pb, across; /* rows and panels of a piece; pieces per row of pieces */
    float *room;
    int64_t room_step;
} gemm_job;

static void gemm_pieces(void *ctx, int64_t begin, int64_t end, int thread) {
    const gemm_job *j = ctx;
    int64_t panels = simd_ceil_div(j->g->n, j->kit->nr);
    for (int64_t i = begin; i < end; i++) {
        int64_t m = i / j->across * j->mb, p = i % j->across * j->pb;
        rl_gemm_block(j->kit, j->g, m, simd_min(j->g->m, m + j->mb), p, simd_min(panels, p + j->pb),
                      j->room + thread * j->room_step);
    }
}

rl_status rl_gemm_run(rl_call *k, const rl_gemm_kit *kit, const rl_gemm *g) {
    int64_t panels = simd_ceil_div(g->n, kit->nr), threads = simd_max(1, k->threads);
    double ns = RL_GEMM_NS * (double)g->m * (double)g->n * (double)g->k;
    bool one = rl_is_serial(k, 1, ns);
    gemm_job j = {.kit = kit, .g = g, .mb = g->m, .pb = panels, .room_step = rl_gemm_room(kit, g)};
    if (j.room_step) {
        j.room = rl_gemm_scratch(k, RL_COUNT(j.room_step, one ? 1 : threads));
        if (!j.room) return RL_FAIL;
    }
    if (!one) {
        /* pieces of up to 72 rows and 8 panels, smaller ones until every thread gets a few */
        int64_t wanted = 4 * threads;
        j.mb = simd_min(RL_GEMM_MB, simd_ceil_div(g->m, kit->mr) * kit->mr);
        j.pb = simd_min(8, panels);
        while (simd_ceil_div(g->m, j.mb) * simd_ceil_div(panels, j.pb) < wanted && j.pb > 2)
            j.pb = simd_ceil_div(j.pb, 2);
        while (simd_ceil_div(g->m, j.mb) * simd_ceil_div(panels, j.pb) < wanted && j.mb > 2 * kit->mr)
            j.mb = simd_ceil_div(j.mb, 2 * kit->mr) * kit->mr;
        /* even pieces: a short last row of them would leave threads waiting */
        j.mb = simd_ceil_div(simd_ceil_div(g->m, simd_ceil_div(g->m, j.mb)), kit->mr) * kit->mr;
    }
    j.across = simd_ceil_div(panels, j.pb);
    int64_t pieces = simd_ceil_div(g->m, j.mb) * j.across;
    k->svc->parallel(k, pieces, one ? 0 : ns / (double)pieces, gemm_pieces, &j);
    return RL_OK;
}
