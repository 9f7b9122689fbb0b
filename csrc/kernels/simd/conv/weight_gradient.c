/* The gradient of conv1d and conv2d by the weight: long dot products of planes, shifted against each other.
 *
 * Note [Correlation]
 *   dW[o][tap] is the sum of grad[o][place] * x[place moved by tap]. When the rows of the gradient are as far
 *   apart as those of x, with zeros between, all places of a plane are one run, and a tap is one offset:
 *
 *       x     a b c d e f          grad   A B C D . .        run: A B C D . . E F G H
 *             g h i j k l                 E F G H . .             a b c d e f g h i j    tap (0, 0)
 *             m n o p q r                                         b c d e f g h i j k    tap (0, 1)
 *                                                                 g h i j k l m n o p    tap (1, 0)
 *   Zeros meet real numbers of x there: an infinity in x may make NaN of taps that do not touch it.
 *
 *   Padding and strides are removed by a copy: row r and column q of x go to plane (r % sh, q % sw).
 *   A batch is cut into chunks, each with sums of its own, so that the same threads add in the same order. */
#include "kernels/simd/common.h"
#include "conv.h"
#include "indirect_gemm.h"
#include "kernels/simd/gemm/gemm.h"
#include "kernel_abi/window.h"
#include "kernels/shared/plain.h"

typedef struct {
    const float *in, *grad;
    int64_t images, length;
    int64_t in_image, grad_image, grad_plane; /* steps */
} weight_run;
#define ISA_IMPL "kernels/simd/conv/weight_gradient_impl.inc"
#include "kernels/simd/foreach_isa.h"

enum {
    RUN = 1024,       /* numbers of a run that several output channels share in the first cache */
    COPIED = 1 << 16, /* numbers of x prepared at a time, unless one image's rows have more */
    SUMS = 1 << 24,   /* numbers in the sums of all chunks */
};
enum { CHUNKS = 8, ONE_CHUNK = 1 << 20 }; /* multiply-adds below which one will do */

typedef void (*weight_body)(const weight_run *r, const int64_t *taps, int64_t depth, int64_t outs, float *to);
typedef struct {
    const rl_conv *c;
    weight_body run;
    const float *in, *grad;
    float *sums;
    const int64_t *tap;
    bool copies, spreads;           /* x is prepared; the gradient is */
    int64_t pitch, height, channel; /* of prepared x: row, rows of a plane, all planes of a channel */
    int64_t rows, images;           /* output rows and images of a run */
    int64_t chunk, splits, split;   /* images of a chunk; parts of the output channels, channels of one */
    int64_t outputs;                /* all output channels */
    rl_rooms rooms;
    int64_t in_at, grad_at; /* parts of a room: prepared x, the gradient */
} weight_job;

/* x of `images` images from `image` on, group `group`, for output rows from y on */
static void prepare_in(const weight_job *j, float *to, int64_t image, int64_t images, int64_t group,
                       int64_t y) {
    const rl_conv *c = j->c;
    int64_t plane = j->height * j->pitch;
    for (int64_t i = 0; i < images * c->ic; i++) {
        const float *from = j->in + ((image + i / c->ic) * c->groups + group) * c->ic * c->h * c->w;
        from += i % c->ic * c->h * c->w;
        for (int64_t p = 0; p < c->sh; p++)
            for (int64_t r = 0; r < j->height; r++) {
                float *line = to + i * j->channel + p * c->sw * plane + r * j->pitch;
                int64_t row = (y + r) * c->sh + p - c->pt;
                if (row >= 0 && row < c->h)
                    rl_conv_row(c, line, from + row * c->w, j->pitch, plane);
                else
                    for (int64_t q = 0; q < c->sw; q++)
                        __builtin_memset(line + q * plane, 0, (size_t)j->pitch * sizeof(float));
            }
    }
}

