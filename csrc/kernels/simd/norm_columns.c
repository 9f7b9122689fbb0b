/* Columns of batch normalisation. */
#include "norm_columns.h"
#ifdef RL_SIMD_X86
enum { STRETCH = 64, BLOCKS = 64 }; /* rows; at most so many blocks */
#define SIMD_BITS 256
#include "isa.h"
#include "norm_columns_impl.inc"
#undef SIMD_BITS
#define SIMD_BITS 512
#include "isa.h"
#include "norm_columns_impl.inc"

/* the moments of a channel's columns in all blocks but the first */
static void blocks_join(const rl_norm_columns *j, int64_t blocks) {
    for (int64_t b = 1; b < blocks; b++) {
        double (*to)[2] = j->parts, (*from)[2] = j->parts + b * j->columns;
        int64_t done = b * j->block, more = simd_min(j->block, j->rows - done);
        for (int64_t i = 0; i < j->columns; i++) {
            if (j->grad) {
                to[i][0] += from[i][0], to[i][1] += from[i][1];
                continue;
            }
            norm_moments all = norm_join((norm_moments){to[i][0], to[i][1]}, done,
                                         (norm_moments){from[i][0], from[i][1]}, more);
            to[i][0] = all.mean, to[i][1] = all.squares;
        }
    }
}

RL_CHOOSER
rl_status rl_norm_columns_sum(rl_call *k, rl_norm_columns *j) {
    bool wide = k->svc->isa & RL_ISA_AVX512;
    if (!(k->svc->isa & RL_ISA_AVX2)) return RL_UNSUPPORTED;
    j->block = simd_max(simd_ceil_div(j->rows, BLOCKS), STRETCH);
    j->tile = wide ? TILE_avx512 : TILE_avx2;
    j->tiles = simd_ceil_div(j->columns, j->tile);
    int64_t blocks = simd_ceil_div(j->rows, j->block);
    j->parts = k->svc->scratch(k, RL_COUNT(blocks, j->columns), sizeof *j->parts);
    if (!j->parts) return RL_FAIL;
    double ns = NORM_NS * (double)(simd_min(j->block, j->rows) * simd_min(j->tile, j->columns));
    k->svc->parallel(k, blocks * j->tiles, ns, wide ? sum_tiles_avx512 : sum_tiles_avx2, j);
    blocks_join(j, blocks);
    return RL_OK;
}

void rl_norm_columns_apply(rl_call *k, rl_norm_columns *j) {
    k->svc->parallel(k, j->rows, NORM_NS * (double)j->columns,
                     k->svc->isa & RL_ISA_AVX512 ? apply_rows_avx512 : apply_rows_avx2, j);
}
#endif
