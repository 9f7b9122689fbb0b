/* Gradients of depthwise convolutions, of any size, stride and dilation.
 *
 * Note [Depthwise gradients]
 *   A vector holds channels: a block of them is copied to scratch in NHWC order, [row][column][lane], padded
 *   with zeros, some rows of an image at a time. Then every pixel costs the same, however small the planes
 *   are.
 *
 *   For the gradient by the input, each pixel of the padded plane gathers from the outputs that read it. With
 *   stride 2 these differ for even and odd rows and columns: such a set of pixels is a phase, which has taps
 *   of its own.
 *
 *       taps of a row, stride 2   0 1 2        even places: taps 0 and 2, of outputs i and i - 1
 *                                              odd places:  tap 1, of output i
 *
 *   For the gradient by the weight, each tap adds up the products of outputs and the inputs that they read.
 *   Sizes alone cut a batch into chunks with sums of their own, so the number of threads does not change the
 *   result. */
#include "kernels/simd/common.h"
#include "indirect_gemm.h"
#include "conv.h"
#include "kernels/simd/gemm/gemm.h"

/* BAND: elements of the larger side in scratch */
enum { DEPTHWISE_TAPS = 9, BAND = 1 << 14, CHUNKS = 8, MAX_PHASES = 4096 };
typedef struct {
    const void *weight; /* [tap][lane] */
    const int32_t *tap, *shift;
    int64_t taps;
} depthwise_phase;
typedef struct {
    int width;
    void (*gather)(const depthwise_phase *p, const void *g, void *to, int64_t step, int64_t n);
    void (*meet)(const void *g, const void *x, int64_t step, int64_t n, const int32_t *shift, int64_t taps,
                 void *sums);
} depthwise_ukernel;
#define ISA_IMPL "kernels/simd/conv/depthwise_backward_impl.inc"
#define ISA_DOUBLES
#include "kernels/simd/foreach_isa.h"

typedef struct {
    rl_indirect_gemm p;
    const depthwise_ukernel *ukernel;
    rl_conv_planes in, grad, to;     /* to: the gradient by the input */
    int64_t blocks, bands, band;     /* rows of a band: of outputs, or of places of a phase */
    int64_t first;                   /* number of the first such row */
    int64_t pitch, shift_y, shift_x; /* columns of the padded gradient; the largest shift by a tap */
    int64_t chunk, chunks;
    rl_rooms rooms;
    int64_t first_at, second_at; /* parts of a room: the gradient; the other side */
    depthwise_phase *phase;
    int32_t *shift;
    char *weight, *sums, *out;
} depthwise_job;

static const depthwise_ukernel *ukernel_of(const rl_call *k, int inner) {
    static const depthwise_ukernel *const ukernels[2][RL_ISA_END] = {ISA_TABLE(&depthwise),
                                                                     ISA_TABLE_F64(&depthwise)};
    return ukernels[inner == RL_F64][k->svc->isa];
}

/* `rows` rows of `columns` each, from row y and column x of a plane of h x w on, zero outside */
static void take_rows(const depthwise_job *j, char *to, const rl_conv_planes *planes, const char *from,
                      int64_t h, int64_t w, int64_t y, int64_t x, int64_t rows, int64_t columns,
                      int64_t lanes) {
    const int64_t width = j->ukernel->width, line = columns * width * j->p.size, item = j->p.in.from_item;
    const int64_t lo = simd_max(0, -x), hi = simd_min(columns, w - x), top = simd_max(0, -y);
    const int64_t end = simd_min(rows, h - y);
    if (lo > 0 || hi < columns || top > 0 || end < rows || lanes < width)
        __builtin_memset(to, 0, (size_t)(rows * line));
    if (hi <= lo) return;
    const bool whole = lo == 0 && columns == w && x == 0; /* rows follow each other on both sides */
    const int64_t step = whole ? simd_max(1, end - top) : 1;
    for (int64_t r = top; r < end; r += step)
        rl_gemm_pack(&j->p.in, j->p.size, to + r * line + lo * width * j->p.size, width,
                     from + ((y + r) * w + x + lo) * planes->place * item, planes->channel, planes->place,
                     lanes, step * (hi - lo));
}

