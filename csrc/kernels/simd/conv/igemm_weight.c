/* The gradient of a convolution by its weight, as an implicit GEMM (Note [Implicit GEMM] in
 * kernels/simd/conv/igemm.h):
 *
 *     sums (channels x taps, outputs) = patches (channels x taps, places) gradient^T (places, outputs)
 *
 * The gradient is transposed once; a work item owns some rows of sums and goes over the pixels of all images,
 * so that every sum is added up in one order. */
#include "kernels/simd/common.h"
#include "igemm.h"
#include <string.h>

enum { MIN_ROWS = 24, MAX_ROWS = 192, ITEMS = 4 }; /* rows of an item; items of a thread */
typedef struct {
    const rl_igemm_plan *plan;
    rl_igemm_cut cut;
    const char *in, *gradient; /* of this round */
    char *panels, *sums, *out;
    rl_rooms rooms;
    simd_cast_copy from, back;
    int64_t images, depth, rows, blocks; /* of this round; rows of sums, those of an item, items of a group */
    int64_t panels_all, panel, wide;     /* of a group; numbers of a panel, of a row of sums */
} weight_job;

/* item = group * panels + panel of output channels: its gradients, turned */
static void transpose_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_igemm_problem *p = j->plan->p;
    const int64_t nr = j->plan->ukernel->nr, size = j->plan->size, places = j->cut.places;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t o0 = i % j->panels_all * nr, lanes = simd_min(nr, p->outputs - o0);
        for (int64_t image = 0; image < j->images; image++) {
            const int64_t plane = (image * p->groups + i / j->panels_all) * p->outputs + o0;
            rl_gemm_pack(&j->from, (int)size, j->panels + (i * j->panel + image * places * nr) * size, nr,
                         j->gradient + plane * places * j->from.from_item, places, 1, lanes, places);
        }
    }
}

/* item = group * blocks + block of rows */
static void weight_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t nr = plan->ukernel->nr, size = plan->size, tiles = rl_igemm_tiles(&j->cut, j->images);
    char *room = rl_room(&j->rooms, thread);
    rl_igemm_tile t;
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / j->blocks, row = i % j->blocks * j->rows;
        rl_panel panel = {.rows = simd_min(j->rows, j->depth - row), .add = true, .a = room, .a_col = 1};
        panel.a_row = j->cut.tile, panel.a_strip = plan->ukernel->mr * j->cut.tile;
        panel.b_step = nr, panel.c_step = j->wide;
        const char *in = j->in + group * p->channels * plan->channel * size;
        const char *panels = j->panels + group * j->panels_all * j->panel * size;
        char *sums = j->sums + (group * j->depth + row) * j->wide * size;
        for (int64_t tile = 0; tile < tiles; tile++) {
            rl_igemm_tile_make(plan, &j->cut, j->images, tile, &t);
            rl_igemm_fill(plan, &t, &plan->phase[0], in, row, panel.rows, room, j->cut.tile);
            panel.k = t.count;
            for (int64_t o = 0; o < p->outputs; o += nr) {
                panel.cols = (int)simd_min(nr, p->outputs - o);
                panel.b = panels + (o / nr * j->panel + (t.image * j->cut.places + t.first) * nr) * size;
                panel.c = sums + o * size;
                plan->ukernel->panel(&panel);
            }
        }
    }
}

/* item = group * outputs + output channel: its row of the answer */
static void answer_items(void *ctx, int64_t begin, int64_t end, int thread) {
    const weight_job *j = ctx;
    const rl_igemm_problem *p = j->plan->p;
    const int64_t size = j->plan->size, item = j->back.to_item;
    (void)thread;
    for (int64_t i = begin; i < end; i++) {
        const int64_t group = i / p->outputs, o = i % p->outputs;
        simd_cast_copy_run(&j->back, j->out + i * j->depth * item, item,
                           j->sums + (group * j->depth * j->wide + o) * size, j->wide * size, j->depth);
    }
}

