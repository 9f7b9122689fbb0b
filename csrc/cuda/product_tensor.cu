/* Products of float16 and bfloat16 on tensor cores, summed in float32. A warp keeps DOWN x ACROSS fragments
 * of 16 x 16; which lane holds what is never asked, so that sums go to the output by way of shared memory. */
#include "product_tile.h"
#include <mma.h>

using namespace nvcuda;

enum { PIECE = 16, WARP = 32, PATCH = PIECE + 4 };

template <class T, int WARPS_DOWN, int WARPS_ACROSS, int DOWN, int ACROSS, bool GATHERED>
__global__ void __launch_bounds__(WARPS_DOWN * WARPS_ACROSS * WARP) product_tensor(product p) {
    enum { THREADS = WARPS_DOWN * WARPS_ACROSS * WARP };
    typedef product_tile<T, WARPS_DOWN * DOWN * PIECE, WARPS_ACROSS * ACROSS * PIECE, PIECE> Tile;
    CUDA_SHARED(Tile, s, );
    struct __align__(32) piece {
        float at[PIECE * PATCH];
    };
    CUDA_SHARED(piece, patches, [WARPS_DOWN * WARPS_ACROSS]);
    const int warp = threadIdx.x / WARP, lane = threadIdx.x % WARP;
    const int row = warp / WARPS_ACROSS * DOWN * PIECE, col = warp % WARPS_ACROSS * ACROSS * PIECE;
    float *const patch = patches[warp].at;
    wmma::fragment<wmma::accumulator, PIECE, PIECE, PIECE, float> sum[DOWN][ACROSS];
    product_corner c;
    CUDA_UNROLL
    for (int i = 0; i < DOWN * ACROSS; i++) wmma::fill_fragment(sum[i / ACROSS][i % ACROSS], 0.0f);
    product_seek<Tile>(p, blockIdx.x, c);
    product_along<Tile, THREADS, GATHERED>(p, s, c, [&] {
        CUDA_UNROLL
        for (int d = 0; d < Tile::DEPTH; d += PIECE) {
            wmma::fragment<wmma::matrix_b, PIECE, PIECE, PIECE, T, wmma::row_major> b[ACROSS];
            CUDA_UNROLL
            for (int j = 0; j < ACROSS; j++)
                wmma::load_matrix_sync(b[j], &s.b[d][col + j * PIECE], Tile::COLS + Tile::PAD);
            CUDA_UNROLL
            for (int i = 0; i < DOWN; i++) {
                wmma::fragment<wmma::matrix_a, PIECE, PIECE, PIECE, T, wmma::col_major> a;
                wmma::load_matrix_sync(a, &s.a[d][row + i * PIECE], Tile::ROWS + Tile::PAD);
                CUDA_UNROLL
                for (int j = 0; j < ACROSS; j++) wmma::mma_sync(sum[i][j], a, b[j], sum[i][j]);
            }
        }
    });
    CUDA_UNROLL
    for (int i = 0; i < DOWN * ACROSS; i++) {
        wmma::store_matrix_sync(patch, sum[i / ACROSS][i % ACROSS], PATCH, wmma::mem_row_major);
        __syncwarp();
        CUDA_ROLLED
        for (int e = lane; e < PIECE * PIECE; e += WARP)
            product_put(p, s, c, row + i / ACROSS * PIECE + e / PIECE, col + i % ACROSS * PIECE + e % PIECE,
                        patch[e / PIECE * PATCH + e % PIECE]);
        __syncwarp();
    }
}

template <class T, int WARPS_DOWN, int WARPS_ACROSS, int DOWN, int ACROSS>
static void launch(const product &p, cudaStream_t stream) {
    typedef product_tile<T, WARPS_DOWN * DOWN * PIECE, WARPS_ACROSS * ACROSS * PIECE, PIECE> Tile;
    const unsigned blocks = (unsigned)product_tiles_in<Tile>(p);
    const unsigned threads = WARPS_DOWN * WARPS_ACROSS * WARP;
    if (p.gather.is_used)
        CUDA_LAUNCH_BLOCKS((product_tensor<T, WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, true>), blocks, threads,
                           0, stream, p);
    else
        CUDA_LAUNCH_BLOCKS((product_tensor<T, WARPS_DOWN, WARPS_ACROSS, DOWN, ACROSS, false>), blocks,
                           threads, 0, stream, p);
}

template <class T> static void launch_sized(const product &p, bool large, cudaStream_t stream) {
    if (large)
        launch<T, 2, 4, 4, 2>(p, stream);
    else
        launch<T, 2, 2, 2, 2>(p, stream);
}

bool cuda_product_tensor(const product &p, bool large, cudaStream_t stream) {
    if (p.dtype == RL_F16)
        launch_sized<__half>(p, large, stream);
    else if (p.dtype == RL_BF16)
        launch_sized<__nv_bfloat16>(p, large, stream);
    else
        return false;
    return true;
}