/* ---- by the input ---- */
static void gather_band(const depthwise_job *j, const char *g, char *to, int64_t i0, int64_t rows,
                        int64_t block) {
    const rl_conv *c = j->p.c;
    const int64_t width = j->ukernel->width, size = j->p.size;
    const char *weight = j->weight + block * c->k * width * size;
    for (int64_t py = 0; py < c->sh; py++)
        for (int64_t px = 0; px < c->sw; px++) {
            depthwise_phase phase = j->phase[py * c->sw + px];
            const int64_t j0 = simd_max(0, simd_ceil_div(c->pl - px, c->sw));
            const int64_t n = simd_ceil_div(c->pl + c->w - px, c->sw) - j0;
            phase.weight = weight;
            if (n <= 0) continue;
            for (int64_t i = 0; i < rows; i++) {
                const int64_t row = (i0 + i) * c->sh + py - c->pt;
                if (row < 0 || row >= c->h) continue;
                const int64_t column = j0 * c->sw + px - c->pl;
                j->ukernel->gather(&phase, g + ((i + j->shift_y) * j->pitch + j0 + j->shift_x) * width * size,
                                   to + ((i * c->sh + py) * c->w + column) * width * size, c->sw * width, n);
            }
        }
}

/* item = (image * blocks + block) * bands + band */
static void input_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const depthwise_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t width = j->ukernel->width, size = j->p.size, last = (c->pt + c->h - 1) / c->sh;
    char *room = rl_room(&j->rooms, thread), *g = room + j->first_at, *sums = room + j->second_at;
    for (int64_t i = begin; i < end; i++) {
        const int64_t block = i / j->bands % j->blocks, image = i / j->bands / j->blocks;
        const int64_t i0 = j->first + i % j->bands * j->band, rows = simd_min(j->band, last + 1 - i0);
        const int64_t lane = block * width, lanes = simd_min(width, c->groups - lane);
        const char *from = j->grad.at + (image * j->grad.image + lane * j->grad.channel) * j->p.in.from_item;
        take_rows(j, g, &j->grad, from, c->oh, c->ow, i0 - j->shift_y, -j->shift_x, rows + j->shift_y,
                  j->pitch, lanes);
        gather_band(j, g, sums, i0, rows, block);
        const int64_t y0 = simd_max(0, i0 * c->sh - c->pt), y1 = simd_min(c->h, (i0 + rows) * c->sh - c->pt);
        char *to = j->out +
                   (image * j->to.image + lane * j->to.channel + y0 * c->w * j->to.place) * j->p.out.to_item;
        const char *line = sums + (y0 + c->pt - i0 * c->sh) * c->w * width * size;
        rl_conv_put(&j->p, to, &j->to, line, width, (y1 - y0) * c->w, lanes);
    }
}

/* the taps of each phase */
static bool phases_make(rl_call *k, depthwise_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t phases = c->sh * c->sw;
    int32_t *tap = k->svc->scratch(k, RL_COUNT(c->k), sizeof *tap);
    int32_t *shift = k->svc->scratch(k, RL_COUNT(c->k), sizeof *shift);
    j->phase = k->svc->scratch(k, RL_COUNT(phases), sizeof *j->phase);
    if (!tap || !shift || !j->phase) return false;
    for (int64_t p = 0; p < phases; p++) {
        j->phase[p] = (depthwise_phase){.tap = tap, .shift = shift};
        for (int64_t t = 0; t < c->k; t++) {
            const int64_t y = t / c->kw * c->dh, x = t % c->kw * c->dw;
            if (y % c->sh * c->sw + x % c->sw != p) continue;
            *tap++ = (int32_t)t;
            *shift++ = (int32_t)((y / c->sh * j->pitch + x / c->sw) * j->ukernel->width);
            j->phase[p].taps++;
        }
    }
    return true;
}