/* `rows` rows of the gradient of `outs` channels, as far apart as those of x */
static void prepare_grad(const weight_job *j, float *to, int64_t image, int64_t images, int64_t out,
                         int64_t outs, int64_t y, int64_t rows) {
    const rl_conv *c = j->c;
    for (int64_t i = 0; i < images * outs; i++, to += j->rows * j->pitch) {
        const float *from = j->grad + ((image + i / outs) * j->outputs + out + i % outs) * c->oh * c->ow;
        from += y * c->ow;
        for (int64_t r = 0; r < rows; r++) {
            __builtin_memcpy(to + r * j->pitch, from + r * c->ow, (size_t)c->ow * sizeof(float));
            __builtin_memset(to + r * j->pitch + c->ow, 0, (size_t)(j->pitch - c->ow) * sizeof(float));
        }
    }
}

/* output channels [o0, o1), all of one group, over some images and rows */
static void weight_part(const weight_job *j, char *room, float *sums, int64_t image, int64_t images,
                        int64_t y, int64_t o0, int64_t o1) {
    const rl_conv *c = j->c;
    float *x = (float *)(room + j->in_at), *grad = (float *)(room + j->grad_at);
    int64_t rows = simd_min(j->rows, c->oh - y), group = o0 / c->oc;
    weight_run r = {.images = images, .length = (rows - 1) * j->pitch + c->ow};
    if (j->copies) {
        prepare_in(j, x, image, images, group, y);
        r.in = x, r.in_image = c->ic * j->channel;
    } else {
        r.in = j->in + (image * c->groups + group) * c->ic * c->h * c->w + y * c->w;
        r.in_image = c->groups * c->ic * c->h * c->w;
    }
    if (j->spreads) {
        prepare_grad(j, grad, image, images, o0, o1 - o0, y, rows);
        r.grad = grad;
        r.grad_plane = j->rows * j->pitch, r.grad_image = (o1 - o0) * r.grad_plane;
    } else {
        r.grad = j->grad + (image * j->outputs + o0) * c->oh * c->ow + y * c->ow;
        r.grad_plane = c->oh * c->ow, r.grad_image = j->outputs * r.grad_plane;
    }
    j->run(&r, j->tap, c->k, o1 - o0, sums + o0 * c->k);
}

/* item = chunk * splits + part of the output channels */
static void weight_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_conv *c = j->c;
    char *room = rl_room(&j->rooms, thread);
    for (int64_t i = begin; i < end; i++) {
        int64_t first = i / j->splits * j->chunk, last = simd_min(c->n, first + j->chunk);
        int64_t o0 = i % j->splits * j->split, o1 = simd_min(j->outputs, o0 + j->split);
        float *sums = j->sums + i / j->splits * j->outputs * c->k;
        __builtin_memset(sums + o0 * c->k, 0, (size_t)((o1 - o0) * c->k) * sizeof(float));
        for (int64_t n = first; n < last; n += j->images)
            for (int64_t y = 0; y < c->oh; y += j->rows)
                for (int64_t o = o0, next; o < o1; o = next) {
                    next = simd_min(o1, (o / c->oc + 1) * c->oc);
                    weight_part(j, room, sums, n, simd_min(j->images, last - n), y, o, next);
                }
    }
}

typedef struct {
    const float *sums;
    float *to;
    int64_t chunks, n;
} total_job;

static void total_part(void *ctx, int64_t begin, int64_t end, int thread) {
    const total_job *j = ctx;
    (void)thread;
    for (int64_t c = 0; c < j->chunks; c++) {
        const float *from = j->sums + c * j->n;
        for (int64_t i = begin; i < end; i++) j->to[i] = c ? j->to[i] + from[i] : from[i];
    }
}

/* how x lies, and how much of it makes a run */
static void weight_runs(weight_job *j) {
    const rl_conv *c = j->c;
    int64_t more = (c->kh - 1) * c->dh / c->sh;
    j->copies = c->pt || c->pl || c->sh > 1 || c->sw > 1 || (c->oh - 1) + (c->kh - 1) * c->dh >= c->h ||
                (c->ow - 1) + (c->kw - 1) * c->dw >= c->w;
    j->pitch = j->copies ? c->ow + (c->kw - 1) * c->dw / c->sw : c->w;
    j->spreads = j->pitch != c->ow;
    j->rows = simd_min(c->oh, simd_max(1, RUN / j->pitch));
    j->height = j->rows + more;
    j->channel = j->copies ? c->sh * c->sw * j->height * j->pitch : c->h * c->w;
    j->images = 1;
    if (j->rows == c->oh) {
        j->images = simd_max(1, RUN / (j->rows * j->pitch));
        if (j->copies) j->images = simd_max(1, simd_min(j->images, COPIED / (c->ic * j->channel)));
    }
}

