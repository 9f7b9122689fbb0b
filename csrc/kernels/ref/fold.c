/* Sliding blocks of images as columns, and back. */
#include "kernel_abi/window.h"
#include "loops.h"
#include <string.h>

/* The image (n, channels, size) and its columns: one row for each channel and place in a kernel, of one
 * number for each block. */
typedef struct {
    int64_t channels, size[2], kernel[2], dilation[2], pad[2], stride[2], blocks[2];
    int64_t image_step[4], column_step[3], item; /* bytes */
    int64_t planes, area;
    const char *image_from, *column_from;
    char *image, *columns;
    rl_rooms rooms; /* a plane of sums for each thread */
} fold_job;

static void fold_read(const rl_call *k, fold_job *j, const rl_view *image, const rl_view *columns) {
    const rl_window *a = rl_window_of(k);
    int lead = image->ndim - 3;
    j->item = rl_itemsize(image->dtype);
    j->channels = image->shape[lead];
    for (int i = 0; i < 2; i++) {
        j->size[i] = image->shape[lead + 1 + i];
        j->kernel[i] = a->kernel[1 + i], j->dilation[i] = a->dilation[1 + i];
        j->pad[i] = a->before[1 + i], j->stride[i] = a->stride[1 + i];
        j->blocks[i] =
            (j->size[i] + 2 * j->pad[i] - j->dilation[i] * (j->kernel[i] - 1) - 1) / j->stride[i] + 1;
    }
    for (int d = 0; d < 4; d++) j->image_step[d] = d || lead ? image->strides[d - 1 + lead] * j->item : 0;
    for (int d = 0; d < 3; d++) j->column_step[d] = d || lead ? columns->strides[d - 1 + lead] * j->item : 0;
    j->planes = image->numel / (j->size[0] * j->size[1]);
    j->area = j->size[0] * j->size[1];
}

/* of the blocks along dimension i: those whose element at `place` is no padding */
static void inside(const fold_job *j, int i, int64_t place, int64_t *from, int64_t *to) {
    int64_t start = place * j->dilation[i] - j->pad[i], left = j->size[i] - start;
    *from = start < 0 ? (-start + j->stride[i] - 1) / j->stride[i] : 0;
    *to = left > 0 ? (left + j->stride[i] - 1) / j->stride[i] : 0;
    if (*to > j->blocks[i]) *to = j->blocks[i];
    if (*from > *to) *from = *to;
}

/* ---- columns of an image ---- */
static void copy_row(char *to, const char *from, int64_t step, int64_t n, int64_t item) {
    if (step == item)
        memcpy(to, from, (size_t)(n * item));
    else if (item == 4)
        for (int64_t i = 0; i < n; i++) ((uint32_t *)to)[i] = *(const uint32_t *)(from + i * step);
    else if (item == 8)
        for (int64_t i = 0; i < n; i++) ((uint64_t *)to)[i] = *(const uint64_t *)(from + i * step);
    else if (item == 2)
        for (int64_t i = 0; i < n; i++) ((uint16_t *)to)[i] = *(const uint16_t *)(from + i * step);
    else
        for (int64_t i = 0; i < n; i++) to[i] = from[i * step];
}

static void unfold_rows(void *ctx, int64_t begin, int64_t end, int thread) {
    const fold_job *j = ctx;
    int64_t block = j->kernel[0] * j->kernel[1], row = j->blocks[1] * j->item, from[2], to[2];
    (void)thread;
    for (int64_t r = begin; r < end; r++) {
        int64_t plane = r / block, place[2] = {r % block / j->kernel[1], r % j->kernel[1]};
        const char *image =
            j->image_from + plane / j->channels * j->image_step[0] + plane % j->channels * j->image_step[1];
        char *columns = j->columns + r * j->blocks[0] * row;
        for (int i = 0; i < 2; i++) inside(j, i, place[i], &from[i], &to[i]);
        for (int64_t y = 0; y < j->blocks[0]; y++, columns += row) {
            int64_t h = y * j->stride[0] + place[0] * j->dilation[0] - j->pad[0];
            int64_t w = from[1] * j->stride[1] + place[1] * j->dilation[1] - j->pad[1];
            if (y < from[0] || y >= to[0] || from[1] == to[1]) {
                memset(columns, 0, (size_t)row);
                continue;
            }
            memset(columns, 0, (size_t)(from[1] * j->item));
            memset(columns + to[1] * j->item, 0, (size_t)((j->blocks[1] - to[1]) * j->item));
            copy_row(columns + from[1] * j->item, image + h * j->image_step[2] + w * j->image_step[3],
                     j->stride[1] * j->image_step[3], to[1] - from[1], j->item);
        }
    }
}