static bool input_weights(rl_call *k, depthwise_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t width = j->ukernel->width, size = j->p.size;
    const char *from = rl_dense_input(k, rl_in(k, 1));
    j->weight = k->svc->scratch(k, RL_COUNT(j->blocks, c->k, width), size);
    if (!from || !j->weight) return false;
    for (int64_t b = 0; b < j->blocks; b++)
        rl_gemm_pack(&j->p.in, (int)size, j->weight + b * c->k * width * size, width,
                     from + b * width * c->k * j->p.in.from_item, c->k, 1,
                     simd_min(width, c->groups - b * width), c->k);
    return true;
}

RL_CHOOSER
static bool depthwise_begin(rl_call *k, const rl_conv *c, depthwise_job *j) {
    *j = (depthwise_job){0};
    if (c->ic != 1 || c->oc != 1 || !rl_indirect_gemm_make(k, c, k->out[0]->dtype, 1, &j->p)) return false;
    j->ukernel = ukernel_of(k, j->p.inner);
    j->blocks = simd_ceil_div(c->groups, j->ukernel->width);
    return true;
}

/* a thread's room; counts of elements */
static rl_layout depthwise_layout(const rl_call *k, depthwise_job *j, rl_count first, rl_count second) {
    rl_layout l = rl_layout_begin(k);
    j->first_at = rl_layout_add(&l, first, j->p.size);
    j->second_at = rl_layout_add(&l, second, j->p.size);
    return l;
}

RL_CHOOSER
bool rl_conv_input_depthwise(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status) {
    depthwise_job j;
    if (!depthwise_begin(k, c, &j)) return false;
    const int64_t width = j.ukernel->width, last = (c->pt + c->h - 1) / c->sh;
    j.shift_y = (c->kh - 1) * c->dh / c->sh, j.shift_x = (c->kw - 1) * c->dw / c->sw;
    j.pitch = j.shift_x + (c->pl + c->w - 1) / c->sw + 1;
    j.first = c->pt / c->sh;
    const double line = (double)simd_max(j.pitch, c->sh * c->w) * (double)width;
    if (c->sh * c->sw > MAX_PHASES) return false; /* rl_indirect_gemm_make has seen to the sizes */
    j.band = simd_min(last + 1 - j.first, simd_max(1, (int64_t)(BAND / line)));
    j.bands = simd_ceil_div(last + 1 - j.first, j.band);
    const bool one = rl_is_serial(k, 1, RL_GEMM_NS * 16 * rl_conv_work(c));
    j.grad = rl_conv_planes_of(k, rl_in(k, 0), spatial), j.to = rl_conv_planes_of(k, k->out[0], spatial);
    j.out = rl_data(k->out[0], RL_WRITE);
    const rl_layout l = depthwise_layout(k, &j, RL_COUNT(j.band + j.shift_y, j.pitch, width),
                                         RL_COUNT(j.band, c->sh, c->w, width));
    *status = RL_FAIL;
    if (!j.grad.at || !phases_make(k, &j) || !input_weights(k, &j) ||
        !k->svc->rooms(k, &l, one ? 1 : k->threads, &j.rooms))
        return true;
    *status = RL_OK;
    const double item = 0.4 * (double)j.band * line;
    k->svc->parallel(k, c->n * j.blocks * j.bands, one ? 0 : item, input_items, &j);
    return true;
}

