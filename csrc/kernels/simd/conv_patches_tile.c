/* Tiles of patches: Note [Patches] in kernels/simd/conv_patches.h. */
#include "common.h"
#include "conv_patches_plan.h"

RL_CHOOSER
rl_patch_cut rl_patch_cut_make(const rl_patch_plan *plan, int64_t images) {
    const int64_t nr = plan->kit->nr, most = RL_PATCH_TILE / nr * nr;
    rl_patch_cut cut = {.places = plan->grid[0] * plan->grid[1] * plan->grid[2]};
    cut.spans = cut.places < most / 2 && images > 1;
    const int64_t all = cut.spans ? images * cut.places : cut.places;
    cut.tile = simd_ceil_div(simd_ceil_div(all, simd_ceil_div(all, most)), nr) * nr;
    return cut;
}

int64_t rl_patch_tiles(const rl_patch_cut *cut, int64_t images) {
    return cut->spans ? simd_ceil_div(images * cut->places, cut->tile)
                      : simd_ceil_div(cut->places, cut->tile) * images;
}

/* runs of places that lie side by side in the prepared input */
static void tile_runs(const rl_patch_plan *plan, const rl_patch_cut *cut, rl_patch_tile *t) {
    const int64_t *grid = plan->grid, floats = plan->size / 4;
    t->runs = 0;
    for (int64_t done = 0, n; done < t->count; done += n) {
        const int64_t at = t->first + done, x = at % grid[2], y = at / grid[2] % grid[1];
        const int64_t z = at / grid[2] / grid[1] % grid[0], image = t->image + at / cut->places;
        const int64_t from =
            image * plan->image + z * plan->step[0] * plan->slab + y * plan->step[1] * plan->row + x;
        n = simd_min(grid[2] - x, t->count - done);
        rl_patch_run *last = t->runs ? &t->run[t->runs - 1] : NULL;
        if (last && last->from + last->n == from * floats)
            last->n += n * floats;
        else
            t->run[t->runs++] = (rl_patch_run){from * floats, n * floats};
    }
}

void rl_patch_tile_make(const rl_patch_plan *plan, const rl_patch_cut *cut, int64_t images, int64_t number,
                        rl_patch_tile *t) {
    const int64_t all = cut->spans ? images * cut->places : cut->places;
    const int64_t each = simd_ceil_div(all, cut->tile); /* tiles of an image, or of all together */
    t->image = number / each, t->first = number % each * cut->tile;
    t->count = simd_min(cut->tile, all - t->first);
    tile_runs(plan, cut, t);
}

#ifdef RL_SIMD_X86
#define SIMD_BITS 256
#include "isa.h"
#include "conv_patches_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "conv_patches_impl.inc"

void rl_patch_fill(const rl_patch_plan *plan, const rl_patch_tile *t, const rl_patch_phase *phase,
                   const char *in, int64_t k0, int64_t n, char *to, int64_t step) {
    const rl_patch_tap *tap = plan->tap + phase->first;
    const int64_t floats = plan->size / 4;
    int64_t offsets[RL_GEMM_KB], channel = k0 / phase->taps, at = k0 % phase->taps;
    for (int64_t i = 0; i < n; i++) {
        offsets[i] = (channel * plan->channel + tap[at].offset) * floats;
        if (++at == phase->taps) at = 0, channel++;
    }
    (plan->avx512 ? patch_fill_avx512 : patch_fill_avx2)((float *)to, step * floats, (const float *)in,
                                                         offsets, n, t->run, t->runs);
}
#endif