static bool weight_room(rl_call *k, weight_job *j, int64_t threads) {
    const rl_igemm_plan *plan = j->plan;
    const rl_igemm_problem *p = plan->p;
    const int64_t nr = plan->ukernel->nr, mr = plan->ukernel->mr, size = plan->size;
    j->depth = p->channels * p->kernel[0] * p->kernel[1] * p->kernel[2];
    j->rows = simd_ceil_div(j->depth, simd_ceil_div(threads * ITEMS, p->groups));
    j->rows = simd_max(MIN_ROWS, simd_min(MAX_ROWS, simd_ceil_div(j->rows, mr) * mr));
    j->blocks = simd_ceil_div(j->depth, j->rows);
    j->panels_all = simd_ceil_div(p->outputs, nr);
    j->wide = j->panels_all * nr;
    const rl_count panel = RL_COUNT(j->images, j->cut.places, nr);
    const rl_count sums = RL_COUNT(p->groups, j->depth, j->wide, size);
    j->panel = panel.n;
    j->panels = k->svc->scratch(
        k, rl_count_times(rl_count_times(rl_count_times(panel, p->groups), j->panels_all), size), 1);
    j->sums = k->svc->scratch(k, sums, 1);
    if (!j->panels || !j->sums ||
        !rl_thread_rooms(k, threads, RL_COUNT(j->rows, j->cut.tile), size, &j->rooms))
        return false;
    memset(j->sums, 0, (size_t)sums.n);
    return true;
}

/* To p->weight, which is contiguous; p->out is the gradient by the output. */
static rl_status weight_run(rl_call *k, const rl_igemm_problem *p) {
    rl_igemm_plan plan;
    rl_status made = rl_igemm_plan_make(k, p, &plan);
    if (made != RL_OK) return made;
    const double work = RL_GEMM_NS * rl_igemm_work(p) * plan.size / 4;
    const int64_t threads = rl_is_serial(k, 1, work) ? 1 : k->threads, round = rl_igemm_round(k, &plan);
    weight_job j = {.plan = &plan, .images = round, .cut = rl_igemm_cut_make(&plan, round)};
    j.from = simd_cast_copy_between(k, plan.inner, p->out->dtype);
    j.back = simd_cast_copy_between(k, p->weight->dtype, plan.inner);
    j.out = rl_data(p->weight, RL_WRITE);
    char *prepared = NULL;
    if (plan.copies && !(prepared = k->svc->scratch(k, RL_COUNT(round, plan.image, plan.size), 1)))
        return RL_FAIL;
    const char *gradient = rl_igemm_plain(k, p->out, p->out->dtype);
    if (!gradient || !weight_room(k, &j, threads)) return RL_FAIL;
    const int64_t outputs = p->groups * p->outputs, items = p->groups * j.blocks;
    for (int64_t first = 0; first < p->images; first += round) {
        j.images = simd_min(round, p->images - first);
        j.in = rl_igemm_input(k, &plan, first, j.images, prepared);
        j.gradient = gradient + first * outputs * j.cut.places * j.from.from_item;
        const double part = (double)j.images / (double)p->images;
        k->svc->parallel(k, p->groups * j.panels_all, threads == 1 ? 0 : 0.4 * (double)j.panel,
                         transpose_items, &j);
        k->svc->parallel(k, items, threads == 1 ? 0 : work * part / (double)items, weight_items, &j);
    }
    k->svc->parallel(k, outputs, (double)j.depth, answer_items, &j);
    return RL_OK;
}

RL_CHOOSER
RL_KERNEL(simd_conv_weight_igemm) {
    const rl_view *grad = rl_in(k, 0), *in = rl_in(k, 1), *out = k->out[0];
    rl_igemm_problem p;
    if (!k->svc->isa || !rl_igemm_read(k, in, out, NULL, grad, false, &p)) return RL_UNSUPPORTED;
    return weight_run(k, &p);
}