/* ---- by the weight ---- */
/* item = chunk of images * blocks + block */
static void weight_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const depthwise_job *j = ctx;
    const rl_conv *c = j->p.c;
    const int64_t width = j->ukernel->width, size = j->p.size, item = j->p.in.from_item;
    char *room = rl_room(&j->rooms, thread), *g = room + j->first_at, *x = room + j->second_at;
    for (int64_t i = begin; i < end; i++) {
        const int64_t lane = i % j->blocks * width, lanes = simd_min(width, c->groups - lane);
        const int64_t first = i / j->blocks * j->chunk, last = simd_min(c->n, first + j->chunk);
        char *sums = j->sums + i * c->k * width * size;
        __builtin_memset(sums, 0, (size_t)(c->k * width * size));
        for (int64_t at = first * j->bands; at < last * j->bands; at++) {
            const int64_t image = at / j->bands, y = at % j->bands * j->band;
            const int64_t rows = simd_min(j->band, c->oh - y);
            take_rows(j, g, &j->grad, j->grad.at + (image * j->grad.image + lane * j->grad.channel) * item,
                      c->oh, c->ow, y, 0, rows, c->ow, lanes);
            take_rows(j, x, &j->in, j->in.at + (image * j->in.image + lane * j->in.channel) * item, c->h,
                      c->w, y * c->sh - c->pt, -c->pl, (rows - 1) * c->sh + (c->kh - 1) * c->dh + 1,
                      j->p.wide, lanes);
            for (int64_t r = 0; r < rows; r++)
                j->ukernel->meet(g + r * c->ow * width * size, x + r * c->sh * j->p.wide * width * size,
                                 c->sw * width, c->ow, j->shift, c->k, sums);
        }
    }
}

/* the sums of all chunks, in order */
static void weight_finish(const depthwise_job *j) {
    const rl_conv *c = j->p.c;
    const int64_t width = j->ukernel->width, n = j->blocks * c->k * width;
    for (int64_t chunk = 1; chunk < j->chunks; chunk++)
        for (int64_t i = 0; i < n; i++)
            if (j->p.inner == RL_F64)
                ((double *)j->sums)[i] += ((double *)j->sums)[chunk * n + i];
            else
                ((float *)j->sums)[i] += ((float *)j->sums)[chunk * n + i];
    const rl_conv_planes planes = {.channel = c->k, .place = 1};
    for (int64_t b = 0; b < j->blocks; b++)
        rl_conv_put(&j->p, j->out + b * width * c->k * j->p.out.to_item, &planes,
                    j->sums + b * c->k * width * j->p.size, width, c->k,
                    simd_min(width, c->groups - b * width));
}

RL_CHOOSER
bool rl_conv_weight_depthwise(rl_call *k, const rl_conv *c, int64_t spatial, rl_status *status) {
    depthwise_job j;
    if (!depthwise_begin(k, c, &j)) return false;
    const int64_t width = j.ukernel->width, more = (c->kh - 1) * c->dh;
    const double line = (double)simd_max(c->ow, c->sh * j.p.wide) * (double)width;
    j.band = simd_min(c->oh, simd_max(1, (int64_t)(BAND / line)));
    j.bands = simd_ceil_div(c->oh, j.band);
    const int64_t seen = (j.band - 1) * c->sh + more + 1; /* rows of the input by a band */
    j.chunk = simd_ceil_div(c->n, CHUNKS), j.chunks = simd_ceil_div(c->n, j.chunk);
    const bool one = rl_is_serial(k, 1, RL_GEMM_NS * 16 * rl_conv_work(c));
    j.grad = rl_conv_planes_of(k, rl_in(k, 0), spatial), j.in = rl_conv_planes_of(k, rl_in(k, 1), spatial);
    j.out = rl_data(k->out[0], RL_WRITE);
    j.shift = k->svc->scratch(k, RL_COUNT(c->k), sizeof *j.shift);
    j.sums = k->svc->scratch(k, RL_COUNT(j.chunks, j.blocks, c->k, width), j.p.size);
    const rl_layout l =
        depthwise_layout(k, &j, RL_COUNT(j.band, c->ow, width), RL_COUNT(seen, j.p.wide, width));
    *status = RL_FAIL;
    if (!j.grad.at || !j.in.at || !j.shift || !j.sums ||
        !k->svc->rooms(k, &l, one ? 1 : k->threads, &j.rooms))
        return true;
    *status = RL_OK;
    for (int64_t t = 0; t < c->k; t++)
        j.shift[t] = (int32_t)((t / c->kw * c->dh * j.p.wide + t % c->kw * c->dw) * width);
    const double item = 0.4 * (double)(j.chunk * c->oh) * line;
    k->svc->parallel(k, j.chunks * j.blocks, one ? 0 : item, weight_items, &j);
    weight_finish(&j);
    return true;
}
