/* Products on tensor cores, summed in float32. A warp keeps DOWN x ACROSS fragments of 16 x 16; which lane
 * holds what is never asked, so that sums go to the output by way of shared memory. */
#ifndef RL_CUDA_TENSOR_CORE_H
#define RL_CUDA_TENSOR_CORE_H
#include "tile.cuh"
#include <mma.h>

enum { GEMM_PIECE = 16, GEMM_WARP = 32, GEMM_PATCH = GEMM_PIECE + 4 };

/* what there is of each kind: the type in memory, that of the fragments, the depth of one, what it takes in
 */
struct gemm_of_half {
    typedef __half element, factor;
    typedef gemm_as_it_is<__half> convert;
    enum { DEPTH = 16, THREADS = 512 };
};
struct gemm_of_bfloat {
    typedef __nv_bfloat16 element, factor;
    typedef gemm_as_it_is<__nv_bfloat16> convert;
    enum { DEPTH = 16, THREADS = 256 };
};
struct gemm_to_tf32 {
    __device__ __forceinline__ float operator()(float x) const { return nvcuda::wmma::__float_to_tf32(x); }
};
struct gemm_of_tf32 {
    typedef float element;
    typedef nvcuda::wmma::precision::tf32 factor;
    typedef gemm_to_tf32 convert;
    enum { DEPTH = 8, THREADS = 512 };
};

/* W x X warps, each with D x A pieces; PIECES of the depth make a step, and BLOCKS share a multiprocessor.
 * Gathering takes registers: there warps are more, and keep fewer pieces each. */
template <class Kind, int W, int X, int D, int A, bool A_ALONG, bool B_ALONG, bool G> struct gemm_warps {
    enum { DOWN = D, ACROSS = A, WARPS_ACROSS = X, WARPS = W * X, THREADS = WARPS * GEMM_WARP };
    enum { GATHERED = G, DEPTH = Kind::DEPTH };
    enum { BLOCKS = (THREADS == 128 ? 512 : Kind::THREADS) / THREADS, PIECES = G && THREADS < 512 ? 1 : 2 };
    typedef Kind kind;
    typedef gemm_tile<typename Kind::element, W * D * GEMM_PIECE, X * A * GEMM_PIECE, PIECES * DEPTH, A_ALONG,
                      B_ALONG>
        tile;
    template <class Use, bool ALONG>
    using fragment = nvcuda::wmma::fragment<
        Use, GEMM_PIECE, GEMM_PIECE, DEPTH, typename Kind::factor,
        typename std::conditional<ALONG == std::is_same<Use, nvcuda::wmma::matrix_a>::value,
                                  nvcuda::wmma::row_major, nvcuda::wmma::col_major>::type>;
    typedef fragment<nvcuda::wmma::matrix_a, A_ALONG> a;
    typedef fragment<nvcuda::wmma::matrix_b, B_ALONG> b;
    typedef nvcuda::wmma::fragment<nvcuda::wmma::accumulator, GEMM_PIECE, GEMM_PIECE, DEPTH, float> sum;
    struct __align__(32) patch {
        float at[GEMM_PIECE * GEMM_PATCH];
    };
    struct finish {
        patch patches[WARPS];
        gemm_output<tile> output;
    };
};

