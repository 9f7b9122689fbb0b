/* Elementwise kernels in vectors. */
#ifndef RL_KERNELS_SIMD_ELEMENTWISE_H
#define RL_KERNELS_SIMD_ELEMENTWISE_H
#include "cast_copy.h"

/* Note [Elementwise ops]
 * An element-wise kernel is one line of arithmetic on vectors, in a family's file of such ops
 * (activation_ops.h):
 *
 *   V_FLOATS(leaky_relu, 0.15, 1, KEEP, (rl_num(k, 1)), v_select(v_lt(v_zero(), a), a, v_mul(a, s0)))
 *     │      │           │     │  │     │               └ of the operands a, b, c, d, e and the numbers
 *     │      │           │     │  │     └ s0, s1, s2, read from the call
 *     │      │           │     │  └ what it answers with: KEEP the dtype, or the TRUTH
 *     │      │           │     └ operands: the first arguments
 *     │      │           └ nanoseconds that a thread takes for an element
 *     │      └ of the kernel simd_leaky_relu
 *     └ V_FLOAT32    float32, and the halves by it: loaded as float32, and rounded when they are stored
 *       V_FLOATS     float64 as well: the words that the op uses must be there for doubles (isa.h)
 *       V_NUMBERS    integers as well, by one more expression: plain C, which the compiler makes vectors of
 *       V_EVERY      bool as well, by another one: the operands are 0 or 1
 *
 * V_PART(FLOATS, name, ns, operands, answer, expression) has no kernel of its own: one in the family's file
 * calls simd_map with op_<name>. kernels/simd/elementwise_compile.h compiles the ops; simd_map finds the
 * vectors: operands are stretched to the shape of the result, of any strides, and a block of what does not
 * lie side by side goes through a buffer. */
enum { SIMD_OPERANDS = 5, SIMD_NUMBERS = 3, SIMD_BLOCK = 512, SIMD_DTYPES = RL_N_COMPUTED };
typedef enum { SIMD_KEEP, SIMD_TRUTH } simd_answer;
/* n elements, side by side, of the dtype that it is for; it may write where it reads */
typedef void (*simd_inner_loop)(void *to, const void *const *from, int64_t n, const void *numbers);
typedef struct {
    int operands;
    simd_answer answer;
    bool
        masked; /* the first operand is bool, the others are only moved: loops by the integer of their size */
    double ns;
    simd_inner_loop loop[RL_ISA_END][SIMD_DTYPES]; /* by instruction set */
} simd_elementwise_op;

/* out[0] = op(arguments 0, 1, ...). Refuses dtypes that the op is not for. */
rl_status simd_map(rl_call *k, const simd_elementwise_op *op, const double *numbers);
/* The same of operands that are not the first arguments; one that is NULL is 1 everywhere. */
rl_status simd_map_views(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                         const double *numbers);
/* The results of the op, added up over all elements that the first two operands (or the only one) stretch to.
 */
typedef struct {
    double sum;
    int64_t places;
} simd_total;
rl_status simd_map_total(rl_call *k, const simd_elementwise_op *op, const rl_view *const *operand,
                         const double *numbers, simd_total *total);
/* out[0] = mask ? yes : no; of the float `yes` (kernels/simd/arith.c) */
rl_status simd_choose(rl_call *k, const rl_view *mask, const rl_view *yes, const rl_view *no);
rl_status simd_choose_number(rl_call *k, const rl_view *mask, float yes, const rl_view *no);
#endif
