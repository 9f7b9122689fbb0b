/* nvcuda::wmma on the simulated device: products of 16 x 16 x 16, of 8 for TF32, by the 32 lanes of a warp.
 * Which lane holds which element is nobody's business: it differs here from any GPU. */
#ifndef RL_SIM_MMA_H
#define RL_SIM_MMA_H
#include "cuda_bf16.h"
#include "cuda_fp16.h"

namespace nvcuda {
namespace wmma {
enum layout_t { mem_row_major, mem_col_major };
struct row_major {};
struct col_major {};
struct matrix_a {};
struct matrix_b {};
struct accumulator {};
namespace precision {
struct tf32 {};
} // namespace precision

/* what is kept of each element, and what a product takes of that */
template <class T> struct storage_of {
    typedef T type;
    static float taken(T x) { return (float)x; }
};
template <> struct storage_of<precision::tf32> {
    typedef float type;
    static float taken(float x) { return __uint_as_float(__float_as_uint(x) & ~0x1fffu); } /* not rounded */
};

template <class Use, int M, int N, int K, class T, class Layout = void> struct fragment {
    typedef typename storage_of<T>::type element_type;
    typedef storage_of<T> storage;
    enum {
        rows = std::is_same<Use, matrix_b>::value ? K : M,
        cols = std::is_same<Use, matrix_a>::value ? K : N,
        num_elements = rows * cols / 32
    };
    element_type x[num_elements];
};

/* the element of the matrix that lane `lane` keeps in x[i] */
template <class F> static inline int element_of(int lane, int i) {
    return i * 32 + ((lane * 7 + i * 5) & 31);
}

/* All lanes take part, but what they wrote is not in order by that: this is __syncwarp's. */
static inline void meet(int line) {
    (void)cuda_sim_ballot(0xffffffffu, 0, line);
}

template <class F>
static inline void load_elements(F &f, const typename F::element_type *from, unsigned ld, bool by_row) {
    for (int i = 0; i < F::num_elements; i++) {
        int e = element_of<F>(cuda_sim_lane(), i), row = e / F::cols, col = e % F::cols;
        f.x[i] = from[by_row ? (size_t)row * ld + col : (size_t)col * ld + row];
    }
}
template <class Use, int M, int N, int K, class T, class Layout>
static inline void load_matrix_sync(fragment<Use, M, N, K, T, Layout> &f,
                                    const typename storage_of<T>::type *from, unsigned ld) {
    meet(__LINE__);
    load_elements(f, from, ld, std::is_same<Layout, row_major>::value);
}
template <int M, int N, int K, class T>
static inline void load_matrix_sync(fragment<accumulator, M, N, K, T> &f, const T *from, unsigned ld,
                                    layout_t layout) {
    meet(__LINE__);
    load_elements(f, from, ld, layout == mem_row_major);
}
template <int M, int N, int K, class T>
static inline void store_matrix_sync(T *to, const fragment<accumulator, M, N, K, T> &f, unsigned ld,
                                     layout_t layout) {
    typedef fragment<accumulator, M, N, K, T> F;
    meet(__LINE__);
    for (int i = 0; i < F::num_elements; i++) {
        int e = element_of<F>(cuda_sim_lane(), i), row = e / N, col = e % N;
        to[layout == mem_row_major ? (size_t)row * ld + col : (size_t)col * ld + row] = f.x[i];
    }
}
template <class F> static inline void fill_fragment(F &f, typename F::element_type value) {
    for (int i = 0; i < F::num_elements; i++) f.x[i] = value;
}

static inline float
__float_to_tf32(float x) { /* 10 bits of the fraction, to nearest, halves away from zero */
    return x != x ? x : __uint_as_float((__float_as_uint(x) + 0x1000u) & ~0x1fffu);
}

template <class D, class A, class B, class C> struct product {
    D *d;
    const A *a;
    const B *b;
    const C *c;
    /* runs once for the warp, outside of its threads */
    static void of_warp(void *const *lanes, void *) {
        enum { M = A::rows, K = A::cols, N = B::cols };
        static float a[M * K], b[K * N]; /* the door is locked while a kernel runs */
        for (int lane = 0; lane < 32; lane++) {
            const product *p = (const product *)lanes[lane];
            for (int i = 0; i < A::num_elements; i++)
                a[element_of<A>(lane, i)] = A::storage::taken(p->a->x[i]);
            for (int i = 0; i < B::num_elements; i++)
                b[element_of<B>(lane, i)] = B::storage::taken(p->b->x[i]);
        }
        for (int lane = 0; lane < 32; lane++) {
            const product *p = (const product *)lanes[lane];
            for (int i = 0; i < D::num_elements; i++) {
                int e = element_of<D>(lane, i), row = e / N, col = e % N;
                float sum = (float)p->c->x[i];
                for (int k = 0; k < K; k++) sum += a[row * K + k] * b[k * N + col];
                p->d->x[i] = (typename D::element_type)sum;
            }
        }
    }
};
template <class D, class A, class B, class C>
static inline void mma_sync(D &d, const A &a, const B &b, const C &c) {
    product<D, A, B, C> mine = {&d, &a, &b, &c};
    cuda_sim_collect(&mine, product<D, A, B, C>::of_warp, nullptr, __LINE__);
}
} // namespace wmma
} // namespace nvcuda
#endif