RL_KERNEL(ref_im2col) {
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    fold_job j = {0};
    if (out->numel == 0) return RL_OK;
    fold_read(k, &j, x, out);
    j.image_from = rl_const_data(x), j.columns = rl_data(out, RL_WRITE);
    double ns = RL_REF_NS * (double)(j.blocks[0] * j.blocks[1]);
    k->svc->parallel(k, j.planes * j.kernel[0] * j.kernel[1], ns, unfold_rows, &j);
    return RL_OK;
}

/* ---- an image of columns: added up in the compute type, a plane at a time ---- */
#define FOLD(D, T, C, LOAD, STORE, name, ADD)                                                                \
    static void name##_row_##D(C *to, int64_t step, const char *from, int64_t from_step, int64_t n) {        \
        if (step == 1 && from_step == sizeof(T)) {                                                           \
            RL_IVDEP for (int64_t i = 0; i < n; i++) to[i] = ADD(to[i], LOAD(((const T *)from)[i]));         \
            return;                                                                                          \
        }                                                                                                    \
        for (int64_t i = 0; i < n; i++)                                                                      \
            to[i * step] = ADD(to[i * step], LOAD(*(const T *)(from + i * from_step)));                      \
    }                                                                                                        \
    static void name##_##D(void *ctx, int64_t begin, int64_t end, int thread) {                              \
        const fold_job *j = ctx;                                                                             \
        C *sums = (C *)rl_room(&j->rooms, thread);                                                           \
        int64_t from[2], to[2], block = j->kernel[0] * j->kernel[1];                                         \
        for (int64_t p = begin; p < end; p++) {                                                              \
            const char *columns = j->column_from + p / j->channels * j->column_step[0] +                     \
                                  p % j->channels * block * j->column_step[1];                               \
            T *image = (T *)j->image + p * j->area;                                                          \
            for (int64_t i = 0; i < j->area; i++) sums[i] = 0;                                               \
            for (int64_t b = 0; b < block; b++, columns += j->column_step[1]) {                              \
                int64_t place[2] = {b / j->kernel[1], b % j->kernel[1]};                                     \
                for (int i = 0; i < 2; i++) inside(j, i, place[i], &from[i], &to[i]);                        \
                for (int64_t y = from[0]; y < to[0] && from[1] < to[1]; y++) {                               \
                    int64_t h = y * j->stride[0] + place[0] * j->dilation[0] - j->pad[0];                    \
                    int64_t w = from[1] * j->stride[1] + place[1] * j->dilation[1] - j->pad[1];              \
                    name##_row_##D(sums + h * j->size[1] + w, j->stride[1],                                  \
                                   columns + (y * j->blocks[1] + from[1]) * j->column_step[2],               \
                                   j->column_step[2], to[1] - from[1]);                                      \
                }                                                                                            \
            }                                                                                                \
            for (int64_t i = 0; i < j->area; i++) image[i] = STORE(sums[i]);                                 \
        }                                                                                                    \
    }
#define PLUS(a, b) ((a) + (b))
RL_EACH_FLOAT(FOLD, fold, PLUS)
#define EITHER(a, b) ((a) | (b))
RL_JUST_BOOL(FOLD, fold, EITHER)

RL_CHOOSER
RL_KERNEL(ref_col2im) {
#define FOLD_ENTRY(D, T, C, LOAD, STORE, name) [RL_##D] = {name##_##D, sizeof(C)},
    static const struct {
        void (*run)(void *, int64_t, int64_t, int);
        int64_t item; /* bytes of a sum */
    } planes[RL_NDTYPES] = {RL_EACH_FLOAT(FOLD_ENTRY, fold) RL_JUST_BOOL(FOLD_ENTRY, fold)};
    const rl_view *x = k->arg[0].u.t, *out = k->out[0];
    fold_job j = {0};
    if (out->numel == 0) return RL_OK;
    fold_read(k, &j, out, x);
    j.column_from = rl_const_data(x), j.image = rl_data(out, RL_WRITE);
    if (!rl_thread_rooms(k, k->threads, RL_COUNT(j.area), planes[x->dtype].item, &j.rooms)) return RL_FAIL;
    double ns = RL_REF_NS * (double)(j.blocks[0] * j.blocks[1] * j.kernel[0] * j.kernel[1]);
    k->svc->parallel(k, j.planes, ns, planes[x->dtype].run, &j);
    return RL_OK;
}