/* Chunks of images, whose sums are added in order: the sizes alone say how many. Parts of the channels, which
 * change no sum, when those are too few for the threads. */
static int64_t weight_chunks(weight_job *j, int64_t threads) {
    const rl_conv *c = j->c;
    int64_t groups = simd_ceil_div(c->n, j->images), floats = j->outputs * c->k;
    int64_t chunks = rl_conv_work(c) < ONE_CHUNK ? 1 : simd_min(groups, CHUNKS);
    chunks = simd_max(1, simd_min(chunks, SUMS / floats));
    j->chunk = simd_ceil_div(groups, chunks) * j->images;
    chunks = simd_ceil_div(c->n, j->chunk);
    j->split = j->outputs;
    if (threads > 1 && chunks < 2 * threads)
        j->split = simd_ceil_div(simd_ceil_div(j->outputs, simd_ceil_div(2 * threads, chunks)), 6) * 6;
    j->split = simd_min(j->split, j->outputs);
    j->splits = simd_ceil_div(j->outputs, j->split);
    return chunks;
}

/* a thread's room */
static rl_layout weight_layout(const rl_call *k, weight_job *j) {
    const rl_conv *c = j->c;
    const int64_t outs = simd_min(c->oc, j->split);
    rl_layout l = rl_layout_begin(k);
    const rl_count in = RL_COUNT(j->images, c->ic, c->sh, c->sw, j->height, j->pitch);
    j->in_at = rl_layout_add(&l, j->copies ? in : RL_COUNT(0), sizeof(float));
    const rl_count grad = RL_COUNT(j->images, outs, j->rows, j->pitch);
    j->grad_at = rl_layout_add(&l, j->spreads ? grad : RL_COUNT(0), sizeof(float));
    return l;
}

static const int64_t *weight_taps(rl_call *k, const weight_job *j) {
    const rl_conv *c = j->c;
    int64_t *taps = k->svc->scratch(k, RL_COUNT(c->k), sizeof *taps), plane = j->height * j->pitch;
    for (int64_t i = 0; taps && i < c->k; i++) {
        int64_t y = i / c->kw % c->kh * c->dh, x = i % c->kw * c->dw;
        taps[i] = i / (c->kh * c->kw) * j->channel + (y % c->sh * c->sw + x % c->sw) * plane +
                  y / c->sh * j->pitch + x / c->sw;
    }
    return taps;
}

rl_status rl_conv_weight_correlate(rl_call *k, const rl_conv *c) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    int64_t threads = rl_is_serial(k, 1, RL_GEMM_NS * rl_conv_work(c)) ? 1 : k->threads;
    static const weight_body runs[] = ISA_TABLE(weight_run);
    weight_job j = {.c = c, .run = runs[k->svc->isa], .outputs = c->groups * c->oc};
    weight_runs(&j);
    int64_t chunks = weight_chunks(&j, threads), floats = j.outputs * c->k;
    const rl_layout l = weight_layout(k, &j);
    if (!k->svc->rooms(k, &l, threads, &j.rooms)) return RL_FAIL;
    j.in = rl_plain_input(k, in), j.grad = rl_plain_input(k, grad);
    j.tap = weight_taps(k, &j);
    float *to = rl_data(out, RL_WRITE);
    j.sums = chunks == 1 ? to : rl_gemm_scratch(k, RL_COUNT(chunks, floats));
    if (!j.in || !j.grad || !j.tap || !j.sums) return RL_FAIL;
    double items = (double)(chunks * j.splits);
    k->svc->parallel(k, chunks * j.splits, threads == 1 ? 0 : RL_GEMM_NS * rl_conv_work(c) / items,
                     weight_items, &j);
    if (chunks == 1) return RL_OK;
    total_job total = {j.sums, to, chunks, floats};
    k->svc->parallel(k, floats, 0.3 * (double)chunks, total_part, &total);
    return RL_OK;
}