template <class Way> __global__ void __launch_bounds__(Way::THREADS, Way::BLOCKS) gemm_tensor(gemm p) {
    using namespace nvcuda;
    enum { PIECE = GEMM_PIECE, PATCH = GEMM_PATCH, DOWN = Way::DOWN, ACROSS = Way::ACROSS };
    typedef gemm_shared<typename Way::tile, Way::GATHERED> Shared;
    CUDA_SHARED(Shared, s, );
    static_assert(sizeof s.a + sizeof s.b >= sizeof(typename Way::finish), "it fits into the tiles");
    const int warp = threadIdx.x / GEMM_WARP, lane = threadIdx.x % GEMM_WARP;
    const int row = warp / Way::WARPS_ACROSS * DOWN * PIECE, col = warp % Way::WARPS_ACROSS * ACROSS * PIECE;
    typename Way::sum sum[DOWN][ACROSS];
    CUDA_UNROLL
    for (int i = 0; i < DOWN * ACROSS; i++) wmma::fill_fragment(sum[i / ACROSS][i % ACROSS], 0.0f);
    product_along<typename Way::kind::convert, Way::THREADS, Way::GATHERED>(p, s, [&](int turn) {
        CUDA_UNROLL
        for (int d = 0; d < Shared::DEPTH; d += Way::DEPTH) {
            typename Way::b b[ACROSS];
            CUDA_UNROLL
            for (int j = 0; j < ACROSS; j++)
                wmma::load_matrix_sync(b[j], s.b[turn].at(col + j * PIECE, d), s.b[turn].STRIDE);
            CUDA_UNROLL
            for (int i = 0; i < DOWN; i++) {
                typename Way::a a;
                wmma::load_matrix_sync(a, s.a[turn].at(row + i * PIECE, d), s.a[turn].STRIDE);
                CUDA_UNROLL
                for (int j = 0; j < ACROSS; j++) wmma::mma_sync(sum[i][j], a, b[j], sum[i][j]);
            }
        }
    });
    typename Way::finish &f = *(typename Way::finish *)(void *)s.a;
    float *const patch = f.patches[warp].at;
    __syncthreads(); /* nobody multiplies any more */
    gemm_mark_output(p, s, f.output);
    __syncthreads();
    CUDA_UNROLL
    for (int i = 0; i < DOWN * ACROSS; i++) {
        wmma::store_matrix_sync(patch, sum[i / ACROSS][i % ACROSS], PATCH, wmma::mem_row_major);
        __syncwarp();
        CUDA_ROLLED
        for (int e = lane; e < PIECE * PIECE; e += GEMM_WARP) {
            const int down = p.out_by_row ? e % PIECE : e / PIECE,
                      across = p.out_by_row ? e / PIECE : e % PIECE;
            gemm_put(p, s, f.output, row + i / ACROSS * PIECE + down, col + i % ACROSS * PIECE + across,
                     patch[down * PATCH + across]);
        }
        __syncwarp();
    }
}

template <class Way> static void gemm_launch_way(const gemm &p, cudaStream_t stream) {
    const unsigned blocks = (unsigned)gemm_tiles_in<typename Way::tile>(p);
    CUDA_LAUNCH_BLOCKS(gemm_tensor<Way>, blocks, Way::THREADS, 0, stream, p);
}
template <class Kind, bool A_ALONG, bool B_ALONG, bool GATHERED>
static void gemm_launch_sized(const gemm &p, bool large, cudaStream_t stream) {
    enum { MORE = GATHERED && Kind::THREADS == 512 ? 2 : 1 };
    if (large)
        gemm_launch_way<gemm_warps<Kind, 2 * MORE, 4, 4 / MORE, 2, A_ALONG, B_ALONG, GATHERED>>(p, stream);
    else
        gemm_launch_way<gemm_warps<Kind, 2, 2, 2, 2, A_ALONG, B_ALONG, GATHERED>>(p, stream);
}
template <class Kind, bool A_ALONG, bool B_ALONG>
static void gemm_launch_gathered(const gemm &p, bool large, cudaStream_t stream) {
    if (p.gather.is_used)
        gemm_launch_sized<Kind, A_ALONG, B_ALONG, true>(p, large, stream);
    else
        gemm_launch_sized<Kind, A_ALONG, B_ALONG, false>(p, large, stream);
}
template <class Kind> static void gemm_launch_tensor(const gemm &p, bool large, cudaStream_t stream) {
    if (p.a_by_depth && p.b_by_depth)
        gemm_launch_gathered<Kind, true, true>(p, large, stream);
    else if (p.a_by_depth)
        gemm_launch_gathered<Kind, true, false>(p, large, stream);
    else if (p.b_by_depth)
        gemm_launch_gathered<Kind, false, true>(p, large, stream);
    else
        gemm_launch_gathered<Kind, false, false>(p, large, stream);
}
#endif
